/** The lease of epochs under drift, very late operations and crashes. EPOCHS_RUNS: how many minutes (npm run soak: 400). */
import { expect, it } from 'vitest'
import { leaseRuns } from '../../../test/support/leases.ts'

const runs = Number(process.env['EPOCHS_RUNS'] ?? 8)
const LONG = 30 * 60_000

it('without the START rule two lead at once', { timeout: LONG }, () => {
  const { elections, violated } = leaseRuns(Math.min(runs, 40), { misreading: 'no-start' })
  expect(elections).toBeGreaterThan(Math.min(runs, 40) * 250)
  expect(new Set(violated)).toContain('one-leader')
  // At most one an epoch all the same: that needs no clock.
  expect(violated).not.toContain('one-leader-an-epoch')
})

it.each(['stamps', 'simple'])('with START by %s nobody does', { timeout: LONG }, (start) => {
  const { elections, violated } = leaseRuns(runs, { start })
  expect(violated).toEqual([])
  expect(elections).toBeGreaterThan(runs * 250)
})

it('a leader that gives its lease up and acts on is found out', { timeout: LONG }, () => {
  const { violated } = leaseRuns(1, { misreading: 'early-release' }, true)
  expect(new Set(violated)).toContain('one-leader')
  expect(violated).not.toContain('one-leader-an-epoch')
})

it.each(['succession', 'oracle', 'none'])(
  'leaders that give it up all the time, turns by %s: nobody leads beside another',
  { timeout: LONG },
  (turns) => {
    const few = Math.max(1, Math.floor(runs / 4))
    const { elections, violated } = leaseRuns(few, { turns }, true)
    expect(violated).toEqual([])
    expect(elections).toBeGreaterThan(few * 200)
  },
)
