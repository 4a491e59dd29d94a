/**
 * A run as the page draws it. The worker makes it once for each run; the page only looks things up in it, so that going
 * back costs as little as going on.
 *
 * All instants are true time, in microseconds, unless a field says otherwise. A schedule (the untimed world) counts one
 * step as one millisecond.
 */
import type { Micros, NodeId, PlainObject, Role } from '../../../../src/core/index.ts'
import type { LossReason } from '../../../../src/workbench/trace/index.ts'

export type Picture = {
  readonly protocol: string
  readonly nodes: readonly NodeId[]
  readonly seed: number
  /** The run is a schedule: there is no time, and nothing to do but to step through it. */
  readonly isUntimed: boolean
  readonly endsAt: Micros
  /** Not null: the run was stopped before its end, because of this. */
  readonly cutShort: string | null
  /** One for each record of the trace, in order. Its index is the number of the record. */
  readonly moments: readonly Moment[]
  readonly flights: readonly Flight[]
  /** In the order of `nodes`. */
  readonly lanes: readonly Lane[]
  /** The state of the network from each of these instants on; the first is at 0. */
  readonly networks: readonly NetworkState[]
  readonly verdicts: readonly Verdict[]
  readonly goals: readonly { readonly name: string; readonly title: string; readonly count: number }[]
  /** Commands of the protocol that a person can give to a node, ready to send. */
  readonly commands: readonly CommandForm[]
}

export type MomentKind =
  | 'start'
  | 'message'
  | 'timer'
  | 'command'
  | 'link'
  | 'register'
  | 'suspended'
  | 'world'
  | 'lost'
  | 'tick'
  | 'resume'

export type Moment = {
  readonly at: Micros
  readonly node: NodeId | null
  readonly kind: MomentKind
  /** The number of the message that arrived, or was lost. */
  readonly message: number | null
  /** One sentence: what happened. */
  readonly text: string
  /** A node began to lead, or ceased to. */
  readonly isLeadership: boolean
  /** Heartbeats and the like: a reader may skip it. */
  readonly isRoutine: boolean
}

/** A message from its sending to its end. */
export type Flight = {
  readonly message: number
  /** More than 0: a copy of the message that the network made. */
  readonly copy: number
  readonly from: NodeId
  readonly to: NodeId
  readonly kind: string
  /** The content, in words. */
  readonly text: string
  readonly isRoutine: boolean
  readonly sentAt: Micros
  /** The moment that sent it. */
  readonly sentIn: number
  /** When it arrived or was lost; null: still in flight at the end of the run. */
  readonly endedAt: Micros | null
  readonly endedIn: number | null
  /** Null: it arrived, or is still in flight. */
  readonly lost: LossReason | 'dropped' | null
}

/** What happened to a node, each list in the order of time. */
export type Lane = {
  readonly node: NodeId
  readonly roles: readonly RoleSpan[]
  readonly leases: readonly LeaseSpan[]
  readonly stalls: readonly {
    readonly from: Micros
    readonly to: Micros
    readonly kind: 'paused' | 'suspended'
  }[]
  /** When the node is under load. */
  readonly loads: readonly { readonly from: Micros; readonly to: Micros }[]
  /** The node's clock: from each true instant on it shows `shows` and runs at `rate` (1 is exact). */
  readonly clock: readonly { readonly from: Micros; readonly shows: Micros; readonly rate: number }[]
  readonly timers: readonly TimerSpan[]
}

export type RoleSpan = {
  readonly from: Micros
  readonly to: Micros
  /** The moment from which it holds. */
  readonly moment: number
  readonly role: Role | 'crashed'
  readonly leader: NodeId | null
  readonly token: number | null
  /** Whether the node tells its application that it leads. */
  readonly leads: boolean
  readonly members: readonly NodeId[] | null
}

/** A lease from a renewal to the next: `until` as everybody else may count on it, `believed` as its holder's clock says. */
export type LeaseSpan = {
  readonly from: Micros
  /** When the holder renewed it, gave it up or crashed; else the later of both ends. */
  readonly to: Micros
  readonly until: Micros
  readonly believed: Micros
  readonly token: number | null
}

/** A timer from its setting to the moment at which it fired, was stopped or was set again. */
export type TimerSpan = {
  readonly name: string
  readonly from: Micros
  readonly to: Micros
  /** When it is due. */
  readonly due: Micros
  readonly fired: boolean
}

export type NetworkState = {
  readonly from: Micros
  /** Links that lose every message, by direction: `[from, to]`. */
  readonly closed: readonly (readonly [NodeId, NodeId])[]
  readonly slow: readonly (readonly [NodeId, NodeId])[]
  readonly loss: number
  readonly duplicate: number
  /** The blocks of a partition, if all closed links are one; else empty. */
  readonly blocks: readonly (readonly NodeId[])[]
}

export type Verdict = {
  readonly name: string
  /** What the specification says, in one sentence. */
  readonly title: string
  readonly verdict: 'held' | 'vacuous' | 'violated'
  readonly why: string
  /** How often it was judged. */
  readonly judged: number
  readonly at: Micros | null
  /** The moment of the violation. */
  readonly moment: number | null
}

export type CommandForm = {
  readonly name: string
  /** What it does, in a few words. */
  readonly title: string
  /** Fields that a person fills in. */
  readonly fields: readonly {
    readonly name: string
    readonly type: 'node' | 'nodes' | 'number' | 'text' | 'boolean'
  }[]
}

/** What the inspector shows of a node after a moment. */
export type Inspection = {
  readonly node: NodeId
  readonly moment: number
  /** Null while the node is down. */
  readonly state: PlainObject | null
  readonly stable: unknown
  /** Paths of fields that the node's last step changed, as in `peers.2.heardAt`. */
  readonly changed: readonly string[]
  /** The node's last step: what it received and what it did, in sentences. */
  readonly input: string | null
  readonly effects: readonly string[]
  /** The node's clock now. */
  readonly clock: Micros
  /** When the step was taken. */
  readonly at: Micros
}

/** One link of a causal chain, the effect first. `because`: how the next one led to it. */
export type Cause = { readonly moment: number; readonly text: string; readonly because: string | null }
