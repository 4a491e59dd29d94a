/**
 * A protocol's definition: its name and source, options and commands, its assumptions about the network, the
 * specifications that it promises, and the faults with which worlds should try to break it.
 */
import { type ZodType, z } from 'zod'
import type { Command, Identity, Message, Protocol } from './contract.ts'
import type { NodeId } from './ids.ts'
import type { Plain, PlainObject } from './plain.ts'
import type { Micros } from './units.ts'

/**
 * A command that the environment may give a node in its current state. `whenDown`: only while that peer is down.
 * `owed`: the environment gives it eventually, so the world is not settled before.
 */
export type Stimulus = {
  readonly command: Command
  readonly whenDown: NodeId | null
  readonly owed: boolean
}

/** A lower bound of an option, and its derivation. */
export type Bound = {
  readonly option: string
  readonly value: number
  readonly least: number
  readonly because: string
}

/** Faults of nodes and their network that a campaign may draw. */
export const NETWORK_FAULT_KINDS = [
  'crash',
  'pause',
  'suspend',
  'partition',
  'cut',
  'cutOneWay',
  'graph',
  'slow',
  'loss',
  'duplicate',
  'linkLoss',
  'drop',
  'unwritable',
] as const
/**
 * With the faults of the register store (late operations, and a store that hangs), and load, for protocols that adapt to
 * it.
 */
export const FAULT_KINDS = [...NETWORK_FAULT_KINDS, 'late', 'hang', 'load'] as const
export type FaultKind = (typeof FAULT_KINDS)[number]

/** The defaults of an exhaustive search. */
export type Exploration = {
  readonly from: 'boot' | 'settled'
  readonly options: PlainObject
  readonly crashes: number
  readonly recoveries: number
  readonly flips: number
  /** How many ticks may pass. A tick moves the time of all nodes at once. */
  readonly ticks: number
  /** The length of a tick; 0 if states contain no instants, so that ticks would change nothing. */
  readonly tick: Micros
  /** `quiet`: a timer fires only when no message is in flight, as in a synchronous system with ample timeouts. */
  readonly timers: 'any' | 'quiet'
  /** Whether a settled state must be reachable from every state: then the search looks for deadlocks and livelocks. */
  readonly progress: boolean
}

/** When messages and nodes count as *timely*, on a network and a host that guarantee nothing. */
export type Timeliness = {
  /** Messages delivered within δ are timely. Messages that take longer than `fast` (Δ) are ignored. */
  readonly delay: Micros
  readonly fast: Micros
  /** A node is timely if it acts within σ of the time when it is due. */
  readonly lateness: Micros
}

/** Durations that specifications use, by name. */
export type Constants = { readonly [name: string]: Micros }

/** What a campaign may draw from a seed, within the protocol's assumptions. */
export type Swarm = {
  readonly faults: readonly FaultKind[]
  readonly delayMs: readonly [least: number, most: number]
  readonly driftPpm: number
  /** Commands, each drawn for a random node at a random time. */
  readonly commands: readonly Command[]
  /** Whether a broken network sometimes heals only after the protocol must have settled. */
  readonly rests: boolean
  /** Values to draw for an option that the caller has not fixed. */
  readonly options: { readonly [name: string]: readonly Plain[] }
}

/** The semantics of shared registers in the untimed world. */
export type RegisterModel = {
  /**
   * `atomic`: a read returns the last write. `regular`: a read during a write returns the old or the new value. `torn`:
   * it returns any mixture of their fields. `stale`: a read may return the value before the last write. `late`: the
   * write of a crashed node may take effect at any later time.
   */
  readonly semantics: 'atomic' | 'regular' | 'torn' | 'stale' | 'late'
  /** `late`: whether a restarting node prevents its earlier incarnation's writes from taking effect. */
  readonly compare: boolean
  /** Whether a write on a command is acknowledged in a step of its own, or at once. */
  readonly acknowledged: 'apart' | 'at once'
  /** Whether a crash clears the register. */
  readonly forgets: boolean
  /**
   * Whether other nodes remove a node, dead or alive: one reads its register, and later writes a tombstone there. From
   * then on every write of the owner is refused. `compared`: the tombstone is written only if the register is still as
   * it was read. `blind`: in any case. Searches know this for atomic registers.
   */
  readonly burials: 'none' | 'compared' | 'blind'
}

/** How a protocol uses shared registers. There is one per node, and only that node writes it. */
export type RegisterUse<O extends PlainObject = PlainObject> = {
  /** The value in reports; null was never written. */
  show(value: Plain): Plain
  model(options: O): RegisterModel
  /**
   * Whether the register of a node that is down may be deleted, given its value and the values of all others that were
   * not removed. Null if registers are never deleted.
   */
  deletable(options: O): ((value: Plain, others: readonly Plain[]) => boolean) | null
  /** The tombstones that may replace this value when its node is removed. */
  tombstones(value: Plain, options: O): readonly Plain[]
  /** The value in a few words, for transcripts. */
  describe(value: Plain): string
}

/** A message of a protocol in a few words, for transcripts. */
export type MessageSummary = {
  readonly words: string
  /** Whether the message is repeated while nothing changes, such as the renewal of a lease. */
  readonly isRoutine: boolean
}

/** `slowest`: with the longest times that the protocol promises. `strictest`: with the least that it calls timely. */
export type JudgedOptions<O> = { readonly slowest: O; readonly strictest: O }

export type Definition<O extends PlainObject = PlainObject, S extends Plain = Plain> = {
  readonly name: string
  readonly title: string
  readonly source: string
  /** The kinds of the protocol's own messages, as its source names them, and of the layers below it. */
  readonly kinds: readonly string[]
  readonly linkKinds: readonly string[]
  /** The kind that a message counts as. A layer that wraps messages looks inside. */
  kindOf(body: Message): string
  /** The messages of the protocol in a message on the wire: itself, or what a layer has wrapped. */
  carried(body: Message): readonly Message[]
  /** Null: a transcript shows the fields of the message. */
  summaryOf(message: Message): MessageSummary | null
  /** Which id it prefers as leader. */
  readonly prefers: 'highest' | 'lowest'
  /** The schemas of options and commands, for these nodes. */
  options(nodes: readonly NodeId[]): ZodType<O>
  commands(nodes: readonly NodeId[]): ZodType<Command>
  /** `fifo`: each link delivers in the order of sending. */
  readonly order: 'fifo' | 'any'
  /**
   * `reported`: nodes are notified when a link goes up or down, as by a link layer with a consistent history. `silent`:
   * they are not.
   */
  links(options: O): 'silent' | 'reported'
  /** The smallest number of nodes for which it makes sense. */
  readonly leastNodes: number
  /** The names of the specifications that it promises, and of the goals that a thorough run must reach. */
  readonly promises: readonly string[]
  readonly goals: readonly string[]
  /** The promises and goals that apply with these options. */
  keeps(options: O): { readonly promises: readonly string[]; readonly goals: readonly string[] }
  /** Null if no promise depends on timeliness. */
  timeliness(options: O): Timeliness | null
  constants(options: O, nodes: number): Constants
  /** By which options a run is judged in which nodes have options of their own, or commands change them. */
  judgedBy(options: O, changes: readonly PlainObject[]): JudgedOptions<O>
  /** Nodes that never lead with these options. */
  neverLead(options: O): readonly NodeId[]
  /** The peers that a node in this state reports as reachable; null if it reports none. */
  reachable(state: S, identity: Identity, options: O, now: Micros): readonly NodeId[] | null
  create(identity: Identity, options: O): Protocol
  /** The options in the untimed world. */
  untimed(options: O): O
  /** The name of an option that is valid only in recordings of real runs; null if all options are valid everywhere. */
  onlyRecorded(options: O): string | null
  /** Null if the protocol uses no registers. */
  readonly registers: RegisterUse<O> | null
  /** The variables of a state beyond its view, with the names of the paper, for specifications of states. */
  variables(state: S): PlainObject
  /** The bounds of the options on a network with this maximum ordinary delay. */
  bounds(options: O, maxDelayMs: number): readonly Bound[]
  /** The commands that the environment may give a node in this state. The explorer tries them at any time. */
  stimuli(state: S, identity: Identity, options: O): readonly Stimulus[]
  /** The time after the last disturbance until everything promised *when settled* must hold. */
  settlesWithin(options: O, maxDelay: Micros, nodes: number): Micros
  /** The minimum time for which a campaign runs the healed world. */
  watchesFor(options: O, nodes: number): Micros
  /** The faults in `swarm` that it tolerates with these options. */
  bears(options: O): readonly FaultKind[]
  /** The faults that a minority of the nodes may keep to the end of a run, while all promises hold for the others. */
  endures(options: O): readonly FaultKind[]
  /** The clock drift of a campaign with these options; `swarm.driftPpm` by default. */
  driftPpm(options: O): number
  readonly exploration: Exploration
  readonly swarm: Swarm
}

/** Fields with a default. */
type Optional =
  | 'linkKinds'
  | 'kindOf'
  | 'carried'
  | 'summaryOf'
  | 'prefers'
  | 'order'
  | 'links'
  | 'leastNodes'
  | 'bounds'
  | 'bears'
  | 'endures'
  | 'driftPpm'
  | 'options'
  | 'commands'
  | 'promises'
  | 'goals'
  | 'keeps'
  | 'timeliness'
  | 'constants'
  | 'judgedBy'
  | 'watchesFor'
  | 'neverLead'
  | 'reachable'
  | 'stimuli'
  | 'untimed'
  | 'onlyRecorded'
  | 'registers'
  | 'variables'
  | 'exploration'
  | 'swarm'

type Written<O extends PlainObject, S extends Plain> = Omit<Definition<O, S>, Optional> &
  Partial<Pick<Definition<O, S>, Exclude<Optional, 'exploration' | 'swarm'>>> & {
    readonly exploration?: Partial<Exploration>
    readonly swarm?: Partial<Swarm>
  }

/** Checks a definition against its own types, fills in defaults, and erases the types: worlds treat all protocols alike. */
export function define<O extends PlainObject, S extends Plain>(written: Written<O, S>): Definition {
  const { exploration, ...rest } = written
  const swarm: Swarm = {
    faults: ['crash'],
    delayMs: [0.2, 20],
    driftPpm: 100,
    rests: false,
    commands: [],
    options: {},
    ...written.swarm,
  }
  return {
    linkKinds: [],
    kindOf: ({ kind }) => kind,
    carried: (body) => [body],
    summaryOf: () => null,
    prefers: 'highest',
    order: 'any',
    links: () => 'silent',
    leastNodes: 1,
    bounds: () => [],
    bears: () => swarm.faults,
    endures: () => [],
    driftPpm: () => swarm.driftPpm,
    options: () => z.strictObject({}),
    commands: () => z.never({ error: 'this protocol takes no commands' }),
    promises: [],
    goals: [],
    keeps: () => ({ promises: written.promises ?? [], goals: written.goals ?? [] }),
    timeliness: () => null,
    constants: () => ({}),
    judgedBy: (options) => ({ slowest: options, strictest: options }),
    neverLead: () => [],
    reachable: () => null,
    watchesFor: () => 0,
    stimuli: () => [],
    untimed: (options) => options,
    onlyRecorded: () => null,
    registers: null,
    variables: () => ({}),
    ...(rest as Omit<Definition, Optional>),
    exploration: {
      from: 'boot',
      options: {},
      crashes: 1,
      recoveries: 1,
      flips: 0,
      ticks: 0,
      tick: 0,
      timers: 'any',
      progress: false,
      ...exploration,
    },
    swarm,
  }
}
