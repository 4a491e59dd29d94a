/** Omega+ in the timed world, on links that the world reports and on datagrams: the paper's story, and others. */
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

const away = (id: number, n: number): readonly (readonly number[])[] =>
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
      { atMs: 5000, cut: away(5, 5) },
      { atMs: 10_000, cut: away(1, 5).slice(0, 3) },
      { atMs: 15_000, heal: 'all' },
    ],
    { checkpointsMs: [4900, 9900, 14_900] },
    { links },
  )
  const at = (ms: number): Snapshot => report.checkpoints[String(ms)] as Snapshot

  it('1 leads all; without 5 it leads four; without 1, 2 leads three', () => {
    expect([at(4900), at(9900), at(14_900)].map(({ leaders }) => leaders)).toEqual([[1], [1], [2]])
    expect(at(9900).groups).toEqual([[1, 2, 3, 4]])
    expect(at(14_900).groups).toEqual([[2, 3, 4]])
    expect(at(14_900).nodes).toMatchObject({ 1: { role: 'dead', life: 2 }, 5: { role: 'dead', life: 2 } })
  })

  it('1 and 5 are taken in again under new lives, and 2 keeps the lead', () => {
    expect(report.leaders).toEqual([2])
    expect(report.groups).toEqual([[1, 2, 3, 4, 5]])
    expect(lives(report)).toEqual([2, 1, 1, 1, 2])
    expect(quorate(report)).toEqual([true, true, true, true, true])
  })

  it('every specification is judged, and holds', () => {
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

  it('a leadership lasts while its leader is in quorum, and is told as the application hears of it', () => {
    const { leaderships } = run(5, halves, {}, { links, quorum: 'dynamic' })
    expect(leaderships.map(({ node, cause, ended }) => [node, cause, ended])).toEqual([
      [1, 'elected', 'out of quorum'],
      [3, 'elected', null],
    ])
  })

  it('quorum none: both sides lead', () => {
    const report = run(5, halves, {}, { links, quorum: 'none' })
    expect(report.leaders).toEqual([1, 3])
    expect(broken(report)).toEqual([])
  })

  it('quorum dynamic: the smaller side stays in the old view, but is not in quorum', () => {
    const report = run(5, halves, {}, { links })
    expect(views(report)).toEqual([ids(5), ids(5), [3, 4, 5], [3, 4, 5], [3, 4, 5]])
    expect(quorate(report)).toEqual([false, false, true, true, true])
    expect(broken(report)).toEqual([])
  })

  it('dynamic voting follows the last view; a static majority does not', () => {
    const shrinking = [...halves, { atMs: 10_000, cut: away(5, 5) }]
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

  it('what a node proposed while it lost one link after another holds nobody up later', () => {
    const report = run(
      6,
      [
        { atMs: 5000, cut: away(1, 6) },
        { atMs: 10_000, crash: 4 },
        { atMs: 15_000, heal: 'all' },
        { atMs: 20_000, crash: 6 },
      ],
      // Runs in which 1 proposed, at last, a view of itself and 4.
      { seed: links === 'reported' ? 450 : 7, checkpointsMs: [19_900] },
      { links },
    )
    expect(report.checkpoints['19900']?.groups).toEqual([[1, 2, 3, 5, 6]])
    expect(report.groups).toEqual([[1, 2, 3, 5]])
    expect(broken(report)).toEqual([])
  })

  it('afterwards the lower view dies and joins the higher', () => {
    const report = run(5, [...halves, { atMs: 10_000, heal: 'all' }], {}, { links })
    expect(report.groups).toEqual([[1, 2, 3, 4, 5]])
    expect(lives(report)).toEqual([2, 2, 1, 1, 1])
    expect(broken(report)).toEqual([])
  })
})

describe('nodes that are new, and groups that begin', () => {
  it('a brand-new node is taken in', () => {
    const report = run(4, [], { initial: { leader: 1, members: [1, 2, 3] } })
    expect(report.groups).toEqual([[1, 2, 3, 4]])
    expect(report.leaders).toEqual([1])
    expect(lives(report)).toEqual([1, 1, 1, 1])
  })

  it('all begin: a majority is enough with reinit quorum, all are needed with reinit all, never is never', () => {
    const begin = (reinit: string): Report =>
      run(3, [{ atMs: 0, crash: 3 }], { initial: null }, { reinit, quorum: 'dynamic' })
    expect(begin('quorum').groups).toEqual([[1, 2]])
    expect(begin('all').groups).toEqual([])
    expect(begin('never').groups).toEqual([])
    expect(run(3, [], { initial: null }, { reinit: 'all' }).groups).toEqual([[1, 2, 3]])
  })

  it('whoever was smallest is only a member when it comes back, and leads again at the next change', () => {
    const events = [
      { atMs: 5000, crash: 1 },
      { atMs: 10_000, recover: 1 },
      { atMs: 15_000, crash: 4 },
    ]
    const report = run(4, events, { checkpointsMs: [14_900] })
    expect(report.checkpoints['14900']?.leaders).toEqual([2])
    expect(report.leaders).toEqual([1])
  })

  it('weights decide before ids', () => {
    const report = run(4, [{ atMs: 5000, crash: 1 }], {}, { weights: { '2': 3, '3': 1, '4': 2 } })
    expect(report.leaders).toEqual([3])
  })
})

describe('outsiders that are linked with only some of the members', () => {
  /** 4 has failed; 5, dead, is linked with 1 alone; 3 fails. */
  const events = [
    { atMs: 5000, cut: away(5, 5) },
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

  it('hold up the removal of a member', () => {
    expect(views(run(5, events)).slice(0, 2)).toEqual([
      [1, 2, 3, 4],
      [1, 2, 3, 4],
    ])
  })

  it('do not with filter', () => {
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
  it('of s nodes: s-1 each of cand, accept, attempt, attempted, and s(s-1) status, when one failure is seen by all', () => {
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

/** What outside attacks found, each with the verdict of the specification that was missing. */
describe('what applications are told', () => {
  const acting = ({ leaderships }: Report): readonly unknown[] =>
    leaderships.filter(({ ended }) => ended === null).map(({ node }) => node)
  const parted = (one: readonly number[], other: readonly number[], atMs = 2000): PlainObject => ({
    atMs,
    partition: [one, other],
  })

  it.each([{}, { tie: true }, { filter: true }, { reinit: 'all' }, { reinit: 'never' }])(
    'dynamic, %j: a node whose attempt may have been installed elsewhere does not support the old view',
    (options) => {
      // 3 installs a view of 3, 4, 5; 5 never hears of it, and comes back to 1 and 2.
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
              parted([1, 2], [3, 4, 5]),
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

  it('static: more than half of all nodes must answer, not of the view', () => {
    const links = [
      [1, 2],
      [3, 4],
      [3, 5],
      [4, 5],
    ]
    const report = run(
      5,
      [parted([1, 2, 3], [4, 5]), { atMs: 5000, links }],
      { seed: 1 },
      { quorum: 'static' },
    )
    expect(broken(report)).toEqual([])
    expect(acting(report)).toEqual([3])
    // 1 still leads its view, and says that this is nothing.
    expect(report.nodes['1']).toMatchObject({ role: 'leader', inQuorum: false })
    expect(report.leaders).toEqual([3])
  })

  it.each(BOTH)('kills only, links %s: a proposal without a quorum holds nobody up later', (links) => {
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

  it.each(BOTH)('halves that both proposed in vain, links %s: three of four lead', (links) => {
    const report = run(
      4,
      [parted([1, 2], [3, 4]), { atMs: 5000, crash: 3 }, { atMs: 8000, heal: 'all' }],
      {},
      { links },
    )
    expect(broken(report)).toEqual([])
    expect(report.groups).toEqual([[1, 2, 4]])
    expect(acting(report)).toEqual([1])
  })

  it('nobody is called a leader whose application would not lead', () => {
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

  it('attempts stay few, however often a peer of a minority restarts', () => {
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
      events: [parted([1, 2], [3, 4, 5]), ...events, { atMs: 30_000, heal: 'all' }],
      untilMs: 40_000,
    }
    const report = simulate(scenario, { strict: true, observe })
    expect(report.groups).toEqual([ids(5)])
    expect(most.attempts).toBeLessThanOrEqual(5)
  })
})
