/** Beacons: every message carries the rank and the lease of its sender. */
import { type Micros, type NodeId, send } from '../../core/index.ts'
import { CHOSEN_RANK, type Context, type LocalLeaderEffect } from './context.ts'
import { type Beacon, type LocalLeaderMessage, NO_EPOCH, type Release, type Request } from './messages.ts'
import { isAlive, laterEpoch } from './peers.ts'
import type { LocalLeaderState } from './state.ts'

const NO_BEACON: Beacon = {
  candidate: true,
  low: 0,
  priority: 0,
  incumbent: false,
  heard: true,
  seen: NO_EPOCH,
  lease: null,
}

export type Beacons = ReturnType<typeof createBeacons>

export function createBeacons(context: Context) {
  const { self, others, placeOf, lowOf, latest, settings, timingIn } = context
  const { tree, mostRequests } = settings

  function beaconOf(state: LocalLeaderState, now: Micros, heard: boolean): Beacon {
    if (mostRequests !== null) return NO_BEACON
    const { term } = state
    const isLeader = term !== null && now < term.until
    const isChosen = state.candidacy?.isChosen === true
    return {
      candidate: state.eligibility.candidate,
      low: isChosen ? CHOSEN_RANK.low : lowOf(state, now),
      priority: isChosen ? CHOSEN_RANK.priority : state.eligibility.priority,
      incumbent: isChosen || (settings.sticky && isLeader),
      heard,
      seen: laterEpoch(state.known.seen, state.vote.promised),
      lease: isLeader ? { left: term.until - now, token: term.token } : null,
    }
  }

  function beaconFor(state: LocalLeaderState, to: NodeId, now: Micros): Beacon {
    return beaconOf(state, now, isAlive(state.known.peers[placeOf(to)] ?? null, now, timingIn(state).expires))
  }

  function broadcast(
    state: LocalLeaderState,
    now: Micros,
    bodyWith: (beacon: Beacon) => LocalLeaderMessage,
    isMeant: (to: NodeId) => boolean = () => true,
  ): LocalLeaderEffect[] {
    const { expires } = timingIn(state)
    let toHeard: LocalLeaderMessage | null = null
    let toUnheard: LocalLeaderMessage | null = null
    // Along a tree a leader hears most of its supporters through others.
    const supporters = tree !== null && state.term !== null ? new Set(state.term.members) : null
    const sent: LocalLeaderEffect[] = []
    for (const { id, index } of others) {
      if (!isMeant(id)) continue
      if (isAlive(state.known.peers[index] ?? null, now, expires) || supporters?.has(id) === true) {
        toHeard ??= bodyWith(beaconOf(state, now, true))
        sent.push(send(id, toHeard))
      } else {
        toUnheard ??= bodyWith(beaconOf(state, now, false))
        sent.push(send(id, toUnheard))
      }
    }
    return sent
  }

  function sendReleases(
    state: LocalLeaderState,
    request: Request,
    yields: boolean,
    now: Micros,
    to?: NodeId,
  ): readonly LocalLeaderEffect[] {
    const chosen = to === undefined ? {} : { to }
    const release = (beacon: Beacon): Release => ({ kind: 'Release', beacon, request, yields, ...chosen })
    return [...broadcast(state, now, release), send(self, release(beaconOf(state, now, true)))]
  }

  /** An unsolicited Reply without a vote: it tells the receiver which voters this node knows of. */
  function sendNotice(state: LocalLeaderState, to: NodeId, now: Micros): LocalLeaderEffect {
    const { promised, config } = state.vote
    return send(to, {
      kind: 'Reply',
      beacon: beaconFor(state, to, now),
      candidate: to,
      request: latest(state),
      votes: [],
      promised,
      config,
    })
  }

  return { beaconOf, beaconFor, broadcast, sendReleases, sendNotice }
}
