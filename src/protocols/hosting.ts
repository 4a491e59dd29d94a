/**
 * What real processes need to run a protocol: one value, `hosting`, in the protocol's folder. The runtime, the library,
 * the configuration, the agent, `conclave plan` and `conclave replay` use only this value.
 *
 * Everything here is data or a pure function. Sockets, stores and simulations are only described here; the rooms above
 * execute the descriptions.
 */
import type { Identity, Micros, NodeId, Output, Plain, PlainObject, Protocol, View } from '../core/index.ts'
import type { Group } from '../links/index.ts'
import type { Insight, LeaseInsight, Pulse } from './insight.ts'
import type { Planning } from './planning.ts'
import type { WireFormat } from './wire.ts'

/** A field of the configuration, and what is wrong with it. */
export type Problem = { readonly field: string; readonly message: string }

/** The options of a protocol before defaults are filled in, or all problems with the configuration. */
export type Chosen = { readonly options: PlainObject } | { readonly problems: readonly Problem[] }

/** The network between the nodes of a group. */
export type NetworkProfile = 'lan' | 'region' | 'wan'
/** `fast`: nodes side by side on quiet hosts, whose leases are as short as the measurements allow. */
export type ProfileName = 'fast' | NetworkProfile

/** The profile for a protocol whose timing is fixed; null: such a protocol has no `fast` profile. */
export function networkOf(profile: ProfileName = 'lan'): NetworkProfile | null {
  return profile === 'fast' ? null : profile
}

/** What such a protocol answers. */
export const NO_FAST_PROFILE: Problem = {
  field: 'profile',
  message:
    'fast needs leases that tune themselves, which this protocol does not have; use lan, region or wan',
}

/** Fields of leases that tune themselves. A field that is not set is absent. */
export type LeaseFields = {
  readonly timing?: 'fixed' | 'adaptive'
  readonly leaseMinMs?: number
  readonly leaseMaxMs?: number
  readonly leaseLossPerDay?: number
}

export const LEASE_FIELDS = ['timing', 'leaseMinMs', 'leaseMaxMs', 'leaseLossPerDay'] as const

/** The configuration of a node that joins a group, as far as it concerns protocols. Fields that are not set are absent. */
export type Asked = LeaseFields & {
  readonly id: string
  readonly profile?: ProfileName
  readonly mode?: 'local' | 'majority'
  readonly sticky?: boolean
  readonly priority?: number
  readonly observer?: boolean
  readonly witness?: boolean
  readonly data?: string
  /** Options of the protocol, by name. */
  readonly options?: { readonly [name: string]: unknown }
}

/** How long a term lasts without a renewal. */
export type LeaseLength = {
  readonly lease: Micros
  /** What is left of a lease when the first attempt to renew it succeeds, but takes as long as it may. */
  readonly margin: Micros
}

/** What is known about a recorded run. */
export type RecordedRun = {
  readonly node: NodeId
  /** The number of steps at the beginning that the black box no longer has. */
  readonly skipped: number
  readonly header: { readonly nodes: readonly NodeId[] }
}

/** The part of an observation of a recorded run that protocols may use. */
export type Recorded = { readonly type: string; readonly at: Micros }
export type RecordedView = Recorded & { readonly type: 'view'; readonly node: NodeId; readonly view: View }

/** How recorded traces of real runs are judged. They contain less than a simulated world. */
export type Forensics = {
  /** The specifications that these traces cannot judge, and why, by name. */
  unjudged(runs: readonly RecordedRun[]): { readonly [spec: string]: string }
  /** Removes observations that must not count against a node. Adds outputs that must have happened unrecorded. */
  complete<S extends Recorded>(
    seen: readonly S[],
    runs: readonly RecordedRun[],
    output: (at: Micros, node: NodeId, event: Output) => S,
  ): readonly S[]
}

/** What a protocol assumes of hosts and network: σ and δ, and how its users name them. */
export type Assumed = {
  readonly sigma: Micros
  readonly delta: Micros
  readonly names: { readonly sigma: string; readonly delta: string }
}

/** What was measured instead. */
export type Broken = { readonly sigma?: Micros; readonly delta?: Micros }

export type TimingAssumptions = {
  assumed(options: PlainObject, nodes: readonly NodeId[]): Assumed
  /** The options that would have tolerated it: the least values, by name. */
  remedy(
    options: PlainObject,
    nodes: readonly NodeId[],
    broken: Broken,
  ): { readonly [option: string]: number }
  /** What to do when no option would have tolerated it. */
  readonly noRemedy?: string
}

/** A proposed setting in milliseconds: two digits, rounded up. */
export function proposedMs(micros: Micros): number {
  const ms = micros / 1000
  const step = ms < 10 ? 1 : 10 ** (Math.floor(Math.log10(ms)) - 1) * (ms < 100 ? 5 : 1)
  return Math.ceil(ms / step) * step
}

type Common = {
  readonly name: string
  /** A few words for help texts, after the name. */
  readonly summary: string
  /** The protocol's options for this configuration of a node. */
  optionsFor(asked: Asked, nodes: readonly NodeId[]): Chosen
  /** The problems with the options, once defaults are filled in. */
  problemsWith(options: PlainObject, asked: Asked): readonly Problem[]
  /** Whether the protocol has the fields of leases that tune themselves. */
  readonly hasAdaptiveTiming?: boolean
  /** Options that tolerate longer scheduling delays, for `conclave up`: its agents share one machine. */
  slackOptions(profile: string): PlainObject
  /** What running nodes compare their measurements with; absent: nothing. */
  readonly assumptions?: TimingAssumptions
  /** The length of leases with these checked options. Without leases: how long the answer of a peer counts. */
  leaseLength(options: PlainObject, nodes: readonly NodeId[]): LeaseLength
  /** Null if leaders have leases. Otherwise the warning of `conclave run`. */
  readonly withoutLease: string | null
  /** Options in the header of a recorded trace: they select the state machine that real processes run, in this group. */
  recordedOptions(group: string): PlainObject
  /** Options that may have a different value on each node. */
  readonly ownOptions: readonly string[]
  /** Null if traces of real runs are judged like those of simulated runs. */
  readonly forensics: Forensics | null
  /** The guarantee card; null if there is none. */
  readonly planning: Planning | null
}

/** What an operator says about stable data that a node cannot start from. */
export type Remedy = {
  readonly self: NodeId
  /** Milliseconds of the wall clock. */
  readonly moment: number
  /** The largest token that was ever seen; 0 if no token is larger than the wall clock. */
  readonly above: number
  /** The new voters; null: the stored ones. */
  readonly voters: readonly NodeId[] | null
  /** Whether all nodes of the group are stopped and recovered together. */
  readonly together: boolean
}

export type Recovered = {
  readonly stable: Plain
  /** The problems, and the new values. */
  readonly changes: readonly string[]
}

/** A protocol whose nodes exchange messages. */
export type PeerHosting = Common & {
  readonly needs: 'peers'
  readonly wire: WireFormat
  /** Null if nodes may be added and removed while the protocol runs. Otherwise the reason why not. */
  readonly fixedNodes: string | null
  /** Why this leader cannot hand over to a chosen node; null if it can. Absent: the protocol cannot. */
  readonly handOverProblem?: (
    identity: Identity,
    options: PlainObject,
    state: Plain,
    to: NodeId,
    now: Micros,
  ) => string | null
  /** Whether the protocol has options that list the peers with `observer` and `witness`. */
  readonly listsRoles: boolean
  /** Creates one of several groups in a process. */
  group(identity: Identity, options: PlainObject): Group
  /** `state` is the state of the group's protocol. */
  insight(identity: Identity, options: PlainObject, state: Plain, now: Micros): Insight
  /** `leadUntil` of `insight` alone: cheap enough for every step. Absent: it changes rarely. */
  readonly leadUntil?: (state: Plain, now: Micros) => Micros | null
  /** What changes with every renewal: cheap enough to be read with each. Absent: the view and the insight tell it. */
  readonly pulse?: (identity: Identity, options: PlainObject, state: Plain, now: Micros) => Pulse
  /** The present length of leases, and why; null where the timing is fixed. Absent: it always is. */
  readonly leaseInsight?: (identity: Identity, options: PlainObject, state: Plain) => LeaseInsight | null
  /** The shortest lease that hosts can keep whose timers fire this late. Null where the timing is fixed. */
  readonly leaseForLateness?: (
    options: PlainObject,
    nodes: readonly NodeId[],
    lateness: Micros,
  ) => Micros | null
  /** The promise: one leader for all nodes (`majority`), or one in each partition (`local`). */
  modeOf(options: PlainObject): 'local' | 'majority'
  /** The stable data of a node without a data directory. `moment` is larger at every start. Null: no data. */
  forgetfulStable(identity: Identity, options: PlainObject, moment: number): Plain
  readonly recovery: {
    /** Whether the stable data looks like data of this protocol. */
    isOwn(stable: Plain): boolean
    /**
     * Null if the data is valid. Throws a RangeError, `field: problem`, if the operator must give more information
     * (voters, above, all-stopped).
     */
    recover(stable: Plain, remedy: Remedy): Recovered | null
  } | null
}

/** What a running node of a group in a store knows in addition to its view. */
export type StoreInsight = {
  /** When the term ends, counted from when this node saw its last renewal. */
  readonly leadUntil: Micros | null
  /** The token of that term, if its leader has published it. */
  readonly token: number | null
  /** The node is taking over its own register. */
  readonly isStarting: boolean
  /** The node is releasing its lease in its register. */
  readonly isReleasing: boolean
  /** The node that is being removed. */
  readonly removing: NodeId | null
  /** The token with which other nodes are being fenced. */
  readonly fencing: number | null
}

/** A protocol whose nodes share registers. */
export type StoreHosting = Common & {
  readonly needs: 'store'
  /** The node starts alone, and learns of the other nodes by a command (`{ do: 'members', nodes }`). */
  create(self: NodeId, options: PlainObject): Protocol
  insight(state: Plain, options: PlainObject): StoreInsight
  /** The interval between renewals, the length of a lease, and the longest duration of one access. */
  timing(options: PlainObject): { readonly period: Micros; readonly lease: Micros; readonly access: Micros }
  /** The causes of `demoted`, translated into the reasons that applications see. */
  readonly causes: { readonly [cause: string]: string }
}

export type Hosting = PeerHosting | StoreHosting
