/**
 * A seat is a running election as the member sees it: in this thread, in a thread of its own, or in a virtual world.
 *
 * Whoever holds one gives orders, asks how things stand, and is told what happens. What is asked is answered at once and
 * never goes beyond what the protocol's own lease allows, even if nothing was delivered for a while.
 */
import type { Command, Micros, NodeId, Output, View } from '../../../core/index.ts'
import type { Membership } from '../../../protocols/index.ts'
import type { Address, NetworkFaults } from '../../runtime/index.ts'

export type NodeView = {
  readonly role: View['role']
  readonly leader: { readonly id: NodeId; readonly token: number | null } | null
  readonly members: readonly NodeId[] | null
}

export const NO_VIEW: NodeView = { role: 'follower', leader: null, members: null }

export type NodeStatus = {
  readonly id: NodeId
  /** Whether it is heard in time, so that it counts: at this moment, by the evidence that follows. */
  readonly reachable: boolean
  /**
   * How old the evidence is that it is there: a timely message of its own, or the leader's word that it answered. It
   * counts for `evidenceForMs` of the status. 0 for this process itself, null when there is none.
   */
  readonly evidenceMsAgo: number | null
  /** How long ago it was last heard at all; 0 for this process itself, null when it never was. */
  readonly heardMsAgo: number | null
}

/** What is known of another node, on the clock of `now`. */
type NodeEvidence = {
  readonly heardAt: Micros | null
  readonly evidenceAt: Micros | null
  /** Null where the protocol does not say for how long evidence counts: then `isThere` decides. */
  readonly evidenceFor: Micros | null
  readonly isReachable: boolean
  readonly now: Micros
}

/** How it stands with another node at this moment, however long ago that was worked out. */
export function nodeStatusOf(id: NodeId, known: NodeEvidence): NodeStatus {
  const { heardAt, evidenceAt, evidenceFor, isReachable: isThere, now } = known
  const agoMs = (at: Micros | null): number | null => (at === null ? null : Math.max(0, (now - at) / 1000))
  const there = evidenceFor === null ? isThere : evidenceAt !== null && now - evidenceAt < evidenceFor
  return { id, reachable: there, evidenceMsAgo: agoMs(evidenceAt), heardMsAgo: agoMs(heardAt) }
}

export type Datagrams = { readonly sent: number; readonly received: number; readonly dropped: number }

/** How things stand, for operators. */
export type ElectionStatus = {
  readonly view: NodeView
  /** Until when whoever is known to lead leads, and until when the members in the view are sure; on the clock of `now`. */
  readonly leadUntil: Micros | null
  readonly membersUntil: Micros | null
  readonly now: Micros
  readonly voters: readonly (readonly NodeId[])[]
  readonly nodes: readonly NodeStatus[]
  /** For how long evidence that a node is there counts; null where the protocol does not say. */
  readonly evidenceFor: Micros | null
  readonly isSilent: boolean
  /** Null where the protocol has no views. */
  readonly membership: Membership | null
  /** Whether this process is in the primary partition of its epoch; null where nothing can be said (epochs). */
  readonly primary: boolean | null
  readonly datagrams: Datagrams
}

/** By which this process leads, on its own clock; `until` is null when it does not. */
export type Lease = {
  readonly until: Micros | null
  readonly now: Micros
  readonly token: number | null
  /** Why it has ended or is no longer renewed, where this is known before it was told; otherwise null. */
  readonly reason: string | null
}

export type ElectionEvents = {
  /** What the protocol puts out. In the seat's own thread this comes within the step: nothing may be done at once. */
  output(event: Output): void
  /** How the election sees it now; told whenever that may have changed. */
  changed(view: NodeView): void
  warn(what: string, detail: string): void
  /** The election cannot go on. */
  failed(error: Error): void
}

/** Orders that are not for the protocol: who may speak in the group. */
export type PeerCommand = Command &
  (
    | { readonly do: 'addPeer'; readonly id: NodeId; readonly address: Address }
    | { readonly do: 'removePeer'; readonly id: NodeId }
  )

export type ElectionBackend = {
  view(): NodeView
  status(): ElectionStatus
  lease(): Lease
  /** Null when the protocol has taken it, otherwise why it has not. */
  command(command: Command): Promise<string | null>
  /** Hands the lead over, if it is still that of this token. */
  stepDown(token: number | null): Promise<void>
  /** Spoils what is heard of the peers, for trying a group out. */
  injectFaults(faults: NetworkFaults): void
  /** Its last steps, in pieces of text. */
  trace(): AsyncIterable<string>
  /** Ends it without a word: a lease that is left lapses by itself. */
  close(): Promise<void>
}

export function viewOf({ role, leader, token, members }: View): NodeView {
  return { role, leader: leader === null ? null : { id: leader, token }, members }
}
