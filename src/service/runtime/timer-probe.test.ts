import { expect, it } from 'vitest'
import { probeTimers } from './timer-probe.ts'

/** A host whose timers fire in steps, some later than others. */
function host(stepMs: number, extraMs: readonly number[]) {
  let now = 7_000_300
  let calls = 0
  return {
    now: () => now,
    async sleep(ms: number) {
      const step = stepMs * 1000
      const extra = (extraMs[calls % extraMs.length] ?? 0) * 1000
      calls += 1
      now = Math.ceil((now + ms * 1000) / step) * step + extra
    },
  }
}

it.each([
  ['fine timers', 1, [0], 1000],
  ['fine timers of a busy host', 1, [12, 0.2, 40, 3, 9], 1200],
  ['timers with steps of 15.6 ms', 15.6, [0], 14_600],
])('finds the least lateness of %s', async (_what, stepMs, extraMs, least) => {
  expect(await probeTimers(host(stepMs, extraMs))).toBe(least)
})

it('measures this host', async () => {
  const lateness = await probeTimers()
  expect(lateness).toBeGreaterThanOrEqual(0)
  expect(Number.isFinite(lateness)).toBe(true)
})
