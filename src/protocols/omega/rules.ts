/** Rules that each prevent a known failure. Tests replace single rules to show which failure that is. */
import type { Knowledge } from './quorum.ts'
import type { OmegaView } from './state.ts'
import { isNewer, withAttempt } from './views.ts'

export type OmegaRules = {
  /** The life of a node after it restarted, or after its life ended. */
  nextLife(life: number): number
  /** Whether a living node dies when a newer view of a living peer leaves it out. */
  diesWhenLeftOut(): boolean
  /** Whether an accepted candidacy counts as an attempt at once, before it has a quorum. */
  recordsOnAccept(): boolean
  /** The open attempts after one more. */
  recordAttempt(attempts: readonly OmegaView[], view: OmegaView): readonly OmegaView[]
  /** Whether a peer in this view supports it, given what the peer has recorded. */
  isLoyal(peer: Knowledge, view: OmegaView): boolean
  /** With a static majority: the number of nodes of which more than half must answer. */
  staticElectorate(nodes: number, members: number): number
}

export const RULES: OmegaRules = {
  nextLife: (life) => life + 1,
  diesWhenLeftOut: () => true,
  recordsOnAccept: () => false,
  recordAttempt: withAttempt,
  isLoyal: ({ formed, attempts }, view) =>
    attempts.every(({ id }) => id[1] === view.id[1] && isNewer(id, formed.id)),
  staticElectorate: (nodes) => nodes,
}
