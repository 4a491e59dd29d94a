/**
 * What a configuration of Omega+ promises, computed from its timing. Assumes that messages arrive within δ and timers
 * fire at most σ late. README.md of this folder lists the messages that are counted.
 *
 * Detection: a node that dies just after a ping is suspected when its next ping is alphaMs overdue. That takes
 * pingMs + alphaMs, plus δ + σ for the error of the estimate, plus σ for a late timer. timeoutMs bounds it regardless of
 * the estimate. Agreement: three messages in sequence (cand, accept, status) until the last node has the view, and one
 * more (status) until the leader knows that it is in quorum. Dynamic voting adds two before the view (attempt, attempted).
 */
import type { HistoryOptions } from '../../links/index.ts'
import type { OmegaSettings } from './settings.ts'

export type OmegaGuarantees = {
  /**
   * Time after a node died until all others have detected it, have promised the next view, have installed it, and until
   * the leader of that view acts.
   */
  readonly detectedMs: Figure
  readonly promisedMs: Figure
  readonly installedMs: Figure
  readonly actingMs: Figure
  readonly datagramsPerSecondPerPair: number
  /** The number of nodes that may fail at once, starting from a view of all nodes, and one after another. */
  readonly atOnce: number
  readonly inTurn: number
}

export type Figure = { readonly typical: number; readonly worst: number }

export type Assumed = { readonly deltaMs: number; readonly deltaMinMs: number; readonly sigmaMs: number }

export function computeOmegaGuarantees(
  nodes: number,
  { quorum }: Pick<OmegaSettings, 'quorum'>,
  { pingMs, alphaMs, timeoutMs, detector }: HistoryOptions,
  { deltaMs, deltaMinMs, sigmaMs }: Assumed,
): OmegaGuarantees {
  const capped = timeoutMs + deltaMs + 2 * sigmaMs
  const worst = detector === 'nfd-e' ? Math.min(capped, pingMs + alphaMs + deltaMs + 2 * sigmaMs) : capped
  const mean = (deltaMs + deltaMinMs) / 2
  // On average a node dies half a period after its last ping.
  const typical = detector === 'nfd-e' ? pingMs / 2 + alphaMs + mean : timeoutMs - pingMs / 2 + mean
  const afterHops = (hops: number): Figure => ({
    typical: typical + hops * mean,
    worst: worst + hops * deltaMs,
  })
  const recording = quorum === 'dynamic' ? 2 : 0
  return {
    detectedMs: afterHops(0),
    promisedMs: afterHops(1),
    installedMs: afterHops(3 + recording),
    actingMs: afterHops(4 + recording),
    datagramsPerSecondPerPair: 2000 / pingMs,
    ...countToleratedFailures(nodes, quorum),
  }
}

/** A view has at least two members. Failures one after another: each view needs a majority of the previous view. */
function countToleratedFailures(
  nodes: number,
  quorum: OmegaSettings['quorum'],
): { readonly atOnce: number; readonly inTurn: number } {
  const minority = Math.floor((nodes - 1) / 2)
  if (quorum === 'none') return { atOnce: nodes - 2, inTurn: nodes - 2 }
  return { atOnce: minority, inTurn: quorum === 'static' ? minority : Math.max(0, nodes - 2) }
}
