/**
 * What surrounds a protocol's function: its name and source, its options and commands, what it assumes of the
 * network, what it promises (specifications, by name), and how worlds should try to break it.
 */
import { type ZodType, z } from 'zod'
import type { Command, Identity, Message, Protocol } from './contract.ts'
import type { NodeId } from './ids.ts'
import type { Plain, PlainObject } from './plain.ts'
import type { Micros } from './units.ts'

/**
 * Something that the surroundings may tell a node in its present state. `whenDown`: only while that peer is down.
 * `owed`: they will tell it some time, so the world is not settled before they have.
 */
export type Stimulus = {
  readonly command: Command
  readonly whenDown: NodeId | null
  readonly owed: boolean
}

/** An option that must not be below a bound, and what the bound is made of. */
export type Bound = {
  readonly option: string
  readonly value: number
  readonly least: number
  readonly because: string
}

/** Kinds of faults that a campaign may draw, of processes and their network. */
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
/** And those that befall the store of shared registers: operations that are late, a store that stands still. */
export const FAULT_KINDS = [...NETWORK_FAULT_KINDS, 'late', 'hang'] as const
export type FaultKind = (typeof FAULT_KINDS)[number]

/** How small worlds are searched unless the caller says otherwise. */
export type Exploration = {
  readonly from: 'boot' | 'settled'
  readonly options: PlainObject
  readonly crashes: number
  readonly recoveries: number
  readonly flips: number
  /** How often time may pass, by one `tick` for everybody at once. */
  readonly ticks: number
  /** How long a tick is; 0 where the states hold no instants, so that ticks would change nothing. */
  readonly tick: Micros
  /** `quiet`: a timer fires only when no message is in flight, as in a synchronous system with ample timeouts. */
  readonly timers: 'any' | 'quiet'
  /** Whether a settled state must stay reachable from everywhere: then deadlocks and livelocks are looked for. */
  readonly progress: boolean
}

/** What a protocol takes for *timely*, on a network and a host that promise nothing. */
export type Timeliness = {
  /** A message is timely that takes no longer (δ), and too late to matter when it takes longer than `fast` (Δ). */
  readonly delay: Micros
  readonly fast: Micros
  /** A process is timely that acts no later than this after it is due (σ). */
  readonly lateness: Micros
}

/** Durations that specifications speak of, by name. */
export type Constants = { readonly [name: string]: Micros }

/** What a campaign may draw from a seed, all of it within the protocol's assumptions. */
export type Swarm = {
  readonly faults: readonly FaultKind[]
  readonly delayMs: readonly [least: number, most: number]
  readonly driftPpm: number
  /** What nodes may be told, each drawn for some node at some time. */
  readonly commands: readonly Command[]
  /** Whether the network is at times left broken until the protocol must have settled, and only then healed. */
  readonly rests: boolean
  /** Values that an option may take, when the caller has not fixed it. */
  readonly options: { readonly [name: string]: readonly Plain[] }
}

/** What shared registers may do in a world without time. */
export type RegisterModel = {
  /**
   * `atomic`: a read returns what was written last. `regular`: while a write is under way, either. `torn`: then any
   * mixture of fields. `stale`: also what was there before the last write. `late`: a write of a process that crashed
   * may take place at any later moment.
   */
  readonly semantics: 'atomic' | 'regular' | 'torn' | 'stale' | 'late'
  /** `late`: whether a process that comes back makes sure that no write of its former life takes place any more. */
  readonly compare: boolean
  /** A write asked for on a command: is it acknowledged by a step of its own, or at once? */
  readonly acknowledged: 'apart' | 'at once'
  /** Whether a crash takes the register's content with it. */
  readonly forgets: boolean
  /**
   * Whether other nodes remove a node, dead or alive: one reads its register, and later writes a tombstone there. From
   * then on every write of the owner is refused. `compared`: the tombstone is written only if the register is still as
   * it was read. `blind`: in any case. Searches know this for atomic registers.
   */
  readonly burials: 'none' | 'compared' | 'blind'
}

/** How a protocol uses shared registers: one for each node, which only that node writes. */
export type RegisterUse<O extends PlainObject = PlainObject> = {
  /** What a report shows of a register that holds this; null was never written. */
  show(value: Plain): Plain
  model(options: O): RegisterModel
  /**
   * Whether the register of a node that is down may be deleted, given what it holds and what those of all others hold
   * that were not removed; null where none ever is.
   */
  deletable(options: O): ((value: Plain, others: readonly Plain[]) => boolean) | null
  /** The tombstones that may follow from what was read of a register, where nodes are removed. */
  tombstones(value: Plain, options: O): readonly Plain[]
}

export type Definition<O extends PlainObject = PlainObject, S extends Plain = Plain> = {
  readonly name: string
  readonly title: string
  readonly source: string
  /** The protocol's own messages, in its text's words, and those of the layers below it. */
  readonly kinds: readonly string[]
  readonly linkKinds: readonly string[]
  /** What a message counts as; layers that carry others' messages look inside. */
  kindOf(body: Message): string
  /** Which id it prefers as leader. */
  readonly prefers: 'highest' | 'lowest'
  /** What may be set and what may be commanded, in a world of these nodes. */
  options(nodes: readonly NodeId[]): ZodType<O>
  commands(nodes: readonly NodeId[]): ZodType<Command>
  /** `fifo`: each link delivers in the order of sending. */
  readonly order: 'fifo' | 'any'
  /**
   * `reported`: the world tells nodes when a link goes up or down, as a link layer with a consistent history would.
   * `silent`: a node must find out for itself.
   */
  links(options: O): 'silent' | 'reported'
  /** It means nothing with fewer nodes than this. */
  readonly leastNodes: number
  /** Names of the specifications that it promises, and of the goals that a thorough run must reach. */
  readonly promises: readonly string[]
  readonly goals: readonly string[]
  /** Which of them with these options. */
  keeps(options: O): { readonly promises: readonly string[]; readonly goals: readonly string[] }
  /** Null where timeliness has no part in what is promised. */
  timeliness(options: O): Timeliness | null
  constants(options: O, nodes: number): Constants
  /** Nodes that never lead with these options. */
  neverLead(options: O): readonly NodeId[]
  /** Which peers a node in this state calls reachable when an operator asks; null where it is not asked. */
  reachable(state: S, identity: Identity, options: O, now: Micros): readonly NodeId[] | null
  create(identity: Identity, options: O): Protocol
  /** The options as they are in a world without time. */
  untimed(options: O): O
  /** The option by which these say how real processes ran: only what was recorded can be told so. Null: a world has it, too. */
  onlyRecorded(options: O): string | null
  /** Null where nothing is shared but messages. */
  readonly registers: RegisterUse<O> | null
  /** What a node in this state holds beyond its view, in its paper's words: specifications of states speak of it. */
  variables(state: S): PlainObject
  /** What the options must satisfy on a network whose ordinary delays are at most this long. */
  bounds(options: O, maxDelayMs: number): readonly Bound[]
  /** What the surroundings may tell a node in this state: the explorer does so at any moment. */
  stimuli(state: S, identity: Identity, options: O): readonly Stimulus[]
  /** After the last disturbance, how long until everything that is promised *when settled* must hold. */
  settlesWithin(options: O, maxDelay: Micros, nodes: number): Micros
  /** For how long a campaign watches the healed world at the least. */
  watchesFor(options: O, nodes: number): Micros
  /** Which of the faults in `swarm` it bears with these options. */
  bears(options: O): readonly FaultKind[]
  /** Which of them a minority of the nodes may keep to the end of a run, without harm to what is promised to the others. */
  endures(options: O): readonly FaultKind[]
  /** How far clocks may drift in a campaign with these options; `swarm.driftPpm` unless said. */
  driftPpm(options: O): number
  readonly exploration: Exploration
  readonly swarm: Swarm
}

/** What a definition may leave out, because most small protocols have nothing special to say there. */
type Optional =
  | 'linkKinds'
  | 'kindOf'
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

/**
 * Checks a definition against its own types, fills in what it leaves out, and forgets the types: worlds treat all
 * protocols alike.
 */
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
