/**
 * Observations: what is visible of a run from outside. Specifications refer to nothing else.
 *
 * `at` is true time, which no node knows. Untimed worlds leave it at 0.
 */
import type { Command, Micros, NodeId, Output, Plain, PlainObject, View } from '../../core/index.ts'

/** The pairs of running nodes that reach each other both ways; `full` if all do. */
export type Connected = 'full' | readonly (readonly [NodeId, NodeId])[]

/** The capabilities of each running node, by direction. */
export type Reach = {
  /** Nodes that are up and neither paused nor suspended. */
  readonly running: readonly NodeId[]
  /**
   * Sender and receiver, both running, between which every message of every kind is timely; `full`: all
   * pairs.
   */
  readonly timely: 'full' | readonly (readonly [from: NodeId, to: NodeId])[]
  /** Running nodes whose stable storage refuses writes. */
  readonly unwritable: readonly NodeId[]
  /** Whether chance decides on some link if a message arrives in time. */
  readonly byChance: boolean
}

export type Observation =
  /** A node's view has changed. `until`: the end of its lease in true time. */
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
  /** A disturbance: promises about the settled system are suspended until it has settled again. */
  | {
      readonly type: 'disturbed'
      readonly at: Micros
      /** The maximum delay of any message and lateness of any timer from now on, including slowed links. */
      readonly delay?: Micros
      /** The same for messages and for timers alone. */
      readonly messageDelay?: Micros
      readonly lateness?: Micros
      /** The nodes that are paused or suspended now. */
      readonly stalled?: readonly NodeId[]
    }
  /**
   * Connectivity from now on, for protocols where timeliness matters: the pairs of running nodes between
   * which every message is timely both ways, and the sets that are pairwise connected and cut off in time
   * from all other nodes.
   */
  | {
      readonly type: 'connectivity'
      readonly at: Micros
      readonly connected: Connected
      readonly stable: readonly (readonly NodeId[])[]
      readonly reach: Reach
    }
  /**
   * After one of its steps a node considers a peer reachable, although no message of that peer can have
   * arrived in time since `silentSince`: the peer is down, stalled or cut off.
   */
  | {
      readonly type: 'called-reachable'
      readonly at: Micros
      readonly node: NodeId
      readonly peer: NodeId
      readonly silentSince: Micros
    }
  /** A node receives a command. Its consequences follow. */
  | { readonly type: 'commanded'; readonly at: Micros; readonly node: NodeId; readonly command: Command }
  /**
   * Two leaders both see their link up, in one incarnation, with no message in flight on it. Only worlds with
   * link notifications that inspect every state report this.
   */
  | { readonly type: 'quiet'; readonly at: Micros; readonly between: readonly [NodeId, NodeId] }
  /** No disturbance for the settling time: promises about the settled system must hold now. */
  | { readonly type: 'settled'; readonly at: Micros; readonly connected: Connected }
  /**
   * The whole state, for state specifications: each node's variables in the paper's terms (null: it is down),
   * and the contents of its register. Only in untimed worlds, and only if such a specification is watched.
   */
  | {
      readonly type: 'state'
      readonly at: Micros
      readonly nodes: readonly NodeId[]
      readonly variables: readonly (PlainObject | null)[]
      readonly registers: readonly Plain[]
    }
  /** The end of the run. */
  | { readonly type: 'ended'; readonly at: Micros }
