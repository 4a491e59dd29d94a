import { describe, expect, it } from 'vitest'
import { isAbortSignal } from './abort-signal.ts'
import { type JoinOptions, maxStallOf, modeOf, networkSettings, workSettings } from './join-options.ts'
import { checkWorkOptions } from './join-schema.ts'
import { storeConfigOf, storeSettings } from './store-join-options.ts'

const KEY = new Uint8Array(32).fill(7)
const OPTIONS: JoinOptions = {
  group: 'g',
  id: 'b',
  listen: '127.0.0.1:7401',
  peers: ['c=127.0.0.1:7402', 'a=127.0.0.1:7400'],
  key: KEY,
}

describe('the settings of a network election', () => {
  it('have defaults, parsed addresses, and the ids of all nodes sorted', () => {
    expect(networkSettings(OPTIONS)).toMatchObject({
      group: 'g',
      id: 'b',
      listen: { host: '127.0.0.1', port: 7401 },
      peers: [
        { id: 'c', address: { host: '127.0.0.1', port: 7402 } },
        { id: 'a', address: { host: '127.0.0.1', port: 7400 } },
      ],
      nodes: ['a', 'b', 'c'],
      keys: [KEY],
      secrecy: false,
      data: null,
      protocol: 'local-leader',
      traceSteps: 256,
    })
  })

  it('are what a worker can receive', () => {
    const settings = networkSettings({ ...OPTIONS, key: [KEY, KEY], options: { sigmaMs: 20 } })
    expect(structuredClone(settings)).toEqual(settings)
    expect(settings.keys).toHaveLength(2)
  })

  it.each<[Partial<JoinOptions>, 'local' | 'majority']>([
    [{}, 'majority'],
    [{ mode: 'local' }, 'local'],
    [{ mode: 'majority' }, 'majority'],
  ])('with %j promise the mode %s', (change, mode) => {
    expect(modeOf(networkSettings({ ...OPTIONS, ...change }))).toBe(mode)
  })

  it('refuse a key that is too short', () => {
    expect(() => networkSettings({ ...OPTIONS, key: new Uint8Array(15) })).toThrow('16')
  })

  it('report every problem of the list of peers', () => {
    const peers = ['a=h:1', 'a=h:2', 'c=h:1']
    expect(() => networkSettings({ ...OPTIONS, peers })).toThrow(
      'peers[1]: a is listed twice; every node needs its own id\npeers[2]: c has the same address as a, h:1; every node needs its own address',
    )
  })
})

describe('the settings of an election in a store', () => {
  const STORE = { group: 'g', id: 'a', protocol: 'epochs', store: '/shared' } as const

  it('have the store parsed, devices with their defaults, and this node alone', () => {
    const fencing = [{ kind: 'command' as const, command: ['fence'] }]
    expect(storeSettings({ ...STORE, fencing })).toMatchObject({
      group: 'g',
      id: 'a',
      nodes: ['a'],
      protocol: 'epochs',
      store: { kind: 'file', path: '/shared', mode: 'rename' },
      fencing: [{ kind: 'command', command: ['fence'], options: {}, timeoutMs: 30_000 }],
      traceSteps: 256,
    })
    expect(storeSettings(STORE).fencing).toEqual([])
  })

  it('name the field of the store that is wrong, without repeating it', () => {
    let thrown: unknown
    try {
      storeConfigOf({ kind: 'file', path: '' })
    } catch (error) {
      thrown = error
    }
    expect(thrown).toMatchObject({ name: 'InvalidOptionsError', field: 'store.path' })
    expect((thrown as Error).message).toMatch(/^store\.path: (?!store)/)
    expect((thrown as Error).cause).toMatchObject({ name: 'InvalidStoreError' })
  })
})

describe('the settings of the work', () => {
  it('have defaults', () => {
    expect(workSettings({})).toEqual({
      healthy: null,
      healthIntervalMs: 1000,
      healthTimeoutMs: 1000,
      drainMs: 5000,
    })
    expect([maxStallOf({}), maxStallOf({ maxStallMs: 50 })]).toEqual([2000, 50])
  })

  it('keep what is given, zero included', () => {
    const healthy = (): boolean => true
    const given = { healthy, healthIntervalMs: 1, healthTimeoutMs: 2, drainMs: 0 }
    expect(workSettings(given)).toEqual(given)
  })

  it.each<[object, string | null]>([
    [{ drainMs: 0 }, null],
    [{ drainMs: 3_600_000 }, null],
    [{ drainMs: 3_600_001 }, 'drainMs: 3600001 is out of bounds: it must be at most 3600000'],
    [{ healthIntervalMs: 0.5 }, 'healthIntervalMs: 0.5 is out of bounds: it must be at least 1'],
    [{ healthTimeoutMs: '1' }, 'healthTimeoutMs: "1" is not a finite number'],
    [{ healthy: 'yes' }, 'healthy: must be a function that returns true or false'],
    // Other options are checked elsewhere.
    [{ group: 7, nonsense: true }, null],
  ])('are checked: %j', (given, problem) => {
    if (problem === null) expect(() => checkWorkOptions(given)).not.toThrow()
    else expect(() => checkWorkOptions(given)).toThrow(problem)
  })
})

it.each<[string, unknown, boolean]>([
  ['a signal', new AbortController().signal, true],
  ['an aborted signal', AbortSignal.abort(), true],
  ['a controller', new AbortController(), false],
  ['an event target', new EventTarget(), false],
  ['nothing', undefined, false],
  ['null', null, false],
  ['a text', 'abort', false],
])('recognises %s', (_what, value, isSignal) => {
  expect(isAbortSignal(value)).toBe(isSignal)
})
