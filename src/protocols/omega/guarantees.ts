/**
 * What a configuration of Omega+ promises, computed from its times: messages take no longer than δ and timers fire no
 * later than σ. README.md of this folder names the messages that are counted.
 *
 * A process that dies just after a ping is missed when the next is alphaMs overdue: pingMs + alphaMs, by an estimate that
 * strays by up to δ + σ, and a timer up to σ late. The longest silence that is borne bounds that whatever was learnt.
 * Then three messages follow one another (cand, accept, status) until the last has the view, and another (status back)
 * until its leader knows itself in quorum. With dynamic voting two more come before the view (attempt, attempted).
 */
import type { HistoryOptions } from '../../links/index.ts'
import type { OmegaSettings } from './settings.ts'

export type OmegaGuarantees = {
  /**
   * After a process has died: when all others have seen it, when all have promised the next view, when all have it, and
   * when its leader acts.
   */
  readonly detectedMs: Figure
  readonly promisedMs: Figure
  readonly installedMs: Figure
  readonly actingMs: Figure
  readonly datagramsPerSecondPerPair: number
  /** How many nodes may fail at once, from a view of all nodes, and how many one after another. */
  readonly atOnce: number
  readonly inTurn: number
}

export type Figure = { readonly typical: number; readonly worst: number }

export type Assumed = { readonly deltaMs: number; readonly deltaMinMs: number; readonly sigmaMs: number }

export function omegaGuarantees(
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
  const after = (hops: number): Figure => ({ typical: typical + hops * mean, worst: worst + hops * deltaMs })
  const recording = quorum === 'dynamic' ? 2 : 0
  return {
    detectedMs: after(0),
    promisedMs: after(1),
    installedMs: after(3 + recording),
    actingMs: after(4 + recording),
    datagramsPerSecondPerPair: 2000 / pingMs,
    ...tolerated(nodes, quorum),
  }
}

/** A view has two members at least. One after another, each view needs a majority of the one before: two of three are. */
function tolerated(
  nodes: number,
  quorum: OmegaSettings['quorum'],
): { readonly atOnce: number; readonly inTurn: number } {
  const minority = Math.floor((nodes - 1) / 2)
  if (quorum === 'none') return { atOnce: nodes - 2, inTurn: nodes - 2 }
  return { atOnce: minority, inTurn: quorum === 'static' ? minority : Math.max(0, nodes - 2) }
}
