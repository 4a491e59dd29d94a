import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeContent, encodeContent } from './content.ts'
import { InvalidJobValueError } from './errors.ts'
import { decodeValue, encodeParts, encodeValue } from './value.ts'

const value = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constant(null),
    fc.boolean(),
    fc.string(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
    fc.uint8Array(),
    fc.array(tie('value')),
    fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('$bytes', '$$bytes', '$')), tie('value'), {
      noNullPrototype: true,
    }),
  ),
})).value

describe('encoded values', () => {
  it('start their binary parts at a multiple of 8 bytes', () => {
    for (let length = 0; length < 20; length++) {
      const state = { name: 'x'.repeat(length), bytes: Uint8Array.of(1, 2, 3) }
      const [prefix, text] = encodeParts(state, 'state') as [Uint8Array, Uint8Array]
      expect((prefix.length + text.length) % 8).toBe(0)
      expect(decodeValue(encodeValue(state, 'state'))).toEqual(state)
    }
  })

  it('decode to what was encoded, bytes and fields that start with $ included', () => {
    fc.assert(
      fc.property(value, (each) => {
        expect(decodeValue(encodeValue(each, 'state'))).toEqual(each)
      }),
    )
  })

  it('do not share memory with the value', () => {
    const bytes = new Uint8Array([1, 2, 3])
    const encoded = encodeValue({ bytes }, 'state')
    bytes.fill(9)
    expect(decodeValue(encoded)).toEqual({ bytes: new Uint8Array([1, 2, 3]) })
  })

  it.each([
    [undefined, 'state: is undefined'],
    [{ a: [1, Number.NaN] }, 'state.a[1]: is NaN; JSON has no such number'],
    [{ at: new Date(0) }, 'state.at: is a Date'],
    [new Map(), 'state: is a Map'],
    [{ n: 1n }, 'state.n: is bigint'],
    [new Float64Array(2), 'state: is a Float64Array'],
  ])('refuse what JSON would change: %o', (given, message) => {
    expect(() => encodeValue(given, 'state')).toThrow(InvalidJobValueError)
    expect(() => encodeValue(given, 'state')).toThrow(message)
  })

  it('refuse a value that contains itself', () => {
    const loop: { self?: unknown } = {}
    loop.self = loop
    expect(() => encodeValue(loop, 'state')).toThrow(/nested deeper than 200 levels, or contains itself/)
  })

  it('are refused when they are cut short or have bytes after their end', () => {
    const encoded = encodeValue({ text: 'x', bytes: new Uint8Array(5) }, 'state')
    for (let length = 0; length < encoded.length; length++)
      expect(() => decodeValue(encoded.subarray(0, length))).toThrow(InvalidJobValueError)
    expect(() => decodeValue(Buffer.concat([encoded, Buffer.from([0])]))).toThrow('has bytes after its end')
  })
})

it('the content of a checkpoint decodes to what was encoded', async () => {
  const content = {
    submission: 'ab',
    definition: { kind: 'module', file: '/m.mjs', digest: 'd', input: { n: 1 } },
    state: encodeValue([1, new Uint8Array(3)], 'state'),
    outputs: [{ seq: 4, value: encodeValue('x', 'output') }],
    progress: { done: 0.5, text: 'half' },
    result: null,
  } as const
  const { chunks, bytes } = await encodeContent(content)
  const joined = Buffer.concat(chunks)
  expect(joined.length).toBe(bytes)
  const decoded = decodeContent(joined)
  expect(decodeValue(decoded.state as Uint8Array)).toEqual([1, new Uint8Array(3)])
  expect({ ...decoded, state: null, outputs: decoded.outputs.map(({ seq }) => seq) }).toEqual({
    ...content,
    state: null,
    outputs: [4],
  })
})
