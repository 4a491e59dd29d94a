/**
 * A candidate that cannot win, an abandoned change of voters, a voter that crashed: none of them stops the other nodes.
 */
import { describe, expect, it } from 'vitest'
import { at, MAJORITY, violations } from '../../../test/support/local-leader.ts'
import { Bench, beacon } from '../../../test/support/local-leader-alone.ts'
import { ids, simulate } from '../../../test/support/run.ts'
import type { NodeId, PlainObject } from '../../core/index.ts'
import type { Report } from '../../workbench/sim/index.ts'
import { localLeaderGroup } from './group.ts'
import { NO_EPOCH } from './messages.ts'
import { type LocalLeaderOptions, localLeaderOptions } from './options.ts'

/** Checked against all promises, `majority-leads` and `voters-support` among them. */
function held(file: PlainObject): Report {
  const report = simulate(
    { protocol: 'local-leader', nodes: ids(5), network: { delayMs: 1 }, untilMs: 7000, ...file },
    { strict: false },
  )
  expect(violations(report)).toEqual([])
  return report
}

/** The part of the time with a leader. */
function ledShare({ leaderships, endedAtMs }: Report): number {
  const led = leaderships.reduce(
    (sum, { fromMs, untilMs }) => sum + Math.min(untilMs ?? endedAtMs, endedAtMs) - fromMs,
    0,
  )
  return led / endedAtMs
}

const failOver = ({ leaderships }: Report): number =>
  (leaderships[1]?.fromMs ?? Number.POSITIVE_INFINITY) - (leaderships[0]?.untilMs ?? 0)

describe('a candidate of the best rank that cannot win', () => {
  const kinds = ['Election', 'Reply', 'Release', 'Heartbeat', 'Echo']
  const dropped = kinds.flatMap((kind) => [
    { from: 1, kind, drop: true } as const,
    { to: 1, kind, drop: true },
  ])

  it.each(dropped)('because of %j does not keep the others from electing', (rule) => {
    for (const sticky of [false, true]) {
      const report = held({ options: { ...MAJORITY, sticky }, network: { delayMs: 1, rules: [rule] } })
      expect(report.leaderships[0]?.fromMs).toBeLessThan(400)
      expect(report.leaders).toHaveLength(1)
    }
  })

  it.each(dropped)('because of %j does not keep them from replacing a leader that crashed', (rule) => {
    const events = [
      { atMs: 1000, rules: [rule] },
      { atMs: 1500, crash: 2 },
    ]
    const report = held({ options: { ...MAJORITY, sticky: true, priorities: { 2: 1 } }, events })
    expect(report.leaders).toHaveLength(1)
  })

  it('because it cannot store its vote announces nothing, and costs at most one deference', () => {
    const crash = (...more: readonly PlainObject[]): Report =>
      held({
        options: { ...MAJORITY, sticky: true, priorities: { 2: 1 } },
        events: [...more, { atMs: 1500, crash: 2 }],
      })
    const [well, ill] = [crash(), crash({ atMs: 1000, unwritable: 1 })]
    expect([well, ill].map(({ leaders }) => leaders)).toEqual([[1], [3]])
    expect(failOver(ill)).toBeLessThan(failOver(well) + 150)
  })

  it('because it has other voters does not keep the others from electing', () => {
    for (const voters of [
      [1, 2],
      [1, 4, 5],
    ]) {
      const report = held({ nodes: ids(5), options: MAJORITY, nodeOptions: { 1: { voters } } })
      expect(report.leaderships[0]?.fromMs).toBeLessThan(400)
      expect(report.leaders).toEqual([2])
    }
  })

  it.each([3, 5])(
    'because half of its messages are lost leaves %i nodes hardly ever without a leader',
    (n) => {
      for (const sticky of [false, true]) {
        const rules = [
          { from: 1, loss: 0.5 },
          { to: 1, loss: 0.5 },
        ]
        const file = { nodes: ids(n), options: { ...MAJORITY, sticky }, network: { delayMs: 1, rules } }
        const shares = [1, 2, 3].map((seed) => ledShare(held({ ...file, seed, untilMs: 20_000 })))
        expect(Math.min(...shares)).toBeGreaterThan(0.95)
      }
    },
  )

  it('is ignored by the others, even if it keeps announcing its candidacy', () => {
    const voter = new Bench(3)
    const claim = { kind: 'Heartbeat', beacon: { ...beacon(9), candidate: true } }
    const asks = (now: number): boolean => {
      voter.now = now
      voter.gets(2, { kind: 'Heartbeat', beacon: { ...beacon(-1), candidate: false } }).gets(1, claim)
      return voter.timer('alive').asked !== null
    }
    const times = Array.from({ length: 40 }, (_, index) => 1_000_000 + index * 40_000)
    const first = times.find(asks)
    expect(first).toBeGreaterThan(1_200_000)
    expect(first).toBeLessThan(2_000_000)
  })

  it('regains its rank once it recovers, and then leads again', () => {
    const events = [
      { atMs: 0, rules: [{ from: 1, kind: 'Election', drop: true }] },
      { atMs: 3000, rules: [] },
    ]
    const report = held({ options: MAJORITY, events, checkpointsMs: [2900] })
    expect(at(report, 2900).leaders).toEqual([2])
    expect(report.leaders).toEqual([1])
    expect(report.leaderships[1]?.fromMs).toBeLessThan(6000)
  })
})

describe('a change of voters that was abandoned', () => {
  const options = { ...MAJORITY, sticky: true, voters: [1, 2, 3] }
  const add = { atMs: 1000, command: { node: 1, do: 'addVoter', voter: 4 } }
  const crashes = [3, 4].map((node) => ({ atMs: 5000, crash: node }))

  it.each([1005, 1020, 1040, 1050, 1080, 1100])('at %i ms is superseded by the next leader', (atMs) => {
    const cut = { atMs, partition: [[1], [2, 3, 4]] }
    const file = { nodes: ids(4), options, events: [add, cut, { atMs: 1500, heal: 'all' }, ...crashes] }
    const report = held(file)
    const config = report.nodes['2']?.['config'] as { readonly sets: readonly (readonly NodeId[])[] }
    // If the change came into force after all, two of four are no majority.
    const canLead = config.sets.every((set) => !set.includes(4))
    expect(report.leaders).toHaveLength(canLead ? 1 : 0)
  })
})

describe('a voter that was a candidate', () => {
  it('when it crashed supports the leader again', () => {
    const report = held({
      nodes: ids(3),
      seed: 1752,
      options: MAJORITY,
      network: { delayMs: 0.086 },
      events: [
        { atMs: 1148, slow: [[2, 1]], delayMs: [0, 321.51] },
        { atMs: 2203, heal: 'all' },
        { atMs: 2203, crash: 2 },
        { atMs: 2203, recover: 2 },
      ],
      untilMs: 6509,
    })
    expect(report.nodes['1']?.members).toEqual([1, 2, 3])
  })

  it('when its host slept supports the leader again', () => {
    const report = held({
      nodes: ids(3),
      seed: 1972,
      options: { ...MAJORITY, fastMs: 25, rhoPpm: 10, sticky: true },
      network: { delayMs: 0.129 },
      events: [
        { atMs: 98, partition: [[3], [1, 2]] },
        { atMs: 238, suspend: 3, forMs: 137.868 },
        { atMs: 578, heal: 'all' },
      ],
      untilMs: 7392,
    })
    expect(report.nodes['1']?.members).toEqual([1, 2, 3])
  })

  it('supports the leader until it has made sure that it could lead itself', () => {
    const report = held({
      nodes: [1, 2, 3, 5],
      options: { ...MAJORITY, fastMs: 25, rhoPpm: 500, holdDownMs: 200 },
      network: { delayMs: 4.88 },
      events: [
        {
          atMs: 691,
          links: [
            [1, 2],
            [1, 3],
            [1, 5],
            [2, 3],
            [3, 5],
          ],
        },
        { atMs: 1156, rules: [{ from: 1, kind: 'Election', drop: true }] },
      ],
    })
    expect(report.leaderships).toHaveLength(2)
  })
})

describe('a node that does not want to lead', () => {
  it('is not elected by votes in transit', () => {
    const candidate = new Bench(1)
    candidate.now = 1_000_000
    for (const peer of [2, 3]) {
      candidate.gets(peer, { kind: 'Heartbeat', beacon: { ...beacon(-1), candidate: false } })
    }
    const asked = candidate.timer('alive').asked
    candidate.input({ type: 'command', command: { do: 'campaign', willing: false, lapse: false } })
    expect(
      candidate.effects.filter((effect) => effect.type === 'send' && effect.body.kind === 'Release'),
    ).toHaveLength(3)
    candidate.gets(2, {
      kind: 'Reply',
      beacon: { ...beacon(-1), candidate: false },
      candidate: 1,
      request: asked?.request ?? null,
      votes: [{ node: 2, support: true }],
      promised: NO_EPOCH,
      config: asked?.config ?? null,
    })
    expect(candidate.view.role).not.toBe('leader')
  })
})

it.each([1, 2, 3])(
  'where all have lost their rank, the first of them blocks no other node (seed %i)',
  (seed) => {
    const report = held({
      seed,
      options: { ...MAJORITY, sticky: true },
      events: [
        { atMs: 1, rules: [{ kind: 'Reply', drop: true }] },
        { atMs: 3000, crash: 2 },
        { atMs: 3000, crash: 3 },
        {
          atMs: 3001,
          rules: [
            { kind: 'Reply', from: 4, to: 1, drop: true },
            { kind: 'Election', from: 4, to: 1, drop: true },
          ],
        },
      ],
    })
    expect(report.leaders).toHaveLength(1)
  },
)

describe('nodes that have left the group', () => {
  const chosen = (nodes: readonly NodeId[], options: PlainObject): LocalLeaderOptions =>
    localLeaderOptions(nodes).parse({ ...MAJORITY, ...options })
  const message = (from: NodeId, body: PlainObject) =>
    ({ type: 'message', from, body, receipt: null }) as const

  it('do not stop an observer whose leader was one of them', () => {
    const former = [1, 2, 3, 4]
    const before = localLeaderGroup({ self: 4, nodes: former }, chosen(former, { observers: [4] }))
    const after = localLeaderGroup({ self: 4, nodes: [2, 3, 4] }, chosen([2, 3, 4], { observers: [4] }))
    let { state } = before.protocol.start(null, 0)
    const leads = { ...beacon(0), seen: { number: 1, owner: 1 }, lease: { left: 90_000, token: 1 } }
    const beat = message(1, { kind: 'Heartbeat', beacon: leads })
    state = before.protocol.step(state, beat as never, 1000).state
    expect(before.protocol.view(state, 1000).leader).toBe(1)
    const adoptNodes = after.adopt(state, former)
    expect(after.protocol.step(adoptNodes, { type: 'timer', name: 'overdue' }, 50_000).effects).toEqual([])
    expect(after.protocol.view(adoptNodes, 50_000).leader).toBeNull()
  })

  it('receive no direct request', () => {
    const tree = { treeFrom: 2, treeFanout: 2 }
    const former = [1, 2, 3, 4]
    const before = localLeaderGroup({ self: 1, nodes: former }, chosen(former, tree))
    const after = localLeaderGroup({ self: 1, nodes: [1, 2, 3] }, chosen([1, 2, 3], tree))
    const started = before.protocol.start(null, 0)
    const asking = before.protocol.step(started.state, { type: 'timer', name: 'alive' }, 500_000)
    expect(asking.effects.some((effect) => effect.type === 'send' && effect.to === 4)).toBe(true)
    const adoptNodes = after.adopt(asking.state, former)
    const asked = after.protocol.step(adoptNodes, { type: 'timer', name: 'ask' }, 510_000).effects
    expect(asked.flatMap((effect) => (effect.type === 'send' ? [effect.to] : []))).toEqual([2, 3])
  })
})
