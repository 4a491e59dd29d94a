/** What a leader or candidate with adaptive timing knows of the voters from their answers. */
import type { Micros } from '../../core/index.ts'
import type { Context } from './context.ts'
import type { VoterEvidence, VoterGrants } from './evidence.ts'
import { type Measurements, NO_LOSS } from './messages.ts'
import type { Pace } from './pace.ts'
import type { LocalLeaderState } from './state.ts'
import { votersOf } from './voters.ts'

/** A voter is not down because some of its answers got lost: the losses are counted already. */
const ANSWERS_COUNT_FOR: Micros = 1_000_000

/** Of a voter whose first answer is still on its way. */
const NO_EVIDENCE: Measurements = { late: 0, delay: 0, loss: NO_LOSS }

export function createVoterReports({ self, placeOf, isGroupNode, timingIn }: Context) {
  /** How old the last answer of a voter may be. A voter that could have answered since counts as down. */
  const patienceOf = (state: LocalLeaderState): Micros => Math.max(timingIn(state).expires, ANSWERS_COUNT_FOR)

  /** Voters may not have answered yet in this term, or there is none. */
  function isEarlyTerm(state: LocalLeaderState, now: Micros): boolean {
    return state.term === null || now - state.term.since < patienceOf(state)
  }

  /** What is known of the voters. A voter that could have answered lately and has not counts as down. */
  function votersIn(state: LocalLeaderState, pace: Pace, now: Micros): readonly VoterEvidence[] {
    const patience = patienceOf(state)
    const isEarly = isEarlyTerm(state, now)
    return votersOf(state.vote.config).map((node) => {
      const peer = isGroupNode(node) ? (pace.peers[placeOf(node)] ?? null) : null
      const isFresh = peer !== null && peer.evidence !== null && now - peer.at < patience
      return { node, evidence: isFresh ? peer.evidence : isEarly ? NO_EVIDENCE : null }
    })
  }

  /** No voter reports lost requests. In a new term none knows of any yet. */
  function losesNothing(state: LocalLeaderState, pace: Pace, now: Micros): boolean {
    if (isEarlyTerm(state, now)) return false
    return votersIn(state, pace, now).every(
      ({ node, evidence }) => node === self || evidence === null || evidence.loss === NO_LOSS,
    )
  }

  /** What each voter grants, as far as this node knows. */
  function grantsIn(state: LocalLeaderState, pace: Pace, now: Micros): readonly VoterGrants[] {
    const patience = patienceOf(state)
    const { least: ownLeast, most: ownMost } = pace.bounds
    return votersOf(state.vote.config).map((node) => {
      if (node === self) return { node, grants: { least: ownLeast, most: ownMost, isRecent: true } }
      const peer = isGroupNode(node) ? (pace.peers[placeOf(node)] ?? null) : null
      if (peer === null || peer.evidence === null) return { node, grants: null }
      const { least, most } = peer.evidence
      return { node, grants: { least, most, isRecent: now - peer.at < patience } }
    })
  }

  return { votersIn, grantsIn, losesNothing }
}
