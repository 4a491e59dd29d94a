/** Why a lease was not renewed in time, from what the node has measured since the last renewal. */
import type { Micros, NodeId } from '../../core/index.ts'
import type { Assumed } from '../../protocols/index.ts'
import { type Address, showAddress } from './directory.ts'
import type { CauseKind } from './measured.ts'
import type { WhyLate } from './thread-times.ts'

/** This node acted late. */
export type LateEpisode = { readonly by: Micros; readonly at: Micros; readonly why: WhyLate }
/** A message took longer than assumed. */
export type SlowEpisode = {
  readonly by: Micros
  readonly at: Micros
  readonly from: NodeId | null
  /** Whether this thread waited for a CPU meanwhile, so that the message was read late. */
  readonly isStarved: boolean
}

export type Evidence = {
  readonly now: Micros
  /** Since the last renewal. */
  readonly late: LateEpisode | null
  readonly slow: SlowEpisode | null
  /** The voters that were not heard since the last renewal, and whether the others are no majority. */
  readonly silent: readonly NodeId[]
  readonly isMinority: boolean
  /** For how long none of these voters was heard; null if none ever was. */
  readonly silentFor: Micros | null
  /** Another node that was late lately, by its own report. */
  readonly latePeer: { readonly id: NodeId; readonly by: Micros } | null
}

export type Explanation = {
  readonly kind: CauseKind
  /** One sentence about `this node`. */
  readonly detail: string
  /** The node that caused it, if it is another one. */
  readonly node: NodeId | null
}

/** A stop is called a pause from this length on. */
const LEAST_PAUSE: Micros = 100_000

export function explainExpiry(evidence: Evidence, assumed: Assumed): Explanation {
  const { sigma, delta, names } = assumed
  const { late, slow, silent, isMinority, silentFor, latePeer } = evidence
  if (late !== null) return explainLate(late, assumed)
  if (isMinority) {
    const length = silentFor === null ? '' : ` for ${showMs(silentFor)}`
    return {
      kind: 'partitioned',
      detail: `this node heard nothing from ${listIds(silent)}${length}, and the others are no majority`,
      node: null,
    }
  }
  if (slow !== null) {
    const from = slow.from === null ? '' : ` from ${slow.from}`
    return {
      kind: 'slow-messages',
      detail: `messages were slower than ${names.delta}: ${showMs(slow.by)}${from} (${showLimit(names.delta, delta)})`,
      node: null,
    }
  }
  if (latePeer !== null) {
    const detail = `${latePeer.id} was late by ${showMs(latePeer.by)} (${showLimit(names.sigma, sigma)})`
    return { kind: 'late', detail, node: latePeer.id }
  }
  return { kind: 'unknown', detail: 'a majority did not answer in time', node: null }
}

/** The same where nodes share a store: no other node answers a renewal. */
export function explainStoreExpiry(
  evidence: Pick<Evidence, 'now' | 'late' | 'slow'>,
  assumed: Assumed,
): Explanation {
  const silence = { silent: [], isMinority: false, silentFor: null, latePeer: null }
  const why = explainExpiry({ ...evidence, ...silence }, assumed)
  return why.kind === 'unknown' ? { ...why, detail: 'the store did not accept a renewal in time' } : why
}

/** The process was stopped on purpose, as opposed to late. */
export function isPause({ by, why }: Pick<LateEpisode, 'by' | 'why'>): boolean {
  return why === 'stopped' && by >= LEAST_PAUSE
}

function explainLate({ by, why }: LateEpisode, { sigma, names }: Assumed): Explanation {
  if (isPause({ by, why }))
    return { kind: 'paused', detail: `this node was stopped for ${showMs(by)}`, node: null }
  return {
    kind: 'late',
    detail: `this node was late by ${showMs(by)} (${showLimit(names.sigma, sigma)})`,
    node: null,
  }
}

/** Whole milliseconds, from 10 ms on; seconds from 10 s on. */
export function showMs(micros: Micros): string {
  if (micros >= 10_000_000) return `${(micros / 1_000_000).toFixed(1)} s`
  return micros >= 10_000 ? `${Math.round(micros / 1000)} ms` : `${Math.round(micros / 100) / 10} ms`
}

/** An assumption: a setting as a user would write it, such as `sigmaMs is 30`, and others with their unit. */
export function showLimit(name: string, micros: Micros): string {
  return `${name} is ${name.endsWith('Ms') ? micros / 1000 : showMs(micros)}`
}

export function listIds(ids: readonly NodeId[]): string {
  if (ids.length < 2) return ids.join('')
  return `${ids.slice(0, -1).join(', ')} and ${ids.at(-1)}`
}

export function unresolved(id: NodeId | null, address: Address, problem: string): string {
  return `${id ?? 'a peer'} at ${showAddress(address)} cannot be resolved: ${problem}`
}
