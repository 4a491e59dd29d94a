import { expect, it } from 'vitest'
import { type JoinOptions, networkSettings } from './join-options.ts'
import { checkJoinOptions } from './join-schema.ts'
import { InvalidOptionsError } from './problems.ts'
import { isStoreJoin, storeSettings } from './store-join-options.ts'

const KEY = new Uint8Array(32).fill(7)
const GOOD: JoinOptions = { group: 'g', id: 'a', listen: '127.0.0.1:0', peers: ['b=127.0.0.1:9'], key: KEY }
const OMEGA = { protocol: 'omega', data: '/nowhere' } as const

/** The problems that `join` reports for these options, one per line. */
function problems(options: unknown): readonly string[] {
  try {
    checkJoinOptions(options)
    if (isStoreJoin(options)) storeSettings(options)
    else networkSettings(options)
    return []
  } catch (error) {
    if (!(error instanceof InvalidOptionsError)) throw error
    expect(error.message.split('\n')).toHaveLength(error.problems.length)
    return error.message.split('\n')
  }
}

it('accepts good options, and a list of peers that contains the node itself', () => {
  expect(problems(GOOD)).toEqual([])
  const shared = { ...GOOD, listen: '127.0.0.1:7400', peers: ['a=10.0.0.1:7400', 'b=10.0.0.2:7400'] }
  expect(problems(shared)).toEqual([])
  expect(networkSettings(shared)).toMatchObject({ nodes: ['a', 'b'], peers: [{ id: 'b' }] })
  expect(problems({ group: 'g', id: 'a', protocol: 'epochs', store: 'file:/s' })).toEqual([])
})

it.each<[{ readonly [field: string]: unknown }, string]>([
  [{ group: '' }, 'group: must be a non-empty string'],
  [{ group: null }, 'group: null is not a string'],
  [{ id: '' }, 'id: must be a non-empty string'],
  [{ id: 7 }, 'id: 7 is not a string'],
  [{ id: 'a b' }, 'id: "a b" contains a space, a comma or "="; use other characters'],
  [{ id: 'x'.repeat(201) }, 'id: is longer than 200 characters'],
  [{ listen: '127.0.0.1' }, 'listen: "127.0.0.1" has no port; use HOST:PORT, for example 10.0.0.1:7400'],
  [{ listen: '::1:7400' }, 'listen: "::1:7400" is not HOST:PORT'],
  [{ listen: '127.0.0.1:70000' }, 'listen: "127.0.0.1:70000" has port 70000; a port is at most 65535'],
  [{ peers: undefined }, 'peers: is missing: write a list'],
  [{ peers: [7] }, 'peers[0]: 7 is not a string'],
  [{ peers: ['b'] }, 'peers[0]: "b" is not ID=HOST:PORT'],
  [{ peers: ['b=10.0.0.2'] }, 'peers[0]: "b=10.0.0.2" has no port; use ID=HOST:PORT'],
  [{ peers: ['=127.0.0.1:9'] }, 'peers[0]: "=127.0.0.1:9" has no id before the "="'],
  [{ peers: ['b=127.0.0.1:0'] }, 'peers[0]: "b=127.0.0.1:0" has port 0'],
  [{ peers: ['127.0.0.1:0'] }, 'peers[0]: "127.0.0.1:0" has port 0'],
  [
    { peers: [`${'b'.repeat(201)}=127.0.0.1:9`] },
    'peers[0]: "bbbbbbbbbbbbbbbbbbbb…" has 201 characters; an id has at most 200',
  ],
  [{ peers: ['b,c=127.0.0.1:9'] }, 'peers[0]: "b,c" contains a space, a comma or "="'],
  [{ peers: ['a=127.0.0.1:9'] }, 'peers[0]: a is this node, but it listens on 127.0.0.1:0; check its id'],
  [{ peers: ['b=h:1', 'b=h:2'] }, 'peers[1]: b is listed twice; every node needs its own id'],
  [{ peers: ['b=h:1', 'c=h:1'] }, 'peers[1]: c has the same address as b, h:1'],
  [{ peers: ['b=[::1]:9'] }, 'peers[0]: ::1 is an IPv6 address, but this node listens on the IPv4 address'],
  [{ key: 'a text, not bytes' }, 'key: must be a Uint8Array or a non-empty list of them'],
  [{ key: undefined }, 'key: must be a Uint8Array'],
  [{ key: [] }, 'key: must be a Uint8Array'],
  [{ data: '' }, 'data: must be a non-empty string'],
  [{ data: 7 }, 'data: 7 is not a string'],
  [{ mode: 'sideways' }, 'mode: "sideways" is not one of "local", "majority"'],
  [{ profile: 'moon' }, 'profile: "moon" is not one of "fast", "lan", "region", "wan"'],
  [{ timing: 'slow' }, 'timing: "slow" is not one of "fixed", "adaptive"'],
  [
    { leaseMinMs: 5 },
    'leaseMinMs: 5 is too short, because timers of a process cannot keep such leases; use 10 or more',
  ],
  [{ leaseMaxMs: 90_000 }, 'leaseMaxMs: 90000 is too long'],
  [{ leaseMinMs: '20' }, 'leaseMinMs: "20" is not a finite number'],
  [
    { leaseMinMs: 6000 },
    'leaseMinMs: 6000 needs a longest lease of 7500 ms or more, and without data it is 1000 ms; without data, set leaseMaxMs, too',
  ],
  [
    { data: '/nowhere', leaseMinMs: 6000 },
    'leaseMinMs: 6000 is above leaseMaxMs, which is 5000 in the profile lan; set both, leaseMaxMs at least 1.25 times leaseMinMs',
  ],
  [{ leaseMinMs: 100, leaseMaxMs: 101 }, 'leaseMaxMs: 101 is too close to leaseMinMs; use 125 or more'],
  [
    { leaseMinMs: 50_000, leaseMaxMs: 60_000 },
    'leaseMinMs: 50000 is too close to leaseMaxMs, which is at most 60000; set leaseMinMs to 48000 or less',
  ],
  [
    { leaseMinMs: 50_000 },
    'leaseMinMs: 50000 is above leaseMaxMs, which is 1000; set both, leaseMinMs to 48000 or less and leaseMaxMs at least 1.25 times leaseMinMs',
  ],
  [
    { leaseMinMs: 50_000, leaseMaxMs: 900 },
    'leaseMinMs: 50000 is above leaseMaxMs, which is 900; set both, leaseMinMs to 48000 or less and leaseMaxMs at least 1.25 times leaseMinMs',
  ],
  [
    { timing: 'adaptive', mode: 'local' },
    'timing: adaptive only works with mode: majority; use timing: fixed in local mode',
  ],
  [
    { timing: 'fixed', leaseMinMs: 20 },
    'leaseMinMs: only works with timing: adaptive; set that, or remove leaseMinMs',
  ],
  [
    { timing: 'fixed', leaseLossPerDay: 1 },
    'leaseLossPerDay: only works with timing: adaptive; set that, or remove leaseLossPerDay',
  ],
  [
    { mode: 'local', leaseMinMs: 20 },
    'leaseMinMs: does not apply to local mode, whose timing is fixed; remove it, or use mode: majority',
  ],
  [
    { options: { rule: 'equality' }, leaseLossPerDay: 2 },
    'leaseLossPerDay: does not apply with rule: equality, whose timing is fixed; remove it, or use rule: quorum',
  ],
  [
    { options: { treeFrom: 2 }, leaseMaxMs: 900 },
    'leaseMaxMs: does not apply to 2 voters or more (treeFrom), whose timing is fixed; remove it',
  ],
  [{ options: { timing: 'adaptive' } }, 'options.timing: use the field `timing` instead'],
  [
    { protocol: 'omega', data: '/nowhere', peers: ['b=h:1'], leaseMinMs: 20 },
    'leaseMinMs: does not apply to the protocol omega, whose timing is fixed; remove it',
  ],
  [
    { protocol: 'omega', data: '/nowhere', peers: ['b=h:1'], profile: 'fast' },
    'profile: fast needs leases that tune themselves, which this protocol does not have; use lan, region or wan',
  ],
  [{ observer: 'yes' }, 'observer: "yes" is not true or false'],
  [{ observer: true, witness: true }, 'witness: a witness votes, an observer does not; choose one'],
  [{ priority: 1.5 }, 'priority: 1.5 is not an integer'],
  [{ priority: 1_000_001 }, 'priority: 1000001 is out of bounds: it must be at most 1000000'],
  [{ isolation: 'fork' }, 'isolation: "fork" is not one of "worker", "thread"'],
  [{ maxStallMs: 10 }, 'maxStallMs: 10 is out of bounds: it must be at least 50'],
  [{ maxStallMs: Number.NaN }, 'maxStallMs: NaN is not a finite number'],
  [{ traceSteps: -1 }, 'traceSteps: -1 is out of bounds: it must be at least 0'],
  [{ traceSteps: 1.5 }, 'traceSteps: 1.5 is not an integer'],
  [{ drainMs: Number.POSITIVE_INFINITY }, 'drainMs: Infinity is not a finite number'],
  [{ healthTimeoutMs: -1 }, 'healthTimeoutMs: -1 is out of bounds: it must be at least 1'],
  [{ healthIntervalMs: 0 }, 'healthIntervalMs: 0 is out of bounds: it must be at least 1'],
  [{ healthy: true }, 'healthy: must be a function that returns true or false'],
  [{ signal: {} }, 'signal: must be an AbortSignal'],
  [{ options: [] }, 'options: [] is not an object'],
  [{ options: { colour: 'red' } }, 'options.colour: unknown field; remove it, or run "conclave protocols"'],
  [{ options: { deltaMs: 50 } }, 'options.fastMs: breaks the bound'],
  [{ options: { mode: 'local' } }, 'options.mode: use the field `mode` instead'],
  [{ options: { priorities: { a: 3 } } }, 'options.priorities: use the field `priority` on each node'],
  [{ options: { requests: 3 } }, 'options.requests: is for searches only'],
  [{ options: { link: 'none' } }, 'options.link: is for the workbench only'],
  [{ options: { hostedGroup: 'g' } }, 'options.hostedGroup: is written by recordings only'],
  [{ keyFile: '/k' }, 'keyFile: unknown field; remove it, or see docs/reference/library.md'],
  [{ maxStalMs: 100 }, 'maxStalMs: unknown field; did you mean maxStallMs?'],
  [{ protocol: 'bully' }, 'protocol: "bully" runs in the workbench only'],
  [{ protocol: 'raft' }, 'protocol: "raft" is not a protocol; use one of'],
  [{ protocol: 'omega' }, 'data: is required with omega'],
  [{ ...OMEGA, peers: [] }, 'peers: is empty; omega needs at least two nodes'],
  [{ ...OMEGA, priority: 3 }, 'priority: does not apply to omega'],
  [{ ...OMEGA, observer: true }, 'observer: does not apply to omega'],
  [{ ...OMEGA, options: { timeoutMs: 1 } }, 'options.timeoutMs: 1 is too small'],
  [{ store: 'file:/s' }, 'store: applies only to the protocol epochs'],
  [{ fencing: [] }, 'fencing: applies only to the protocol epochs'],
])('with %j: one problem', (more, message) => {
  const found = problems({ ...GOOD, ...more })
  expect(found).toHaveLength(1)
  expect(found[0]).toContain(message)
})

const STORE = { group: 'g', id: 'a', protocol: 'epochs', store: 'file:/s' }

it.each<[{ readonly [field: string]: unknown }, string]>([
  [{ store: undefined }, 'store: is missing'],
  [{ store: 'ftp://h' }, 'store: ftp: is not a kind of store'],
  [{ store: { kind: 'postgres', url: 'http://h' } }, 'store.url: must be a URL such as postgres://'],
  [{ id: 'x'.repeat(65) }, 'id: must be at most 64 bytes long'],
  [{ listen: '127.0.0.1:1' }, 'listen: does not apply to the protocol epochs'],
  [{ stor: 1 }, 'stor: unknown field; did you mean store?'],
  [{ fencing: [{ kind: 'command', command: [] }] }, 'fencing[0].command: has 0 entries'],
  [{ options: { periodMs: 10 } }, 'options.periodMs: is below'],
  [{ options: { clock: 'none' } }, 'options.clock: is for searches only'],
])('in a store, with %j: one problem', (more, message) => {
  const found = problems({ ...STORE, ...more })
  expect(found).toHaveLength(1)
  expect(found[0]).toContain(message)
})

it('reports all problems at once', () => {
  const found = problems({ ...GOOD, id: 'a b', listen: 'here', peers: ['b', 'c=h:0'], drainMs: -1 })
  expect(found.map((line) => line.slice(0, line.indexOf(':')))).toEqual([
    'drainMs',
    'id',
    'listen',
    'peers[0]',
    'peers[1]',
  ])
})

it('reports values that JSON cannot hold, and arguments that are not options', () => {
  const circle: { self?: object } = {}
  circle.self = circle
  expect(problems({ ...GOOD, secrecy: circle })[0]).toBe('secrecy: [object Object] is not true or false')
  expect(problems({ ...GOOD, traceSteps: 5n })).toEqual(['traceSteps: 5 is not a finite number'])
  expect(problems({ ...GOOD, options: { sigmaMs: 5n } })).toEqual([
    'options.sigmaMs: 5 is not a finite number',
  ])
  for (const none of [undefined, null, 'a', [GOOD]])
    expect(problems(none)[0]).toMatch(/^join: must be called with an object such as \{ group, id/)
})
