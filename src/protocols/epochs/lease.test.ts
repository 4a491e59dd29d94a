/** The lease of epochs under clock drift, very late operations and crashes. EPOCHS_RUNS: simulated minutes (npm run soak: 400). */
import { expect, it } from 'vitest'
import { leaseRuns } from '../../../test/support/leases.ts'

const runs = Number(process.env['EPOCHS_RUNS'] ?? 8)
const LONG = 30 * 60_000

it('two nodes lead at once without the START rule', { timeout: LONG }, () => {
  const { elections, violated } = leaseRuns(Math.min(runs, 40), { misreading: 'no-start' })
  expect(elections).toBeGreaterThan(Math.min(runs, 40) * 250)
  expect(new Set(violated)).toContain('one-leader')
  // Still at most one leader per epoch: that needs no clock.
  expect(violated).not.toContain('one-leader-an-epoch')
})

it.each(['stamps', 'simple'])(
  'at most one node leads at a time with START by %s',
  { timeout: LONG },
  (start) => {
    const { elections, violated } = leaseRuns(runs, { start })
    expect(violated).toEqual([])
    expect(elections).toBeGreaterThan(runs * 250)
  },
)

it('catches a leader that releases its lease and continues to act', { timeout: LONG }, () => {
  const { violated } = leaseRuns(1, { misreading: 'early-release' }, true)
  expect(new Set(violated)).toContain('one-leader')
  expect(violated).not.toContain('one-leader-an-epoch')
})

it.each(['succession', 'oracle', 'none'])(
  'at most one node leads at a time while leaders release their leases all the time, turns by %s',
  { timeout: LONG },
  (turns) => {
    const few = Math.max(1, Math.floor(runs / 4))
    const { elections, violated } = leaseRuns(few, { turns }, true)
    expect(violated).toEqual([])
    expect(elections).toBeGreaterThan(few * 200)
  },
)
