/** Which nodes are reachable, and how they rank, according to the last fast message of each. */
import type { Micros, NodeId } from '../../core/index.ts'
import { UNWILLING } from './context.ts'
import type { Beacon, Epoch } from './messages.ts'
import { compareRanks, type Rank } from './rank.ts'
import type { Peer } from './state.ts'

/** What a fast message says of its sender. `isMissed`: the sender should hear this node, and does not. */
export function peerOf(
  beacon: Beacon,
  isMissed: boolean,
  before: Peer | null,
  patience: Micros,
  now: Micros,
): Peer {
  return {
    heardAt: now,
    saidAt: now,
    candidate: beacon.candidate,
    low: beacon.low,
    priority: beacon.priority,
    incumbent: beacon.incumbent,
    oneWaySince: isMissed ? (before?.oneWaySince ?? now) : null,
    claim: claimOf(beacon, before, patience, now),
  }
}

/** A node remembers a failed claim this many times longer than it believes one. */
const CLAIM_MEMORY = 8

function claimOf(
  { candidate, lease, low }: Beacon,
  before: Peer | null,
  patience: Micros,
  now: Micros,
): Peer['claim'] {
  if (lease !== null) return null
  // A node that has its rank back was named by a leader for several rounds: earlier claims no longer count against it.
  // Otherwise its next failure would extend this memory, and it would fail, and refuse the leader meanwhile, for ever.
  const isRestored = before !== null && before.low >= UNWILLING && low < UNWILLING
  const claim = before === null || isRestored ? null : before.claim
  if (candidate) return { since: claim?.since ?? now, last: now }
  const isRemembered =
    claim !== null && claim.last - claim.since >= patience && now - claim.last < CLAIM_MEMORY * patience
  return isRemembered ? claim : null
}

/**
 * Whether the node is a candidate that may still win. A node that has been a candidate for `patience` without leading
 * cannot win, and must not block other candidates.
 */
export function isRival({ candidate, claim }: Peer, now: Micros, patience: Micros): boolean {
  return candidate && (claim === null || now - claim.since < patience)
}

/** Another node vouches that this one was reachable at `heardAt`. */
export function withHeardAt(peer: Peer, heardAt: Micros): Peer {
  const { saidAt, candidate, low, priority, incumbent, oneWaySince, claim } = peer
  return { heardAt, saidAt, candidate, low, priority, incumbent, oneWaySince, claim }
}

export function isAlive(peer: Peer | null, now: Micros, expires: Micros): peer is Peer {
  return peer !== null && now - peer.heardAt < expires
}

/** A one-way link: this node hears the other, but the other has not heard this node for `expires`. */
export function isOneWay({ oneWaySince }: Peer, now: Micros, expires: Micros): boolean {
  return oneWaySince !== null && now - oneWaySince >= expires
}

export function laterEpoch(a: Epoch, b: Epoch): Epoch {
  return b.number > a.number ? b : a
}

/** Whether `a` should lead rather than `b`. */
export function outranks(a: Rank, aId: NodeId, b: Rank, bId: NodeId): boolean {
  return compareRanks(a, aId, b, bId) < 0
}
