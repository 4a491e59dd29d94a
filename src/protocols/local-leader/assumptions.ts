/** σ and δ of a running group, and the options that tolerate more. */
import { microsOf, type NodeId, type PlainObject } from '../../core/index.ts'
import { proposedMs, type TimingAssumptions } from '../hosting.ts'
import { brokenBounds, type Given } from './constants.ts'
import { givenBy, type LocalLeaderOptions, votersIn } from './options.ts'

function givenIn(options: PlainObject, nodes: readonly NodeId[]): Given {
  const chosen = options as unknown as LocalLeaderOptions
  return givenBy(chosen, votersIn(chosen, nodes).length)
}

export const localLeaderAssumptions: TimingAssumptions = {
  assumed(options, nodes) {
    const { lateness, delay } = givenIn(options, nodes)
    return { sigma: lateness, delta: delay, names: { sigma: 'sigmaMs', delta: 'deltaMs' } }
  },
  remedy(options, nodes, { sigma, delta }) {
    const sigmaMs = sigma === undefined ? {} : { sigmaMs: proposedMs(sigma) }
    if (delta === undefined) return sigmaMs
    const deltaMs = proposedMs(delta)
    // Δ must leave room for a round trip of timely messages.
    const given = { ...givenIn(options, nodes), delay: microsOf(deltaMs) }
    const bound = brokenBounds(given).findLast(({ option }) => option === 'fastMs')
    const fastMs = bound === undefined ? {} : { fastMs: Math.ceil(bound.nearest * 10) / 10 }
    return { ...sigmaMs, deltaMs, ...fastMs }
  },
}
