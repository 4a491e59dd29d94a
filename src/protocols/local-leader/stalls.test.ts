/** With adaptive timing, a node that stood still once does not slow its group down for long. */
import { describe, expect, it } from 'vitest'
import { ids, simulate } from '../../../test/support/run.ts'
import { lockAt } from './levels.ts'

type Happened = { readonly atMs: number; readonly type: string; readonly level: number }

function run(file: object): readonly Happened[] {
  const happened: Happened[] = []
  const world = { network: { delayMs: [0.05, 0.5] }, clocks: { driftPpm: 50 } }
  const options = { timing: 'adaptive', sticky: true }
  const { specs } = simulate(
    { protocol: 'local-leader', nodes: ids(3), ...world, options, ...file },
    {
      observe(seen) {
        if (seen.type !== 'output') return
        const { type, level = null } = seen.event
        happened.push({ atMs: seen.at / 1000, type, level: Number(level) })
      },
    },
  )
  expect(specs.filter(({ verdict }) => verdict === 'violated')).toEqual([])
  return happened
}

describe('a follower that was paused for two seconds', () => {
  it.each([1000, 5000, 40_000])('does not delay the failover %i ms later', (afterMs) => {
    const crashMs = 17_000 + afterMs
    const events = [
      { atMs: 15_000, pause: 3, forMs: 2000 },
      { atMs: crashMs, crash: 1 },
    ]
    const next = run({ events, untilMs: crashMs + 10_000 }).find(
      ({ atMs, type }) => type === 'elected' && atMs > crashMs,
    )
    // With leases of 61 ms.
    expect((next?.atMs ?? Number.POSITIVE_INFINITY) - crashMs).toBeLessThan(200)
  })
})

describe('a group whose followers were all paused for two seconds', () => {
  it('does not wait for its former leases when all nodes restart minutes later', () => {
    const crashMs = 400_000
    const events = [
      { atMs: 15_000, pause: 2, forMs: 2000 },
      { atMs: 15_000, pause: 3, forMs: 2000 },
      ...ids(3).map((crash) => ({ atMs: crashMs, crash })),
      ...ids(3).map((recover) => ({ atMs: crashMs + 50, recover })),
    ]
    const next = run({ events, untilMs: crashMs + 10_000 }).find(
      ({ atMs, type }) => type === 'elected' && atMs > crashMs,
    )
    expect((next?.atMs ?? Number.POSITIVE_INFINITY) - crashMs).toBeLessThan(1000)
  }, 60_000)

  it('has its shortest leases again within a minute', () => {
    const events = [
      { atMs: 15_000, pause: 2, forMs: 2000 },
      { atMs: 15_000, pause: 3, forMs: 2000 },
    ]
    const levels = run({ events, untilMs: 80_000 }).filter(({ type }) => type === 'level')
    expect(lockAt(Math.max(...levels.map(({ level }) => level)))).toBeGreaterThan(4_000_000)
    expect(lockAt(levels.at(-1)?.level ?? 0)).toBeLessThan(62_000)
    expect(levels.at(-1)?.atMs).toBeLessThan(77_000)
  })
})
