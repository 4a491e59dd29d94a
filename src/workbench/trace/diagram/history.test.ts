import { describe, expect, it } from 'vitest'
import type { Effect, Input, NodeId, View } from '../../../core/index.ts'
import type { Trace } from '../ndjson.ts'
import type { TraceRecord } from '../records.ts'
import { type DiagramHistory, diagramHistory, type Selection } from './history.ts'

const ALL: Selection = { kinds: ['vote'], all: false }
const view = (role: View['role'], leader: NodeId | null = null, more: Partial<View> = {}): View => ({
  role,
  leader,
  token: null,
  until: null,
  members: null,
  detail: null,
  ...more,
})
type Common = {
  readonly effects?: readonly Effect[]
  readonly sent?: readonly number[]
  readonly cutAfter?: number
  readonly view?: View
  readonly message?: number
}
const common = (at: number, node: NodeId, { effects = [], sent = [], cutAfter, view: seen }: Common) => ({
  at,
  node,
  now: at,
  effects,
  sent,
  cutAfter: cutAfter ?? null,
  view: seen ?? null,
})
const start = (at: number, node: NodeId, more: Common = {}): TraceRecord => ({
  type: 'start',
  ...common(at, node, more),
  stable: null,
  settledOn: null,
})
const step = (at: number, node: NodeId, input: Input, more: Common = {}): TraceRecord => ({
  type: 'step',
  ...common(at, node, more),
  input,
  message: more.message ?? null,
})
const world = (at: number, event: TraceRecord & object): TraceRecord => ({
  type: 'world',
  at,
  event: event,
})
const timer: Input = { type: 'timer', name: 't' }
const hears = (from: NodeId): Input => ({ type: 'message', from, body: { kind: 'vote' }, receipt: null })
const sends = (to: NodeId, kind = 'vote'): Effect => ({ type: 'send', to, body: { kind } })
const history = (records: readonly TraceRecord[], selection = ALL): DiagramHistory =>
  diagramHistory(traceOf(records), selection)
const traceOf = (records: readonly TraceRecord[]): Trace => ({
  header: { trace: 1, protocol: 'test', nodes: [1, 2], options: {}, seed: 0 },
  records,
})

describe('messages', () => {
  it('end where they arrive, where they are lost, or nowhere', () => {
    const { flights } = history([
      start(0, 1, { effects: [sends(2), sends(2), sends(2)], sent: [0, 1, 2] }),
      step(5, 2, hears(1), { message: 0 }),
      { type: 'lost', at: 3, message: 1, why: 'chance' },
    ])
    expect(flights.map(({ sentAt, endedAt, lost }) => [sentAt, endedAt, lost])).toEqual([
      [0, 5, null],
      [0, 3, 'chance'],
      [0, null, null],
    ])
  })

  it('that were duplicated end twice', () => {
    const { flights } = history([
      start(0, 1, { effects: [sends(2)], sent: [0] }),
      step(5, 2, hears(1), { message: 0 }),
      step(8, 2, hears(1), { message: 0 }),
    ])
    expect(flights.map(({ endedAt }) => endedAt)).toEqual([5, 8])
  })

  it('of layers below are left out, unless everything is asked for', () => {
    const records = [start(0, 1, { effects: [sends(2, 'ping'), sends(2)], sent: [0, 1] })]
    const kinds = (selection: Selection) => history(records, selection).flights.map(({ kind }) => kind)
    expect(kinds(ALL)).toEqual(['vote'])
    expect(kinds({ ...ALL, all: true })).toEqual(['ping', 'vote'])
    expect(kinds({ ...ALL, carried: () => [{ kind: 'vote' }] })).toEqual(['vote', 'vote'])
  })

  it('after a crash in the middle of a step were not sent', () => {
    const records = [
      start(0, 1),
      step(5, 1, timer, { effects: [sends(2), sends(2)], sent: [0], cutAfter: 1 }),
    ]
    expect(history(records).flights).toHaveLength(1)
  })
})

describe('lanes', () => {
  const texts = (...views: readonly View[]): readonly (readonly [string, string])[] =>
    history([start(0, 1), ...views.map((seen, at) => step(at + 1, 1, timer, { view: seen })), start(90, 2)])
      .periods.filter(({ node }) => node === 1)
      .slice(1)
      .map(({ state, text }) => [state, text])

  it('show the belief of a node', () => {
    expect(
      texts(
        view('leader', 1),
        view('leader', 1, { token: 7 }),
        view('follower', 2),
        view('candidate'),
        view('dead'),
        view('leader', 1, { detail: { inQuorum: false } }),
        view('leader', 1, { detail: { inQuorum: true, willing: false } }),
      ),
    ).toEqual([
      ['leads', 'leads'],
      ['leads', 'leads, token 7'],
      ['follows', 'follows 2'],
      ['leaderless', 'no leader'],
      ['leaderless', 'dead'],
      ['leaderless', 'out of quorum'],
      ['leaderless', 'would not lead'],
    ])
  })

  it('continue while the belief stays the same', () => {
    expect(texts(view('follower', 2), view('follower', 2))).toHaveLength(1)
  })

  it('end with a crash, and begin again with a restart', () => {
    const { periods, marks } = history([
      start(0, 1, { view: view('leader', 1) }),
      world(10, { crash: 1 } as never),
      start(30, 1),
      start(40, 2),
    ])
    expect(
      periods.filter(({ node }) => node === 1).map(({ from, until, state }) => [from, until, state]),
    ).toEqual([
      [0, 10, 'leads'],
      [10, 30, 'down'],
      [30, 40, 'leaderless'],
    ])
    expect(marks.map(({ type, at }) => [type, at])).toEqual([
      ['crash', 10],
      ['restart', 30],
    ])
  })

  it('change with a tick of an untimed world', () => {
    const { periods, notices } = history([
      start(0, 1, { view: view('leader', 1) }),
      { type: 'tick', at: 5, by: 100, views: [{ node: 1, view: view('candidate') }] },
      start(9, 2),
    ])
    expect(periods[1]).toMatchObject({ node: 1, from: 5, state: 'leaderless' })
    expect(notices).toEqual([{ at: 5, text: 'tick' }])
  })
})

describe('marks', () => {
  const marks = (input: Input, more: Common = {}, selection = ALL) =>
    history([start(0, 1), step(5, 1, input, more)], selection).marks.map(
      ({ type, text }) => `${type}: ${text}`,
    )
  const call = { id: 1, op: 'read', of: 2 } as const

  it('show timers only if something came of them', () => {
    expect(marks(timer)).toEqual([])
    expect(marks(timer, { effects: [sends(2)], sent: [0] })).toEqual(['timer: t'])
    expect(marks(timer, { view: view('candidate') })).toEqual(['timer: t'])
    expect(marks(timer, {}, { ...ALL, all: true })).toEqual(['timer: t'])
  })
  it('show commands and links always, and messages by their arrows alone', () => {
    expect(marks({ type: 'command', command: { do: 'resign', now: true } })).toEqual([
      'command: resign(now true)',
    ])
    expect(marks({ type: 'link', peer: 2, up: false })).toEqual(['link: link to 2 down'])
    expect(marks(hears(2))).toEqual([])
    expect(marks({ type: 'suspended', by: 5 })).toEqual([])
  })
  it('show writes of registers, and reads only if something came of them', () => {
    const write = { id: 1, op: 'write', value: { ctr: 3, more: null } } as const
    expect(marks({ type: 'register', call: write, outcome: 'ok', value: null })).toEqual([
      'register: write (3)',
    ])
    expect(marks({ type: 'register', call, outcome: 'ok', value: null })).toEqual([])
    expect(
      marks({ type: 'register', call, outcome: 'unknown', value: null }, { view: view('candidate') }),
    ).toEqual(['register: read 2: unknown'])
  })
  it('show how far a step came before its crash', () => {
    expect(marks(timer, { effects: [sends(2), sends(2)], sent: [0], cutAfter: 1 })).toEqual([
      'timer: t',
      'crash: crash after 1 of 2 effects',
    ])
  })
})

describe('stalls', () => {
  const stalled = (...records: readonly TraceRecord[]) =>
    history([start(0, 1), start(0, 2), ...records, step(90_000, 2, timer)]).stalls
  it('last as long as they were asked to, but not beyond the trace', () => {
    expect(stalled(world(1000, { pause: 1, forMs: 20 } as never))).toEqual([
      { node: 1, from: 1000, until: 21_000, word: 'paused' },
    ])
    expect(stalled(world(1000, { suspend: 1, forMs: 999 } as never))).toEqual([
      { node: 1, from: 1000, until: 90_000, word: 'suspended' },
    ])
  })
  it('end with a crash, and do not apply to nodes that are down', () => {
    const pause = world(1000, { pause: 1, forMs: 20 } as never)
    expect(stalled(pause, world(5000, { crash: 1 } as never))).toMatchObject([{ until: 5000 }])
    expect(stalled(world(500, { crash: 1 } as never), pause)).toEqual([])
  })
})

describe('a trace', () => {
  it('is timed if any clock runs', () => {
    expect(history([start(0, 1), step(5, 1, timer)]).timed).toBe(true)
    expect(history([{ ...start(0, 1) }, { ...step(5, 1, timer), now: 0 } as TraceRecord]).timed).toBe(false)
  })
  it.each<[string, TraceRecord, string]>([
    ['a step of an unknown node', start(0, 9), 'line 2: node 9 is not in the header'],
    [
      'a message to an unknown node',
      start(0, 1, { effects: [sends(9)], sent: [0] }),
      'line 2: a message goes to a node that is not in the header, or is none',
    ],
  ])('is refused with %s', (_what, record, message) => {
    expect(() => history([record])).toThrow(message)
  })
})
