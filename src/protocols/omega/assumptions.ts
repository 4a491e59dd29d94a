/** σ and δ that the link times of a running group allow for, and the times that tolerate more. */
import { microsOf, type PlainObject } from '../../core/index.ts'
import { proposedMs, type TimingAssumptions } from '../hosting.ts'
import { PROFILES } from '../local-leader/profiles.ts'
import type { OmegaOptions } from './group.ts'
import { jitterMs } from './profiles.ts'

/** The jitter that the times allow for, and δ of the slowest profile that has as much. */
function allowedMs(options: PlainObject): { readonly jitter: number; readonly delta: number } {
  const { detector, pingMs, alphaMs, timeoutMs } = options as unknown as OmegaOptions
  const jitter = detector === 'nfd-e' ? alphaMs - pingMs : timeoutMs - 2 * pingMs
  const slowest = (['wan', 'region'] as const).find((name) => jitterMs(name) <= jitter) ?? 'lan'
  return { jitter, delta: PROFILES[slowest].deltaMs }
}

export const omegaAssumptions: TimingAssumptions = {
  assumed(options) {
    const { jitter, delta } = allowedMs(options)
    const names = { sigma: 'σ', delta: 'δ' }
    return { sigma: microsOf(Math.max(0, jitter - delta) / 2), delta: microsOf(delta), names }
  },
  remedy(options, _nodes, { sigma, delta }) {
    const { detector, pingMs } = options as unknown as OmegaOptions
    const allowed = allowedMs(options)
    const deltaMs = delta === undefined ? allowed.delta : delta / 1000
    const sigmaMs = sigma === undefined ? (allowed.jitter - allowed.delta) / 2 : sigma / 1000
    const jitter = deltaMs + 2 * sigmaMs
    const alphaMs = proposedMs(microsOf(pingMs + jitter))
    if (detector !== 'nfd-e') return { timeoutMs: proposedMs(microsOf(2 * pingMs + jitter)) }
    return { alphaMs, timeoutMs: proposedMs(microsOf(pingMs + alphaMs + jitter)) }
  },
}
