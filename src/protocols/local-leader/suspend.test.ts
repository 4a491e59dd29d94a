/**
 * Hosts that sleep: their clocks stop, and earlier timestamps are void on both sides of a link.
 *
 * SLEEPS=N runs N random scenarios, as `npm run soak` does.
 */
import { describe, expect, it } from 'vitest'
import { violations } from '../../../test/support/local-leader.ts'
import { ids, simulate } from '../../../test/support/run.ts'
import { msOf, type PlainObject } from '../../core/index.ts'
import { Random } from '../../workbench/scenario/random.ts'
import { kappaOf } from './constants.ts'
import { timingFor } from './group.ts'
import { localLeaderOptions } from './options.ts'

const SLEEPS = Number(process.env['SLEEPS'] ?? 8)

describe('a node that slept', () => {
  it('takes part in elections again, even if timestamps stay usable for long (Δ 50 ms)', () => {
    const report = simulate({
      protocol: 'local-leader',
      nodes: ids(3),
      options: { fastMs: 50 },
      network: { delayMs: 1 },
      events: [
        { atMs: 1000, suspend: 1, forMs: 30 },
        { atMs: 2000, suspend: 2, forMs: 20 },
        { atMs: 3000, suspend: 3, forMs: 10 },
      ],
      untilMs: 6000,
    })
    expect(violations(report)).toEqual([])
    expect(report.leaders).toEqual([1])
  })

  it('merges with its peer again in local mode (Δ 11 ms)', () => {
    const report = simulate({
      protocol: 'local-leader',
      nodes: ids(2),
      options: { mode: 'local', fastMs: 11 },
      network: { delayMs: 1 },
      events: [{ atMs: 1000, suspend: 1, forMs: 100 }],
      untilMs: 4000,
    })
    expect(violations(report)).toEqual([])
    expect(report.leaderships.filter(({ node }) => node === 2)).toEqual([])
  })
})

/** Up to six sleeps of any length on any nodes, in both modes, with Δ from its minimum to a second. */
function sleepy(seed: number): PlainObject {
  const random = new Random(seed)
  const nodes = ids(random.integer(2, 7))
  const events = Array.from({ length: random.integer(1, 6) }, () => ({
    atMs: random.integer(500, 4500),
    suspend: random.integer(1, nodes.length),
    forMs: Math.max(0.001, Math.round(10 ** (4 * random.fraction() - 0.5) * 1000) / 1000),
  }))
  const options = {
    mode: random.chance(0.5) ? 'local' : 'majority',
    fastMs: Math.round((9.1 + 10 ** (3 * random.fraction())) * 100) / 100,
  }
  const kappa = kappaOf(timingFor(localLeaderOptions(nodes).parse(options), nodes.length))
  return {
    protocol: 'local-leader',
    seed,
    nodes,
    options,
    network: { delayMs: [0.02, 5] },
    clocks: { driftPpm: 100, lateMs: random.integer(0, 10) },
    events: events.sort((a, b) => a.atMs - b.atMs),
    untilMs: 8000 + 2 * msOf(kappa),
  }
}

describe('random sleeps', () => {
  it('keep every promise, and in the end one node leads', { timeout: 0 }, () => {
    const failures = Array.from({ length: SLEEPS }, (_, index) => index + 1).flatMap((seed) => {
      const file = sleepy(seed)
      const report = simulate(file, { strict: false })
      const isFine = violations(report).length === 0 && report.leaders.length === 1
      return isFine ? [] : [{ file, leaders: report.leaders, violations: violations(report) }]
    })
    expect(failures).toEqual([])
  })
})
