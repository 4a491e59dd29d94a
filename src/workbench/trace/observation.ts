/**
 * What can be seen of a run from outside, and so all that a specification may speak of.
 *
 * `at` is true time, the world's own; no node knows it. Worlds without time (the explorer) leave it at 0.
 */
import type { Command, Micros, NodeId, Output, Plain, PlainObject, View } from '../../core/index.ts'

/** Which pairs of living nodes can talk, both ways; `full` when all can. */
export type Connected = 'full' | readonly (readonly [NodeId, NodeId])[]

/** What each running node can do, direction by direction. */
export type Reach = {
  /** Nodes that are up and neither paused nor suspended. */
  readonly running: readonly NodeId[]
  /** Sender and receiver, both running, where every message of every kind is timely; `full`: all of them. */
  readonly timely: 'full' | readonly (readonly [from: NodeId, to: NodeId])[]
  /** Running nodes whose stable storage refuses writes. */
  readonly unwritable: readonly NodeId[]
  /** Whether chance decides on some link if a message arrives in time. */
  readonly byChance: boolean
}

export type Observation =
  /** What a node answers when asked has changed. `until` is the end of its lease in true time. */
  | {
      readonly type: 'view'
      readonly at: Micros
      readonly node: NodeId
      readonly view: View
      readonly until: Micros | null
    }
  | { readonly type: 'output'; readonly at: Micros; readonly node: NodeId; readonly event: Output }
  | { readonly type: 'up'; readonly at: Micros; readonly node: NodeId }
  | { readonly type: 'down'; readonly at: Micros; readonly node: NodeId }
  /** Something befell the world: what is promised of the settled system need not hold until it has settled again. */
  | {
      readonly type: 'disturbed'
      readonly at: Micros
      /** From now on no message takes longer, and no timer is later than this; links that are slowed down included. */
      readonly delay?: Micros
      /** Who is paused or asleep now. */
      readonly stalled?: readonly NodeId[]
    }
  /**
   * Who can talk to whom from now on, where timeliness matters: pairs of running processes between which every message
   * is timely, both ways; and the sets that are all connected with each other and hear from nobody else in time.
   */
  | {
      readonly type: 'connectivity'
      readonly at: Micros
      readonly connected: Connected
      readonly stable: readonly (readonly NodeId[])[]
      readonly reach: Reach
    }
  /**
   * A node calls a peer reachable, right after a step of its own, although nothing of that peer has been able to arrive
   * in time since an instant: the peer is down, stalled or cut off.
   */
  | {
      readonly type: 'called-reachable'
      readonly at: Micros
      readonly node: NodeId
      readonly peer: NodeId
      readonly silentSince: Micros
    }
  /** A node is given a command; what follows from that is seen after it. */
  | { readonly type: 'commanded'; readonly at: Micros; readonly node: NodeId; readonly command: Command }
  /**
   * Two leaders both see the link between them up, in one incarnation, and nothing is in flight on it. Only worlds that
   * tell nodes of their links and look at every state say so.
   */
  | { readonly type: 'quiet'; readonly at: Micros; readonly between: readonly [NodeId, NodeId] }
  /** Enough time without a disturbance: what is promised of the settled system must hold now. */
  | { readonly type: 'settled'; readonly at: Micros; readonly connected: Connected }
  /**
   * The world as it stands, for specifications that speak of whole states: what each node holds in its paper's words
   * (null: it is down), and what its register holds. Only where such a specification is watched, and time stands still.
   */
  | {
      readonly type: 'state'
      readonly at: Micros
      readonly nodes: readonly NodeId[]
      readonly variables: readonly (PlainObject | null)[]
      readonly registers: readonly Plain[]
    }
  /** Nothing more is seen of this run. */
  | { readonly type: 'ended'; readonly at: Micros }
