/**
 * What the lease of a running group allows for: accesses that take r. A leader that is late by up to r still renews in
 * time, because a lease has room for three tries.
 */
import { microsOf, type PlainObject } from '../../core/index.ts'
import { proposedMs, type TimingAssumptions } from '../hosting.ts'
import { type EpochsOptions, timingInput } from './options.ts'
import { leastPeriod } from './timing.ts'

const inputOf = (options: PlainObject) => timingInput(options as unknown as EpochsOptions)

export const epochsAssumptions: TimingAssumptions = {
  assumed(options) {
    const { access } = inputOf(options)
    return { sigma: access, delta: access, names: { sigma: 'accessMs', delta: 'accessMs' } }
  },
  remedy(options, _nodes, { sigma = 0, delta = 0 }) {
    const { period, drift } = inputOf(options)
    const accessMs = proposedMs(Math.max(sigma, delta))
    const least = leastPeriod(microsOf(accessMs), drift)
    return { accessMs, ...(period < least ? { periodMs: proposedMs(least) } : {}) }
  },
}
