/** Omega+ in the timed world, on reported links and on datagrams: the story of the paper, and others. */
import { describe, expect, it } from 'vitest'
import { ids, simulate } from '../../../test/support/run.ts'
import type { PlainObject } from '../../core/index.ts'
import type { Report, Snapshot } from '../../workbench/sim/index.ts'
import type { Observation } from '../../workbench/trace/index.ts'

const BOTH = ['reported', 'datagrams'] as const

function run(
  n: number,
  events: readonly PlainObject[],
  file: PlainObject = {},
  options: PlainObject = {},
): Report {
  return simulate({
    protocol: 'omega',
    nodes: ids(n),
    initial: { leader: 1 },
    seed: 5,
    network: { delayMs: [0.1, 2] },
    events,
    untilMs: 5000 * (events.length + 1),
    ...file,
    options,
  })
}

const linksOf = (id: number, n: number): readonly (readonly number[])[] =>
  ids(n)
    .map(Number)
    .filter((other) => other !== id)
    .map((other) => [id, other])

const lives = ({ nodes }: Snapshot): readonly unknown[] => Object.values(nodes).map((node) => node['life'])
const views = ({ nodes }: Snapshot): readonly unknown[] =>
  Object.values(nodes).map((node) => (node['view'] as { members: readonly number[] }).members)
const quorate = ({ nodes }: Snapshot): readonly unknown[] =>
  Object.values(nodes).map((node) => node['inQuorum'])
const broken = ({ specs }: Report) => specs.filter(({ verdict }) => verdict === 'violated')

describe.each(BOTH)('the story of the introduction, links: %s', (links) => {
  const report = run(
    5,
    [
      { atMs: 5000, cut: linksOf(5, 5) },
      { atMs: 10_000, cut: linksOf(1, 5).slice(0, 3) },
      { atMs: 15_000, heal: 'all' },
    ],
    { checkpointsMs: [4900, 9900, 14_900] },
    { links },
  )
  const at = (ms: number): Snapshot => report.checkpoints[String(ms)] as Snapshot

  it('elects 1 as leader of all, then of four without 5, then 2 as leader of three without 1', () => {
    expect([at(4900), at(9900), at(14_900)].map(({ leaders }) => leaders)).toEqual([[1], [1], [2]])
    expect(at(9900).groups).toEqual([[1, 2, 3, 4]])
    expect(at(14_900).groups).toEqual([[2, 3, 4]])
    expect(at(14_900).nodes).toMatchObject({ 1: { role: 'dead', life: 2 }, 5: { role: 'dead', life: 2 } })
  })

  it('admits 1 and 5 again under new lives, and 2 still leads', () => {
    expect(report.leaders).toEqual([2])
    expect(report.groups).toEqual([[1, 2, 3, 4, 5]])
    expect(lives(report)).toEqual([2, 1, 1, 1, 2])
    expect(quorate(report)).toEqual([true, true, true, true, true])
  })

  it('judges every specification, and all hold', () => {
    expect(report.specs.filter(({ verdict }) => verdict !== 'held')).toEqual([])
  })
})

describe.each(BOTH)('partitions, links: %s', (links) => {
  const halves = [
    {
      atMs: 5000,
      partition: [
        [1, 2],
        [3, 4, 5],
      ],
    },
  ]

  it('reports a term from the moment its leader is in quorum until it is not', () => {
    const { leaderships } = run(5, halves, {}, { links, quorum: 'dynamic' })
    expect(leaderships.map(({ node, cause, ended }) => [node, cause, ended])).toEqual([
      [1, 'elected', 'out of quorum'],
      [3, 'elected', null],
    ])
  })

  it('quorum none: both sides have a leader', () => {
    const report = run(5, halves, {}, { links, quorum: 'none' })
    expect(report.leaders).toEqual([1, 3])
    expect(broken(report)).toEqual([])
  })

  it('quorum dynamic: the smaller side stays in the old view, but is out of quorum', () => {
    const report = run(5, halves, {}, { links })
    expect(views(report)).toEqual([ids(5), ids(5), [3, 4, 5], [3, 4, 5], [3, 4, 5]])
    expect(quorate(report)).toEqual([false, false, true, true, true])
    expect(broken(report)).toEqual([])
  })

  it('dynamic voting follows the last view; a static majority does not', () => {
    const shrinking = [...halves, { atMs: 10_000, cut: linksOf(5, 5) }]
    const left = (quorum: string): readonly unknown[] =>
      views(run(5, shrinking, {}, { links, quorum })).slice(2, 4)
    expect(left('dynamic')).toEqual([
      [3, 4],
      [3, 4],
    ])
    expect(left('static')).toEqual([
      [3, 4, 5],
      [3, 4, 5],
    ])
  })

  it('does not block later views by proposals of a node that lost one link after another', () => {
    const report = run(
      6,
      [
        { atMs: 5000, cut: linksOf(1, 6) },
        { atMs: 10_000, crash: 4 },
        { atMs: 15_000, heal: 'all' },
        { atMs: 20_000, crash: 6 },
      ],
      // Seeds with which the last proposal of 1 is a view of 1 and 4.
      { seed: links === 'reported' ? 450 : 7, checkpointsMs: [19_900] },
      { links },
    )
    expect(report.checkpoints['19900']?.groups).toEqual([[1, 2, 3, 5, 6]])
    expect(report.groups).toEqual([[1, 2, 3, 5]])
    expect(broken(report)).toEqual([])
  })

  it('lets the nodes of the lower view die and join the higher one after the partition', () => {
    const report = run(5, [...halves, { atMs: 10_000, heal: 'all' }], {}, { links })
    expect(report.groups).toEqual([[1, 2, 3, 4, 5]])
    expect(lives(report)).toEqual([2, 2, 1, 1, 1])
    expect(broken(report)).toEqual([])
  })
})

describe('new nodes and new groups', () => {
  it('admits a brand-new node', () => {
    const report = run(4, [], { initial: { leader: 1, members: [1, 2, 3] } })
    expect(report.groups).toEqual([[1, 2, 3, 4]])
    expect(report.leaders).toEqual([1])
    expect(lives(report)).toEqual([1, 1, 1, 1])
  })

  it('forms a first view with a majority (reinit quorum), with all nodes (reinit all), or never', () => {
    const startAll = (reinit: string): Report =>
      run(3, [{ atMs: 0, crash: 3 }], { initial: null }, { reinit, quorum: 'dynamic' })
    expect(startAll('quorum').groups).toEqual([[1, 2]])
    expect(startAll('all').groups).toEqual([])
    expect(startAll('never').groups).toEqual([])
    expect(run(3, [], { initial: null }, { reinit: 'all' }).groups).toEqual([[1, 2, 3]])
  })

  it('admits the least node as a follower when it returns, and elects it at the next change', () => {
    const events = [
      { atMs: 5000, crash: 1 },
      { atMs: 10_000, recover: 1 },
      { atMs: 15_000, crash: 4 },
    ]
    const report = run(4, events, { checkpointsMs: [14_900] })
    expect(report.checkpoints['14900']?.leaders).toEqual([2])
    expect(report.leaders).toEqual([1])
  })

  it('compares weights before ids', () => {
    const report = run(4, [{ atMs: 5000, crash: 1 }], {}, { weights: { '2': 3, '3': 1, '4': 2 } })
    expect(report.leaders).toEqual([3])
  })
})

describe('outsiders that are linked with only some of the members', () => {
  /** 5 is cut off and dies; then it is linked with 1 alone; then 3 is cut off. */
  const events = [
    { atMs: 5000, cut: linksOf(5, 5) },
    { atMs: 10_000, heal: [[1, 5]] },
    {
      atMs: 15_000,
      cut: [
        [3, 1],
        [3, 2],
        [3, 4],
      ],
    },
  ]

  it('block the removal of a member', () => {
    expect(views(run(5, events)).slice(0, 2)).toEqual([
      [1, 2, 3, 4],
      [1, 2, 3, 4],
    ])
  })

  it('do not block it with filter', () => {
    const report = run(5, events, {}, { filter: true })
    expect(views(report).slice(0, 2)).toEqual([
      [1, 2, 4],
      [1, 2, 4],
    ])
    expect(broken(report)).toEqual([])
  })
})

describe('a leader that was expelled while it was paused', () => {
  it('never acts again under its old view', () => {
    const outputs: (readonly [number, string])[] = []
    const observe = (seen: Observation): void => {
      if (seen.type !== 'output' || seen.node !== 1 || seen.event.type === 'promise') return
      outputs.push([seen.at / 1000, seen.event.type])
    }
    const report = simulate(
      {
        protocol: 'omega',
        nodes: ids(5),
        initial: { leader: 1 },
        events: [{ atMs: 5000, pause: 1, forMs: 5000 }],
        untilMs: 20_000,
        checkpointsMs: [9900],
      },
      { strict: true, observe },
    )
    expect(report.checkpoints['9900']?.nodes['2']).toMatchObject({ role: 'leader', inQuorum: true })
    const after = outputs.filter(([at]) => at >= 10_000).map(([, type]) => type)
    expect(after[0]).toBe('demoted')
    expect(after).not.toContain('elected')
    expect(report.leaders).toEqual([2])
    expect(lives(report)[0]).toBe(2)
  })
})

describe('messages of a view', () => {
  it('of s nodes: s-1 each of cand, accept, attempt, attempted, and s(s-1) status, when all detect one failure', () => {
    const report = run(5, [{ atMs: 5000, crash: 5 }], { network: { delayMs: 1 } }, { links: 'reported' })
    expect(report.messages.byKind).toEqual({
      cand: 3,
      accept: 3,
      attempt: 3,
      attempted: 3,
      status: 12,
    })
  })
})

/** Regressions: failures that outside attacks found, each with the verdict of the specification that was missing. */
describe('what applications see', () => {
  const acting = ({ leaderships }: Report): readonly unknown[] =>
    leaderships.filter(({ ended }) => ended === null).map(({ node }) => node)
  const partition = (one: readonly number[], other: readonly number[], atMs = 2000): PlainObject => ({
    atMs,
    partition: [one, other],
  })

  it.each([{}, { tie: true }, { filter: true }, { reinit: 'all' }, { reinit: 'never' }])(
    'dynamic, %j: a node does not support the old view if its attempt may be installed elsewhere',
    (options) => {
      // 3 installs a view of 3, 4, 5; 5 never learns of it, and is linked with 1 and 2 again.
      for (let atMs = 2231.25; atMs < 2236; atMs += 0.75) {
        const report = simulate(
          {
            protocol: 'omega',
            nodes: ids(5),
            initial: { leader: 1 },
            seed: 1,
            network: { delayMs: [0.2, 2] },
            options,
            events: [
              partition([1, 2], [3, 4, 5]),
              {
                atMs,
                heal: [
                  [1, 5],
                  [2, 5],
                ],
              },
              {
                atMs,
                cut: [
                  [3, 5],
                  [4, 5],
                ],
              },
            ],
            untilMs: 8000,
          },
          {},
        )
        expect(broken(report)).toEqual([])
        expect(acting(report).length).toBeLessThanOrEqual(1)
        expect(report.leaders).toEqual(acting(report))
      }
    },
  )

  it('static: more than half of all nodes must support the leader, not of the view', () => {
    const links = [
      [1, 2],
      [3, 4],
      [3, 5],
      [4, 5],
    ]
    const report = run(
      5,
      [partition([1, 2, 3], [4, 5]), { atMs: 5000, links }],
      { seed: 1 },
      { quorum: 'static' },
    )
    expect(broken(report)).toEqual([])
    expect(acting(report)).toEqual([3])
    // 1 still leads its view, but shows that it is out of quorum.
    expect(report.nodes['1']).toMatchObject({ role: 'leader', inQuorum: false })
    expect(report.leaders).toEqual([3])
  })

  it.each(BOTH)('crashes only, links %s: a proposal without a quorum does not block later views', (links) => {
    const events = [
      { atMs: 2000, crash: 1 },
      { atMs: 5000, crash: 3 },
      { atMs: 8000, recover: 1 },
      { atMs: 11_000, crash: 1 },
      { atMs: 14_000, recover: 3 },
    ]
    const report = run(3, events, {}, { links })
    expect(broken(report)).toEqual([])
    expect(report.groups).toEqual([[2, 3]])
    expect(acting(report)).toHaveLength(1)
  })

  it.each(BOTH)('links %s: three of four nodes form a view after both halves proposed in vain', (links) => {
    const report = run(
      4,
      [partition([1, 2], [3, 4]), { atMs: 5000, crash: 3 }, { atMs: 8000, heal: 'all' }],
      {},
      { links },
    )
    expect(broken(report)).toEqual([])
    expect(report.groups).toEqual([[1, 2, 4]])
    expect(acting(report)).toEqual([1])
  })

  it('does not report a node as leader whose application would not lead', () => {
    const campaign = { do: 'campaign', willing: false }
    const report = run(
      3,
      ids(3).map((node) => ({ atMs: 2000, command: { node, ...campaign } })),
      {},
      {},
    )
    expect(report.nodes['1']).toMatchObject({ role: 'leader', inQuorum: true, willing: false })
    expect(report.leaders).toEqual([])
    expect(report.leaderships).toMatchObject([{ node: 1, ended: 'withdrew' }])
  })

  it('keeps the number of attempts bounded when a peer of a minority restarts repeatedly', () => {
    const events = Array.from({ length: 60 }, (_, at) =>
      at % 2 === 0 ? { atMs: 3000 + 400 * at, crash: 2 } : { atMs: 3000 + 400 * at, recover: 2 },
    )
    const most = { attempts: 0 }
    const observe = (seen: Observation): void => {
      if (seen.type !== 'view') return
      const attempts = (seen.view.detail?.['attempts'] ?? []) as readonly unknown[]
      most.attempts = Math.max(most.attempts, attempts.length)
    }
    const scenario = {
      protocol: 'omega',
      nodes: ids(5),
      initial: { leader: 1 },
      options: { links: 'reported' },
      events: [partition([1, 2], [3, 4, 5]), ...events, { atMs: 30_000, heal: 'all' }],
      untilMs: 40_000,
    }
    const report = simulate(scenario, { strict: true, observe })
    expect(report.groups).toEqual([ids(5)])
    expect(most.attempts).toBeLessThanOrEqual(5)
  })
})
