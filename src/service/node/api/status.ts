/** What a node reports: its status for operators, and its events. */
import type { NodeId, Output } from '../../../core/index.ts'
import type { Membership, SeenView } from '../../../protocols/index.ts'
import type { Cause, Measured } from '../../runtime/index.ts'
import type { Datagrams, ElectionStatus, NodeStatus, NodeView } from '../election/election.ts'
import type { LossReason } from './loss-reason.ts'
import { type LevelChange, type TimingStatus, timingStatusOf } from './timing-status.ts'

/** `majority`: one leader overall; `local`: one in each partition; `store`: one among all nodes that share a store. */
export type Mode = 'local' | 'majority' | 'store'

/** The state of the group, as this node sees it now. */
export type GroupStatus = NodeView & {
  readonly mode: Mode
  /**
   * The remaining time of the leader's lease; null when no leader is known. Exact on the leader itself. On other nodes
   * it is an estimate, counted from when the renewal arrived: up to Δ too long, and where leases tune themselves up to a
   * whole lease, while a majority does not support the renewals. Under a protocol without leases: how long this node
   * stays in quorum if it receives nothing more.
   */
  readonly leaseMs: number | null
  /** Sets of voters, each of which must give a majority; two while one replaces the other. */
  readonly voters: readonly (readonly NodeId[])[]
  /** All nodes of the group, sorted, this node included. */
  readonly nodes: readonly NodeStatus[]
  /** For how long evidence that a node is reachable counts, in milliseconds; null where the protocol does not say. */
  readonly evidenceForMs: number | null
  /** Why this node does not take part; null when it does. */
  readonly idle: 'closed' | 'silent after a restart' | null
  /** Under a protocol with views: the view of the living nodes, and whether it has a quorum; null under others. */
  readonly membership: Membership | null
  /** In a store with fencing: whether this node leads and all others are fenced; null where unknown. */
  readonly primary: boolean | null
  readonly datagrams: Datagrams
  /** The scheduling lateness of this node, the delays of its messages, and its renewals, over the last minutes. */
  readonly measured: Measured
  /** Where leases tune themselves: their present length, and why; null where the timing is fixed. */
  readonly timing: TimingStatus | null
  /** The last warnings, newest first; a repeated warning once, with its count. */
  readonly warnings: readonly RecentWarning[]
}

export type RecentWarning = {
  /** When it was last given: ISO 8601. */
  readonly at: string
  readonly what: string
  readonly detail: string
  readonly count: number
}

export type NodeEvents = {
  /** A term of this node began. */
  elected: [{ readonly token: number | null; readonly cause: string }]
  /** A term of this node ended: exactly once for each that began. `detail`: what the reason does not say. `cause`: the same for operators. */
  revoked: [
    {
      readonly token: number | null
      readonly reason: LossReason
      readonly detail: string | null
      readonly cause: Cause
    },
  ]
  /** The leader or the role of this node changed. */
  change: [NodeView]
  /** This node, as leader, changed the set of voters. */
  voters: [readonly (readonly NodeId[])[]]
  /** This node, as leader, changed the length of leases. */
  level: [LevelChange]
  /** Under a protocol with views: this node installed another view. */
  view: [InstalledView]
  /** Under a protocol with views: a link to another node went up or down. Both ends see the same order. */
  link: [{ readonly peer: NodeId; readonly up: boolean }]
  /** A condition for operators: a different configuration, a full disk, datagrams from unknown senders. */
  warning: [{ readonly what: string; readonly detail: string }]
}

/** A node that came back with a new incarnation is both in `left` and in `joined`. */
export type InstalledView = SeenView & {
  readonly joined: readonly NodeId[]
  readonly left: readonly NodeId[]
}

/** Why a node is not a candidate. */
export type IneligibleReason =
  | 'closed'
  | 'observer'
  | 'witness'
  | 'lead not called'
  | 'unhealthy'
  | 'work not ended'

type OwnNode = {
  readonly id: NodeId
  readonly mode: Mode
  readonly isClosed: boolean
  readonly warnings: readonly RecentWarning[]
}

/** The status of a group, from the status of its election. */
export function groupStatusOf(
  current: ElectionStatus,
  { id, mode, isClosed, warnings }: OwnNode,
): GroupStatus {
  const { view, leadUntil, now, voters, nodes, evidenceFor, isSilent, membership, primary, timing } = current
  return {
    ...view,
    mode,
    leaseMs: leadUntil === null || view.leader === null ? null : Math.max(0, (leadUntil - now) / 1000),
    voters,
    nodes: isClosed ? nodes.map((node) => (node.id === id ? { ...node, reachable: false } : node)) : nodes,
    evidenceForMs: evidenceFor === null ? null : evidenceFor / 1000,
    idle: isClosed ? 'closed' : isSilent ? 'silent after a restart' : null,
    membership: isClosed ? null : membership,
    primary: isClosed ? null : primary,
    datagrams: current.datagrams,
    measured: current.measured,
    timing: timing === null ? null : timingStatusOf(timing, now),
    warnings,
  }
}

type Lives = readonly (readonly [id: NodeId, life: number])[]

export function installedView(event: Output): InstalledView {
  const idsOf = (field: string): readonly NodeId[] => (event[field] as unknown as Lives).map(([id]) => id)
  return {
    id: event['id'] as unknown as SeenView['id'],
    members: idsOf('members'),
    incarnations: (event['members'] as unknown as Lives).map((member) => member[1]),
    joined: idsOf('joined'),
    left: idsOf('left'),
  }
}
