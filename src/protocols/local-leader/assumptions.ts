/** σ and δ of a running group, and the options that tolerate more. */
import { microsOf, type NodeId, type PlainObject } from '../../core/index.ts'
import { proposedMs, type TimingAssumptions } from '../hosting.ts'
import { brokenBounds, type Given } from './constants.ts'
import { timingFor } from './group.ts'
import { LONGEST_LEASE_MS } from './lease-options.ts'
import { givenBy, type LocalLeaderOptions, votersIn } from './options.ts'

function givenIn(options: PlainObject, nodes: readonly NodeId[]): Given {
  const chosen = options as unknown as LocalLeaderOptions
  return givenBy(chosen, votersIn(chosen, nodes).length)
}

/** With adaptive timing a longer lease tolerates more: all times grow with it. Nothing where no lease is that long. */
function longerLease(chosen: LocalLeaderOptions, nodes: readonly NodeId[], sigma = 0, delta = 0) {
  const { lateness, delay, lockTime } = timingFor(chosen, nodes.length)
  const lock = lockTime * Math.max(1, sigma / lateness, delta / delay)
  return lock > microsOf(LONGEST_LEASE_MS) ? {} : { leaseMaxMs: Math.min(proposedMs(lock), LONGEST_LEASE_MS) }
}

export const localLeaderAssumptions: TimingAssumptions = {
  assumed(options, nodes) {
    const { lateness, delay } = timingFor(options as unknown as LocalLeaderOptions, nodes.length)
    const names =
      (options as unknown as LocalLeaderOptions).timing === 'adaptive'
        ? { sigma: 'σ of the longest lease', delta: 'δ of the longest lease' }
        : { sigma: 'sigmaMs', delta: 'deltaMs' }
    return { sigma: lateness, delta: delay, names }
  },
  remedy(options, nodes, { sigma, delta }) {
    const chosen = options as unknown as LocalLeaderOptions
    if (chosen.timing === 'adaptive') return longerLease(chosen, nodes, sigma, delta)
    const sigmaMs = sigma === undefined ? {} : { sigmaMs: proposedMs(sigma) }
    if (delta === undefined) return sigmaMs
    const deltaMs = proposedMs(delta)
    // Δ must leave room for a round trip of timely messages.
    const given = { ...givenIn(options, nodes), delay: microsOf(deltaMs) }
    const bound = brokenBounds(given).findLast(({ option }) => option === 'fastMs')
    const fastMs = bound === undefined ? {} : { fastMs: Math.ceil(bound.nearest * 10) / 10 }
    return { ...sigmaMs, deltaMs, ...fastMs }
  },
  noRemedy: `no leaseMaxMs would have held (it is at most ${LONGEST_LEASE_MS}); use faster hosts or a faster network`,
}
