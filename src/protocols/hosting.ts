/**
 * What a protocol needs so that real processes can run it: one value, `hosting`, in the protocol's folder. The runtime,
 * the library, the configuration, the agent, `conclave plan` and `conclave replay` work from this value alone.
 *
 * Everything here is data or a pure function. What must be executed (sockets, stores, simulations) is described, and the
 * rooms above execute the description.
 */
import type { Identity, Micros, NodeId, Output, Plain, PlainObject, Protocol, View } from '../core/index.ts'
import type { Group } from '../links/index.ts'
import type { Insight } from './insight.ts'
import type { Planning } from './planning.ts'
import type { WireFormat } from './wire.ts'

/** A field of what a process was told, and what is wrong with it. */
export type Problem = { readonly field: string; readonly message: string }

/** The options of a protocol, before defaults are filled in, or everything that is wrong. */
export type Chosen = { readonly options: PlainObject } | { readonly problems: readonly Problem[] }

/** What a process is told when it joins a group, as far as protocols are concerned. Fields that were not given are absent. */
export type Asked = {
  readonly id: string
  readonly profile?: 'lan' | 'region' | 'wan'
  readonly mode?: 'local' | 'majority'
  readonly sticky?: boolean
  readonly priority?: number
  readonly observer?: boolean
  readonly witness?: boolean
  readonly data?: string
  /** Options of the protocol by name. */
  readonly options?: { readonly [name: string]: unknown }
}

/** How long a leadership lasts unless it is renewed. */
export type LeaseLength = {
  readonly lease: Micros
  /** What is left of it when it has been renewed by the first try, which took as long as it may. */
  readonly margin: Micros
}

/** What is known of a run whose trace is judged. */
export type RecordedRun = {
  readonly node: NodeId
  /** How many of its first steps the black box no longer has. */
  readonly skipped: number
  readonly header: { readonly nodes: readonly NodeId[] }
}

/** An observation of a recorded run, as far as protocols may look at it. */
export type Recorded = { readonly type: string; readonly at: Micros }
export type RecordedView = Recorded & { readonly type: 'view'; readonly node: NodeId; readonly view: View }

/** How a real run is judged from traces, which tell less than a simulated world does. */
export type Forensics = {
  /** Specifications that these traces cannot judge, by name, and why. */
  unjudged(runs: readonly RecordedRun[]): { readonly [spec: string]: string }
  /** Leaves out what cannot be held against a node, and adds outputs that must have happened where nobody recorded them. */
  complete<S extends Recorded>(
    seen: readonly S[],
    runs: readonly RecordedRun[],
    output: (at: Micros, node: NodeId, event: Output) => S,
  ): readonly S[]
}

type Common = {
  readonly name: string
  /** For help texts, after the name: a few words. */
  readonly summary: string
  /** The protocol's options from what a process is told. */
  optionsFor(asked: Asked, nodes: readonly NodeId[]): Chosen
  /** What is wrong with the options once defaults are filled in. */
  problemsWith(options: PlainObject, asked: Asked): readonly Problem[]
  /** Options that tolerate longer scheduling delays, for `conclave up`: its agents share one machine. */
  slackOptions(profile: string): PlainObject
  /** Of checked options. Without leases: how long the answer of a peer counts. */
  leaseLength(options: PlainObject, nodes: readonly NodeId[]): LeaseLength
  /** Null where a leader has a lease. Otherwise what `conclave run` must warn about. */
  readonly withoutLease: string | null
  /** Options in the header of a recorded trace: the same state machine as real processes run, in this group. */
  recordedOptions(group: string): PlainObject
  /** Options that each node may have a value of its own for. */
  readonly ownOptions: readonly string[]
  /** Null where traces of real runs are judged like simulated ones. */
  readonly forensics: Forensics | null
  /** The guarantee card; null where there is none. */
  readonly planning: Planning | null
}

/** Data that a node cannot start from, and what is known from outside. */
export type Remedy = {
  readonly self: NodeId
  /** Milliseconds of the wall clock. */
  readonly moment: number
  /** The largest token that anybody has seen; 0 when none is larger than the wall clock. */
  readonly above: number
  /** The voters from now on; null: as stored. */
  readonly voters: readonly NodeId[] | null
  /** Whether all nodes of the group are stopped and recovered together. */
  readonly together: boolean
}

export type Recovered = {
  readonly stable: Plain
  /** What was wrong, and what stands there now. */
  readonly changes: readonly string[]
}

/** A protocol whose nodes exchange messages. */
export type PeerHosting = Common & {
  readonly needs: 'peers'
  readonly wire: WireFormat
  /** Null where nodes may be added and removed while it runs; otherwise why not. */
  readonly fixedNodes: string | null
  /** Whether `observer` and `witness` of peers are told to the protocol as lists in its options. */
  readonly listsRoles: boolean
  /** One of several groups in a process. */
  group(identity: Identity, options: PlainObject): Group
  /** `state` is that of the group's protocol. */
  insight(identity: Identity, options: PlainObject, state: Plain, now: Micros): Insight
  /** What is promised: one leader in all, or one in each partition. */
  modeOf(options: PlainObject): 'local' | 'majority'
  /** What a node without a data directory starts from; `moment` is larger at every start. Null: from nothing. */
  forgetfulStable(identity: Identity, options: PlainObject, moment: number): Plain
  readonly recovery: {
    /** Whether stable data looks like that of this protocol. */
    isOwn(stable: Plain): boolean
    /**
     * Null when the data is usable as it is. Throws a RangeError, `field: problem`, when something must be said
     * (voters, above, all-stopped).
     */
    recover(stable: Plain, remedy: Remedy): Recovered | null
  } | null
}

/** What a running node of a group in a store knows beyond its view. */
export type StoreInsight = {
  /** When the leadership ends, counted from when its last renewal was seen. */
  readonly leadUntil: Micros | null
  /** The token of that leadership, where its leader has published it. */
  readonly token: number | null
  /** The node's own register is being taken over. */
  readonly isStarting: boolean
  /** A leadership is being given up in the register. */
  readonly isReleasing: boolean
  /** The node that is being removed. */
  readonly removing: NodeId | null
  /** The token under which others are being fenced. */
  readonly fencing: number | null
}

/** A protocol whose nodes meet in shared registers. */
export type StoreHosting = Common & {
  readonly needs: 'store'
  /** The node starts alone and learns of the others by a command (`{ do: 'members', nodes }`). */
  create(self: NodeId, options: PlainObject): Protocol
  insight(state: Plain, options: PlainObject): StoreInsight
  /** How often a leader renews, how long a lease lasts, how long one access takes at most. */
  timing(options: PlainObject): { readonly period: Micros; readonly lease: Micros; readonly access: Micros }
  /** Causes of `demoted`, in the words that applications know. */
  readonly causes: { readonly [cause: string]: string }
}

export type Hosting = PeerHosting | StoreHosting
