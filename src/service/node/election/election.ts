/**
 * An election backend is a running election as a node sees it: in this thread, in a worker, in a store, or simulated.
 *
 * A node sends it commands, asks for its status, and receives its events. Questions are answered at once. An answer never
 * claims more than the lease of the protocol allows, even if no message was delivered for a while.
 */
import type { Command, Micros, NodeId, View } from '../../../core/index.ts'
import type { LeaseInsight, Membership } from '../../../protocols/index.ts'
import {
  type Address,
  type Announcement,
  type Cause,
  type Explanation,
  type Measured,
  type NetworkFaults,
  type NodeDetails,
  type NodeView,
} from '../../runtime/index.ts'

export type { ElectionEvents, NodeView } from '../../runtime/index.ts'
export { NOTHING_MEASURED } from '../../runtime/index.ts'

export const NO_VIEW: NodeView = { role: 'follower', leader: null, members: null }

/** Whether a node is reachable, and why. */
export type NodeReach = {
  readonly id: NodeId
  /** Whether it can exchange messages with this node right now, by the evidence that follows. */
  readonly reachable: boolean
  /**
   * The age of the newest evidence that it is reachable: a timely message of its own, or the leader's report that it
   * answered. Evidence counts for `evidenceForMs` of the status. 0 for this node itself, null without evidence.
   */
  readonly evidenceMsAgo: number | null
  /** Time since the last message from it; 0 for this node itself, null if there was none. */
  readonly heardMsAgo: number | null
}

export type NodeStatus = NodeReach & NodeDetails

/** What is known about another node, on the clock of `now`. */
type NodeEvidence = {
  readonly heardAt: Micros | null
  readonly evidenceAt: Micros | null
  /** Null where the protocol does not say for how long evidence counts: then `isReachable` decides. */
  readonly evidenceFor: Micros | null
  readonly isReachable: boolean
  readonly now: Micros
}

/** The status of another node now, from evidence that may be older. */
export function nodeReachOf(id: NodeId, known: NodeEvidence): NodeReach {
  const { heardAt, evidenceAt, evidenceFor, isReachable: isThere, now } = known
  const agoMs = (at: Micros | null): number | null => (at === null ? null : Math.max(0, (now - at) / 1000))
  const there = evidenceFor === null ? isThere : evidenceAt !== null && now - evidenceAt < evidenceFor
  return { id, reachable: there, evidenceMsAgo: agoMs(evidenceAt), heardMsAgo: agoMs(heardAt) }
}

/** This node reaches itself. */
export function ownReach(id: NodeId, reachable: boolean): NodeReach {
  return { id, reachable, evidenceMsAgo: 0, heardMsAgo: 0 }
}

export type Datagrams = { readonly sent: number; readonly received: number; readonly dropped: number }

/** The status of an election without measurements and reports of nodes. */
export type CoreStatus = {
  readonly view: NodeView
  /** When the lease of the known leader ends, and until when the members in the view are certain; on the clock of `now`. */
  readonly leadUntil: Micros | null
  readonly membersUntil: Micros | null
  readonly now: Micros
  readonly voters: readonly (readonly NodeId[])[]
  readonly nodes: readonly NodeReach[]
  /** For how long evidence that a node is reachable counts; null where the protocol does not say. */
  readonly evidenceFor: Micros | null
  readonly isSilent: boolean
  /** Null where the protocol has no views. */
  readonly membership: Membership | null
  /** Whether this node is in the primary partition of its epoch; null where unknown. */
  readonly primary: boolean | null
  readonly datagrams: Datagrams
}

/** The status of an election, for operators. */
export type ElectionStatus = Omit<CoreStatus, 'nodes'> & {
  readonly nodes: readonly NodeStatus[]
  readonly measured: Measured
  /** Where leases tune themselves: the level in force, on the clock of `now`. */
  readonly timing: LeaseInsight | null
}

/** The lease of this node, on its own clock; `until` is null when it does not lead. */
export type Lease = {
  readonly until: Micros | null
  readonly now: Micros
  readonly token: number | null
  /** Why it ended or is not renewed, if that is known before the event arrives; otherwise null. */
  readonly reason: string | null
}

/** Commands about the nodes of the group, which the runtime handles and not the protocol. */
export type PeerCommand = Command &
  (
    | { readonly do: 'addPeer'; readonly id: NodeId; readonly address: Address }
    | { readonly do: 'removePeer'; readonly id: NodeId }
  )

/** What a node tells the others: about itself, or how its last term ended. */
export type News = Partial<Announcement> & {
  readonly ended?: { readonly token: number | null; readonly cause: Cause }
}

export type ElectionBackend = {
  view(): NodeView
  status(): ElectionStatus
  lease(): Lease
  /** Resolves to null when the protocol accepts the command, otherwise to why it does not. */
  command(command: Command): Promise<string | null>
  /** Releases the lease, if it still has this token. `to`: the node that should lead next. */
  stepDown(token: number | null, to?: NodeId): Promise<void>
  /** Why this node cannot hand over to another one; null if it can. */
  handOverProblem(to: NodeId): Promise<string | null>
  /** Injects faults into the datagrams received from peers. */
  injectFaults(faults: NetworkFaults): void
  /** Why a lease that ends now was not renewed, if that is known. `late`: how late this thread is itself. */
  explain(late: Micros): Explanation | null
  /** Tells the other nodes about this one. */
  announce(news: News): void
  /** The black box, in pieces of text. */
  trace(): AsyncIterable<string>
  /** Closes it without releasing a lease, which expires. */
  close(): Promise<void>
}

export function viewOf({ role, leader, token, members }: View): NodeView {
  return { role, leader: leader === null ? null : { id: leader, token }, members }
}
