/** When a leader with adaptive timing renews: later where tries are quick, and with the same margin. */
import { describe, expect, it } from 'vitest'
import { ids, simulate } from '../../../test/support/run.ts'
import { sized } from '../../../test/support/sizes.ts'
import { type NodeId, type PlainObject, present } from '../../core/index.ts'
import type { Report } from '../../workbench/sim/index.ts'
import { adaptiveTimingOf } from './adaptive.ts'
import { marginOf } from './constants.ts'
import { localLeaderOptions } from './options.ts'

const adaptive = present(
  adaptiveTimingOf(localLeaderOptions(ids(3)).parse({ timing: 'adaptive' }), 3),
  'levels',
)
const shortest = adaptive.timingAt(adaptive.bounds.least)

type Renewal = { readonly atMs: number; readonly leftMs: number }
type Run = {
  readonly report: Report
  readonly terms: number
  /** The renewals of all terms: when, and what was left of the lease. */
  readonly renewals: readonly Renewal[]
  /** When a follower knew no leader, after the first one. */
  readonly leaderless: readonly { readonly atMs: number; readonly node: NodeId }[]
}

function run(file: PlainObject): Run {
  const renewals: Renewal[] = []
  const leaderless: { atMs: number; node: NodeId }[] = []
  const known = new Set<NodeId>()
  let terms = 0
  let last: { readonly node: NodeId; readonly until: number } | null = null
  const report = simulate(
    {
      protocol: 'local-leader',
      nodes: ids(3),
      options: { timing: 'adaptive' },
      network: { delayMs: [0.05, 0.4] },
      ...file,
    },
    {
      strict: false,
      observe(seen) {
        if (seen.type === 'output' && seen.event.type === 'elected') terms += 1
        if (seen.type !== 'view') return
        const { at, node, view, until } = seen
        if (view.leader !== null) known.add(node)
        else if (known.has(node)) leaderless.push({ atMs: at / 1000, node })
        if (view.role !== 'leader' || until === null) return
        if (last?.node === node && until > last.until)
          renewals.push({ atMs: at / 1000, leftMs: (last.until - at) / 1000 })
        last = { node, until }
      },
    },
  )
  expect(report.specs.filter(({ verdict }) => verdict === 'violated')).toEqual([])
  return { report, terms, renewals, leaderless }
}

const perSecond = (renewals: readonly Renewal[], fromMs: number, untilMs: number): number =>
  renewals.filter(({ atMs }) => atMs >= fromMs && atMs < untilMs).length / ((untilMs - fromMs) / 1000)

/** As often as the constants of the shortest lease say. */
const NOMINAL = 1_000_000 / shortest.renewalPeriod

describe('the leader of a quiet group', () => {
  it('renews a fifth less often than its constants say', () => {
    const { renewals, terms } = run({ clocks: { lateMs: [0, 2] }, untilMs: 40_000 })
    expect(terms).toBe(1)
    expect(perSecond(renewals, 20_000, 40_000)).toBeLessThan(0.8 * NOMINAL)
  })

  it.each([
    [0, [0.05, 0.4]],
    [2, [0.05, 0.4]],
    [4, [0.1, 1]],
    [5, [0.5, 2.5]],
  ])(
    'with timers up to %d ms late has the margin of its lease left after each renewal',
    (lateMs, delayMs) => {
      for (let seed = 1; seed <= sized(3, 30); seed++) {
        const { renewals } = run({
          seed,
          clocks: { lateMs: [0, lateMs] },
          network: { delayMs },
          untilMs: 40_000,
        })
        const late = renewals.filter(({ atMs }) => atMs > 10_000)
        expect(late.length).toBeGreaterThan(500)
        expect(Math.min(...late.map(({ leftMs }) => leftMs))).toBeGreaterThanOrEqual(
          marginOf(shortest) / 1000,
        )
      }
    },
  )

  it('renews as early as its constants say soon after a timer was late', () => {
    const { renewals, terms } = run({
      clocks: { lateMs: [0, 1] },
      events: [{ atMs: 30_000, load: 'all', lateMs: [2, 3], forMs: 500 }],
      untilMs: 60_000,
    })
    expect(terms).toBe(1)
    expect(perSecond(renewals, 20_000, 30_000)).toBeLessThan(0.8 * NOMINAL)
    expect(perSecond(renewals, 31_000, 34_000)).toBeGreaterThan(0.95 * NOMINAL)
    expect(perSecond(renewals, 50_000, 60_000)).toBeLessThan(0.8 * NOMINAL)
  })

  it.each([
    ['one follower', [3]],
    ['both followers', [2, 3]],
  ])('keeps its term and its followers when a request to %s gets lost', (_who, followers) => {
    for (let atMs = 20_000; atMs < 20_040; atMs += sized(4, 1)) {
      const lose = followers.map((to) => ({ from: 1, to, kind: 'Election', drop: true }))
      const { renewals, terms, leaderless, report } = run({
        clocks: { lateMs: [0, 1] },
        // No longer than a try, so that one try is lost at most.
        events: [
          { atMs, rules: lose },
          { atMs: atMs + 12, rules: [] },
        ],
        untilMs: 21_000,
      })
      expect(terms).toBe(1)
      expect(report.leaders).toEqual([1])
      expect(leaderless).toEqual([])
      expect(perSecond(renewals, 18_000, 20_000)).toBeLessThan(0.8 * NOMINAL)
    }
  })
})
