/** What the renewals of a leader with adaptive timing leave of its lease, when they are tried again, and what followers learn. */
import { describe, expect, it } from 'vitest'
import { ids, simulate } from '../../../test/support/run.ts'
import { sized } from '../../../test/support/sizes.ts'
import { type NodeId, type PlainObject, present } from '../../core/index.ts'
import type { Report } from '../../workbench/sim/index.ts'
import type { TraceRecord } from '../../workbench/trace/index.ts'
import { adaptiveTimingOf } from './adaptive.ts'
import { marginOf } from './constants.ts'
import { localLeaderHosting } from './hosting.ts'
import { localLeaderOptions } from './options.ts'

const adaptive = present(
  adaptiveTimingOf(localLeaderOptions(ids(3)).parse({ timing: 'adaptive' }), 3),
  'levels',
)
const shortest = adaptive.timingAt(adaptive.bounds.least)

type Happened = { readonly atMs: number; readonly node: NodeId }
type Run = {
  readonly report: Report
  readonly terms: number
  /** The renewals of all terms: when, and what was left of the lease. */
  readonly renewals: readonly { readonly atMs: number; readonly leftMs: number }[]
  /** When a follower knew no leader, after the first one. */
  readonly leaderless: readonly Happened[]
  /** When a node did not know the members of its group. */
  readonly memberless: readonly Happened[]
}

function run(file: PlainObject): Run {
  const renewals: { atMs: number; leftMs: number }[] = []
  const leaderless: Happened[] = []
  const memberless: Happened[] = []
  const known = new Set<NodeId>()
  let terms = 0
  let last: { readonly node: NodeId; readonly until: number } | null = null
  const world = { options: { timing: 'adaptive' }, network: { delayMs: [0.05, 0.4] } }
  const report = simulate(
    { protocol: 'local-leader', nodes: ids(3), ...world, ...file },
    {
      strict: false,
      observe(seen) {
        if (seen.type === 'output' && seen.event.type === 'elected') terms += 1
        if (seen.type !== 'view') return
        const { at, node, view, until } = seen
        const happened = { atMs: at / 1000, node }
        if (view.leader !== null) known.add(node)
        else if (known.has(node)) leaderless.push(happened)
        if (view.members === null) memberless.push(happened)
        if (view.role !== 'leader' || until === null) return
        if (last?.node === node && until > last.until)
          renewals.push({ atMs: at / 1000, leftMs: (last.until - at) / 1000 })
        last = { node, until }
      },
    },
  )
  expect(report.specs.filter(({ verdict }) => verdict === 'violated')).toEqual([])
  return { report, terms, renewals, leaderless, memberless }
}

describe('the renewals of the shortest leases', () => {
  it.each([
    [0, [0.05, 0.4]],
    [2, [0.05, 0.4]],
    [4, [0.1, 1]],
    [5, [0.5, 2.5]],
  ])('with timers up to %d ms late leave the margin that is promised', (lateMs, delayMs) => {
    for (let seed = 1; seed <= sized(3, 30); seed++) {
      const clocks = { lateMs: [0, lateMs] }
      const { renewals } = run({ seed, clocks, network: { delayMs }, untilMs: 40_000 })
      const late = renewals.filter(({ atMs }) => atMs > 10_000)
      expect(late.length).toBeGreaterThan(500)
      expect(Math.min(...late.map(({ leftMs }) => leftMs))).toBeGreaterThanOrEqual(marginOf(shortest) / 1000)
    }
  })

  it('leave the margin that their bounds promise, also where these leave one level and rounds take long', () => {
    const options = { timing: 'adaptive', leaseMinMs: 60, leaseMaxMs: 76 }
    const { renewals, terms } = run({ options, network: { delayMs: [8, 9.5] }, untilMs: 30_000 })
    expect(terms).toBe(1)
    const { margin } = localLeaderHosting.leaseLength(localLeaderOptions(ids(3)).parse(options), ids(3))
    const late = renewals.filter(({ atMs }) => atMs > 10_000)
    expect(Math.min(...late.map(({ leftMs }) => leftMs))).toBeGreaterThanOrEqual(margin / 1000)
  })

  it.each([
    ['one follower', [3]],
    ['both followers', [2, 3]],
  ])('keep the term and its followers when a request to %s gets lost', (_who, followers) => {
    for (let atMs = 20_000; atMs < 20_030; atMs += sized(3, 1)) {
      const lose = followers.map((to) => ({ from: 1, to, kind: 'Election', drop: true }))
      const { terms, leaderless, report } = run({
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
    }
  })

  it.each(['fast', 'lan', 'region', 'wan'])(
    'come often enough for all nodes to know the members all the time: %s',
    (profile) => {
      const { memberless, terms } = run({
        options: { timing: 'adaptive', profile },
        clocks: { lateMs: [0, 1] },
        untilMs: 40_000,
      })
      expect(terms).toBe(1)
      expect(memberless.filter(({ atMs }) => atMs > 20_000)).toEqual([])
    },
  )
})

describe('a renewal that no majority has answered', () => {
  const FROM = 10_000_000

  /** The times between the requests of node 1, in milliseconds, from ten seconds on. */
  function pausesIn(file: PlainObject): readonly number[] {
    const sent: number[] = []
    const record = (happened: TraceRecord): void => {
      if (happened.type !== 'step' || happened.node !== 1 || happened.at < FROM) return
      const asks = happened.effects.some(
        (effect) =>
          effect.type === 'send' &&
          (effect.body as { readonly body?: { readonly kind: string } | null }).body?.kind === 'Election',
      )
      if (asks) sent.push(happened.at / 1000)
    }
    const world = { options: { timing: 'adaptive' }, network: { delayMs: [0.05, 0.4] } }
    simulate(
      { protocol: 'local-leader', nodes: ids(3), ...world, untilMs: 12_000, ...file },
      { strict: false, record },
    )
    return sent.slice(1).map((at, index) => at - (sent[index] as number))
  }

  const period = shortest.renewalPeriod / 1000
  const collection = shortest.collection / 1000

  it('waits for late answers: the lease survives when all answers become slower at once', () => {
    for (let seed = 1; seed <= sized(3, 30); seed++) {
      const events = [{ atMs: 11_000 + seed, rules: [{ kind: 'Reply', delayMs: collection + 3 }] }]
      expect(run({ seed, events, untilMs: 14_000 }).terms).toBe(1)
    }
  })

  it('is tried again later than fast answers would come, but before the next one is due', () => {
    const events = [
      { atMs: 11_000, rules: [{ kind: 'Reply', drop: true }] },
      { atMs: 11_020, rules: [] },
    ]
    const pauses = pausesIn({ events })
    expect(Math.min(...pauses)).toBeGreaterThan(collection + 2)
    expect(Math.min(...pauses)).toBeLessThan(period)
    expect(run({ events, untilMs: 12_000 }).terms).toBe(1)
  })

  it.each([
    [0, 12],
    [3, 10],
    [6, 8],
    [6, 10],
  ])('leaves time for another try: timers up to %d ms late, answers after %d ms', (lateMs, afterMs) => {
    const answers = { kind: 'Reply', delayMs: afterMs }
    for (let seed = 1; seed <= sized(5, 40); seed++) {
      const atMs = 11_000 + seed
      const { terms } = run({
        seed,
        clocks: { lateMs: [lateMs, lateMs] },
        events: [
          { atMs, rules: [{ kind: 'Election', drop: true }] },
          { atMs: atMs + collection, rules: [answers] },
        ],
        untilMs: 12_000,
      })
      expect(terms).toBe(1)
    }
  })

  it('is tried again as soon as fast answers would have come, where requests get lost', () => {
    const rules = [{ from: 1, kind: 'Election', loss: 0.3 }]
    // Leases are longer then, and so are rounds.
    const pauses = pausesIn({ network: { delayMs: [0.05, 0.4], rules }, untilMs: 40_000 })
    const soon = pauses.filter((ms) => ms < (3 / 4) * Math.max(...pauses))
    expect(soon.length).toBeGreaterThan(2)
  })

  it('is tried again as soon after a voter has refused it', () => {
    const change = (node: number) => ({
      atMs: 11_000,
      command: { node, do: 'setLeaseBounds', leaseMinMs: 200, leaseMaxMs: 5000 },
    })
    const pauses = pausesIn({ events: [change(2), change(3)], untilMs: 11_100 })
    expect(Math.min(...pauses)).toBeLessThan(collection + 2)
  })
})
