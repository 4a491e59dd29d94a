/** Probes: before a node of better rank deposes a leader, it asks whether a majority hears it. */
import { type Micros, setTimer } from '../../core/index.ts'
import type { Beacons } from './beacon.ts'
import { type Context, type LocalLeaderStep, TIMER } from './context.ts'
import type { Beacon, Election, Request } from './messages.ts'
import { lockIn } from './pace.ts'
import { type Candidacy, changed, type LocalLeaderState, withEligibility } from './state.ts'
import { isVoter } from './voters.ts'

export type Probes = ReturnType<typeof createProbes>

export function createProbes({ self, timingIn }: Context, { broadcast }: Beacons) {
  /**
   * Whether a leader may suffer if this node announces its candidacy. Voters refuse a leader in favour of a candidate of
   * better rank, and the candidate need not hear that leader. So a node that has failed before makes sure in any case.
   * A node that has lost its rank announces nothing.
   */
  function canDisturbLeader(state: LocalLeaderState, now: Micros): boolean {
    const { failures, proofs } = state.eligibility.record
    return isLed(state, now) || isBoundToLeader(state, now) || (failures > 0 && proofs === null)
  }

  /** Another node leads, as far as this node knows. */
  function isLed({ known: { following } }: LocalLeaderState, now: Micros): boolean {
    return following !== null && now < following.until && following.leader !== self
  }

  /**
   * The node has supported a renewal of another node, and is still bound by it. The lease that a round shows may be over
   * just before the next round comes, when timers are late, although the leader is up.
   */
  function isBoundToLeader({ vote: { lock, revocable } }: LocalLeaderState, now: Micros): boolean {
    return lock !== null && lock.owner !== self && now <= lock.until && revocable === null
  }

  /** A request that no voter supports, because its epoch is the least of all: voters only answer it. */
  function probe(state: LocalLeaderState, now: Micros): LocalLeaderStep {
    const request: Request = { incarnation: state.incarnation, counter: state.requests + 1 }
    const { config } = state.vote
    // A voter that would not grant this lock says so.
    const lock = state.pace === null ? null : lockIn(state.pace)
    const candidacy: Candidacy = {
      request,
      at: now,
      lock: lock ?? 0,
      epoch: 0,
      renew: false,
      config,
      isProbe: true,
      supporters: [],
      answered: [self],
      previousAt: null,
      succeeds: false,
      isChosen: false,
    }
    const next = changed(withEligibility(state, { candidate: false, deferringSince: null }), {
      requests: request.counter,
      candidacy,
    })
    const election = (beacon: Beacon): Election => ({
      kind: 'Election',
      beacon,
      request,
      epoch: 0,
      renew: false,
      ...(lock === null ? {} : { lock }),
      config,
      certificate: null,
      view: null,
      wanted: null,
      tree: null,
    })
    return {
      state: next,
      effects: [
        ...broadcast(next, now, election, (to) => isVoter(config, to)),
        setTimer(TIMER.release, now + timingIn(state).collection),
      ],
    }
  }

  return { canDisturbLeader, isLed, probe }
}
