import { describe, expect, it } from 'vitest'
import {
  checkFaults,
  checkFunction,
  parseFlag,
  parseMilliseconds,
  parseNodeId,
  parseSignal,
} from './arguments.ts'
import { InvalidArgumentError } from './errors.ts'

/** The field and the message of the InvalidArgumentError that a call throws. */
function problem(call: () => unknown): { readonly field: string; readonly message: string } {
  try {
    call()
  } catch (error) {
    if (error instanceof InvalidArgumentError) return { field: error.field, message: error.message }
    throw error
  }
  return { field: 'none', message: 'nothing was thrown' }
}

describe('parseSignal', () => {
  const { signal } = new AbortController()

  it('returns the signal, or undefined without options or without a signal', () => {
    expect([parseSignal({ signal }), parseSignal({}), parseSignal(undefined)]).toEqual([
      signal,
      undefined,
      undefined,
    ])
  })

  it('accepts the signal of another realm, which is not an instance of AbortSignal', () => {
    const foreign = { aborted: false, addEventListener() {}, removeEventListener() {} }
    expect(parseSignal({ signal: foreign })).toBe(foreign)
  })

  it.each<[unknown, string, string]>([
    [{ signal: new AbortController() }, 'signal', 'must be an AbortSignal'],
    [{ signal: null }, 'signal', 'signal: null must be an AbortSignal'],
    [{ signal: { aborted: false, addEventListener() {} } }, 'signal', 'must be an AbortSignal'],
    [null, 'options', 'options: null must be an object such as { signal }'],
    ['now', 'options', 'options: "now" must be an object such as { signal }'],
    [5, 'options', 'options: 5 must be an object such as { signal }'],
  ])('refuses %j', (options, field, message) => {
    const found = problem(() => parseSignal(options))
    expect(found.field).toBe(field)
    expect(found.message).toContain(message)
  })
})

describe('parseFlag', () => {
  it('is false unless the field is true', () => {
    expect([
      parseFlag(undefined, 'force'),
      parseFlag({}, 'force'),
      parseFlag({ force: undefined }, 'force'),
      parseFlag({ force: false }, 'force'),
      parseFlag({ force: true }, 'force'),
    ]).toEqual([false, false, false, false, true])
  })

  it.each([
    ['yes', 'force: "yes" must be true or false'],
    [1, 'force: 1 must be true or false'],
    [{ a: { b: 1 } }, 'force: { a: [Object] } must be true or false'],
  ])('refuses %j', (force, message) => {
    expect(problem(() => parseFlag({ force }, 'force'))).toEqual({ field: 'force', message })
  })
})

it.each<[string, () => unknown, string]>([
  ['a text as function', () => checkFunction('work', 'run'), 'work: "run" must be a function'],
  ['no function', () => checkFunction('work', undefined), 'work: undefined must be a function'],
  ['an empty id', () => parseNodeId('id', ''), 'id: "" must be the id of a node, a non-empty string'],
  ['a number as id', () => parseNodeId('id', 3), 'id: 3 must be the id of a node, a non-empty string'],
  [
    'a negative time',
    () => parseMilliseconds('leastMs', -1),
    'leastMs: -1 must be a number of milliseconds, 0 or more',
  ],
  [
    'no number',
    () => parseMilliseconds('leastMs', Number.NaN),
    'leastMs: NaN must be a number of milliseconds, 0 or more',
  ],
  [
    'a text as time',
    () => parseMilliseconds('leastMs', '5'),
    'leastMs: "5" must be a number of milliseconds, 0 or more',
  ],
])('refuses %s', (_what, call, message) => {
  expect(problem(call).message).toBe(message)
})

it('accepts a function, an id, zero and any time', () => {
  expect(() => checkFunction('work', () => {})).not.toThrow()
  expect([
    parseNodeId('id', 'a'),
    parseMilliseconds('leastMs', 0),
    parseMilliseconds('leastMs', 0.5),
  ]).toEqual(['a', 0, 0.5])
})

describe('checkFaults', () => {
  const WANTED = 'must be { cut: true } or { cut: false, delayMs: [least, most], loss: 0 to 1 }'

  it.each([
    {},
    { b: { cut: true } },
    { b: { cut: false, delayMs: [0, 0], loss: 0 }, c: { cut: false, delayMs: [0, 3_600_000], loss: 1 } },
  ])('accepts %j', (faults) => {
    expect(() => checkFaults(faults)).not.toThrow()
  })

  it.each<[unknown]>([
    [{ cut: 'yes' }],
    [{ cut: false }],
    [{ cut: false, delayMs: [1], loss: 0 }],
    [{ cut: false, delayMs: [1, 2, 3], loss: 0 }],
    [{ cut: false, delayMs: [-1, 2], loss: 0 }],
    [{ cut: false, delayMs: [0, 3_600_001], loss: 0 }],
    [{ cut: false, delayMs: 5, loss: 0 }],
    [{ cut: false, delayMs: [0, 1], loss: 1.1 }],
    [{ cut: false, delayMs: [0, 1], loss: -0.1 }],
    [{ cut: false, delayMs: [0, 1], loss: '0' }],
    [{ cut: false, delayMs: [0, 1] }],
    [null],
    [true],
  ])('names the peer of the fault %j', (fault) => {
    const found = problem(() => checkFaults({ a: { cut: true }, b: fault }))
    expect(found.field).toBe('faults.b')
    expect(found.message).toContain(WANTED)
  })

  it.each([[null], [[]], ['b'], [7]])('refuses %j, which names no peers', (faults) => {
    expect(problem(() => checkFaults(faults))).toMatchObject({
      field: 'faults',
      message: expect.stringContaining('must be an object of peers and their faults'),
    })
  })
})
