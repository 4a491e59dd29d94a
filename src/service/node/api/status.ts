/** What a member tells those who ask, and those who listen. */
import type { NodeId, Output } from '../../../core/index.ts'
import type { Membership, SeenView } from '../../../protocols/index.ts'
import type { Datagrams, NodeStatus, NodeView } from '../election/election.ts'

/** `majority`: one leader in all; `local`: one in each partition; `store`: one among all who share a store. */
export type Mode = 'local' | 'majority' | 'store'

/** What an operator wants to know, as this process sees it at one moment. */
export type GroupStatus = NodeView & {
  readonly mode: Mode
  /**
   * How long whoever leads goes on leading unless it renews; null when nobody is known to lead. Sure on the leader
   * itself; elsewhere counted from when this process was told, which is up to Δ too long. Under omega, which has no
   * leases: how long this process counts itself in quorum if it hears nothing more.
   */
  readonly leaseMs: number | null
  /** Sets of voters, each of which must give a majority; two while one replaces the other. */
  readonly voters: readonly (readonly NodeId[])[]
  /** All of the group, in order, this process too. */
  readonly nodes: readonly NodeStatus[]
  /** For how long evidence that a node is there counts, in milliseconds; null where the protocol does not say. */
  readonly evidenceForMs: number | null
  /** Null when it takes part; otherwise why not. */
  readonly idle: 'closed' | 'silent after a restart' | null
  /** Under omega: the view of the living, and whether anybody may act on it; null under other protocols. */
  readonly membership: Membership | null
  /** epochs with fencing: whether it knows that it leads, and that all others are cut off; null where unknown. */
  readonly primary: boolean | null
  readonly datagrams: Datagrams
}

export type NodeEvents = {
  /** A term of this process begins. */
  elected: [{ readonly token: number | null; readonly cause: string }]
  /** It is over: exactly once for each that began. */
  revoked: [{ readonly token: number | null; readonly reason: string }]
  /** Another leads, or nobody does. */
  change: [NodeView]
  /** This process, as leader, has brought other voters into force. */
  voters: [readonly (readonly NodeId[])[]]
  /** Under omega: another view of the living has been installed here. */
  view: [InstalledView]
  /** Under omega: a link to another process is up or down, as both ends see it, in the same order. */
  link: [{ readonly peer: NodeId; readonly up: boolean }]
  /** Something that the operator should know: another configuration, a full disk, datagrams of strangers. */
  warning: [{ readonly what: string; readonly detail: string }]
}

/** A member that came back under a new life is in `left` and in `joined`: the one before is gone. */
export type InstalledView = SeenView & {
  readonly joined: readonly NodeId[]
  readonly left: readonly NodeId[]
}

/** Why this process does not stand for election. */
export type IneligibleReason =
  | 'closed'
  | 'observer'
  | 'witness'
  | 'nobody leads here'
  | 'unhealthy'
  | 'work has not ended'

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
