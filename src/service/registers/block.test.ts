import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import {
  type Block,
  BlockTooLargeError,
  blockName,
  decodeBlock,
  encodeBlock,
  isBlockName,
  MAX_BLOCK_BYTES,
  probeName,
} from './block.ts'

const BLOCK: Block = {
  id: 'a',
  incarnation: 2,
  sequence: 9,
  holder: 'process',
  removed: false,
  value: { ctr: 4 },
}
const TEXT = encodeBlock(BLOCK)

/** Text with the right checksum. */
function sealed(json: string, format = '1'): string {
  const sum = createHash('sha256').update(json).digest('hex').slice(0, 16)
  return `conclave-register ${format} ${sum} ${json}`
}

describe('a block', () => {
  it('is one line with a mark, a format, a checksum and canonical JSON', () => {
    const json =
      '{"holder":"process","id":"a","incarnation":2,"removed":false,"sequence":9,"value":{"ctr":4}}'
    expect(TEXT).toBe(sealed(json))
    expect(TEXT).not.toContain('\n')
  })

  it.each<[string, Partial<Block>]>([
    ['a number as id', { id: 7 }],
    ['no holder', { holder: null }],
    ['a removed node', { removed: true }],
    ['no value', { value: null }],
    ['a value with spaces and other characters', { value: { text: 'a  b "c" \\ ü €' } }],
    ['a list', { value: [1, 'two', [null, true]] }],
  ])('is decoded as it was: %s', (_what, change) => {
    const block = { ...BLOCK, ...change }
    expect(decodeBlock(encodeBlock(block))).toEqual({ is: 'block', block })
  })

  it('has the same text regardless of the order of its fields', () => {
    const { id, ...rest } = BLOCK
    expect(encodeBlock({ ...rest, id, value: { b: 1, a: 2 } })).toBe(
      encodeBlock({ id, ...rest, value: { a: 2, b: 1 } }),
    )
  })

  it('has at most 480 bytes, counted as UTF-8', () => {
    const room = MAX_BLOCK_BYTES - Buffer.byteLength(encodeBlock({ ...BLOCK, value: '' }))
    expect(Buffer.byteLength(encodeBlock({ ...BLOCK, value: 'x'.repeat(room) }))).toBe(480)
    expect(() => encodeBlock({ ...BLOCK, value: 'x'.repeat(room + 1) })).toThrow(
      'the block has 481 bytes, but the limit is 480: use shorter ids',
    )
    expect(() => encodeBlock({ ...BLOCK, value: 'ü'.repeat(room / 2 + 1) })).toThrow(BlockTooLargeError)
  })
})

describe('text that is no block', () => {
  it.each([
    ['', 'it does not start with the mark of a block'],
    ['conclave-register', 'it does not start with the mark of a block'],
    ['other 1 abc {}', 'it does not start with the mark of a block'],
    [` ${TEXT}`, 'it does not start with the mark of a block'],
    [TEXT.replace('"ctr":4', '"ctr":5'), 'its checksum does not match'],
    [TEXT.slice(0, -1), 'its checksum does not match'],
    [`${TEXT} `, 'its checksum does not match'],
    [TEXT.replace(' 1 ', ' x '), 'its format is not a number'],
  ])('%j is corrupt', (text, problem) => {
    expect(decodeBlock(text)).toEqual({ is: 'corrupt', problem })
  })

  it('of another format is foreign, before its checksum is looked at', () => {
    expect(decodeBlock('conclave-register 2 anything else')).toEqual({ is: 'foreign', format: '2' })
    expect(decodeBlock('conclave-register 10')).toEqual({ is: 'foreign', format: '10' })
  })

  it('is corrupt in every single flipped bit', () => {
    const bytes = Buffer.from(TEXT)
    const accepted: number[] = []
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const flipped = Buffer.from(bytes)
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      if (decodeBlock(flipped.toString()).is === 'block') accepted.push(bit)
    }
    expect(accepted).toEqual([])
  })
})

describe('the names of cells', () => {
  it.each<[string | number, string, string]>([
    ['a', 'b-a', 'k-a'],
    [1, 'b_1', 'k_1'],
    ['1', 'b-1', 'k-1'],
    ['A_b-C9', 'b-A_b-C9', 'k-A_b-C9'],
    ['a/b.c', 'b-a=2Fb=2Ec', 'k-a=2Fb=2Ec'],
    ['ü', 'b-=C3=BC', 'k-=C3=BC'],
    ['a=b', 'b-a=3Db', 'k-a=3Db'],
  ])('of %j are %s and %s', (id, block, probe) => {
    expect([blockName(id), probeName(id)]).toEqual([block, probe])
    expect([isBlockName(block), isBlockName(probe)]).toEqual([true, false])
  })

  it('differ for ids that differ', () => {
    const ids = [1, '1', 'a', 'A', 'a.', 'a=2E', 'a/', '', ' ', '_1', '-1', -1]
    expect(new Set(ids.map(blockName)).size).toBe(ids.length)
  })
})
