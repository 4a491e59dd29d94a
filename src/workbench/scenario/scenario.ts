/**
 * The scenario file: a small world and its events. The format is public; see docs/reference/scenarios.md.
 *
 * Durations are in milliseconds here, as people write them; the world uses microseconds.
 */
import type { Command, NodeId, PlainObject } from '../../core/index.ts'

export type Pair = readonly [NodeId, NodeId]
/** A duration in milliseconds: exact, or a range. */
export type Span = number | readonly [least: number, most: number]

export type NetworkRule = {
  readonly from?: NodeId
  readonly to?: NodeId
  readonly kind?: string
  readonly delayMs?: Span
  readonly drop?: boolean
  /** Probability that a message matched by the rule is lost. */
  readonly loss?: number
}

export type Network = {
  readonly delayMs: Span
  readonly loss: number
  readonly duplicate: number
  /** Whether links deliver in order. The default is the protocol's assumption. */
  readonly fifo: boolean
  readonly rules: readonly NetworkRule[]
  /**
   * With link notifications: the maximum lead of a link end, and whether messages carry the link's
   * incarnation.
   */
  readonly slack?: number | undefined
  readonly labelled?: boolean | undefined
}

/** The store of shared registers, for protocols that use them. */
export type StoreSettings = {
  readonly delayMs: Span
  /** Probability that an operation is late, and by how much. */
  readonly late: number
  readonly lateMs: Span
  /** When a caller gives up; the outcome is then unknown to it. */
  readonly timeoutMs: number
}

export type ScenarioEvent = { readonly atMs: number } & (
  | { readonly crash: NodeId; readonly afterEffects?: number }
  | { readonly recover: NodeId }
  | { readonly partition: readonly (readonly NodeId[])[] }
  | { readonly heal: 'all' | readonly Pair[] }
  | { readonly cut: readonly Pair[] }
  | { readonly cutOneWay: readonly Pair[] }
  | { readonly links: 'full' | readonly Pair[] }
  | { readonly loss: number }
  | { readonly duplicate: number }
  | { readonly slow: readonly Pair[]; readonly delayMs: Span }
  | { readonly late: number }
  /** Nodes act late, and their messages take longer: from now on, over a ramp, or for a while. */
  | {
      readonly load: 'all' | readonly NodeId[]
      readonly lateMs?: Span
      readonly delayMs?: Span
      /** The exponent of a heavy tail between the two ends of each span. */
      readonly tail?: number
      readonly overMs?: number
      readonly forMs?: number
    }
  | { readonly hang: 'store'; readonly forMs: number }
  | { readonly pause: NodeId; readonly forMs: number }
  | { readonly suspend: NodeId; readonly forMs: number }
  /** The node's clock runs at 1 + ppm / 1,000,000 from now on. */
  | { readonly drift: NodeId; readonly ppm: number }
  /** The node's clock jumps. */
  | { readonly skew: NodeId; readonly byMs: number }
  /** Messages in flight, by their numbers in the trace. */
  | { readonly drop: number }
  | { readonly delay: number; readonly forMs: number }
  | { readonly copy: number; readonly afterMs?: number }
  | { readonly rules: readonly NetworkRule[] }
  | { readonly unwritable: NodeId }
  | { readonly writable: NodeId }
  | { readonly command: Command & { readonly node: NodeId } }
)

/** One atomic step of an untimed world. */
export type ScheduleStep =
  | {
      readonly node: NodeId
      readonly do: 'deliver'
      readonly from: NodeId
      /**
       * On unordered links: the index among the messages in flight from there, in the order of their
       * canonical texts.
       */
      readonly nth?: number
      readonly crashAfter?: number
    }
  | { readonly node: NodeId; readonly do: 'timer'; readonly name: string; readonly crashAfter?: number }
  | { readonly node: NodeId; readonly do: 'command'; readonly command: Command; readonly crashAfter?: number }
  | { readonly node: NodeId; readonly do: 'crash' }
  /** Like `recover`. `nth`: the value that the node's own register is read as, if there is a choice. */
  | {
      readonly node: NodeId
      readonly do: 'recover' | 'reincarnate'
      readonly nth?: number
      readonly crashAfter?: number
    }
  | { readonly node: NodeId; readonly do: 'cut' | 'heal'; readonly peer: NodeId }
  /**
   * Register steps. `tickDisk`: the counter is written (`to`: the epoch of a jump). `tickMem`: a write is
   * acknowledged. `write`: an election's write. `read`: a read of another node's register; the last read of a
   * round includes its consequences. `late`: the node crashes while its write is in flight; `land`: that
   * write takes place. `delete`: the register of a removed node. `examine`: another node reads the register
   * in order to remove its owner; `bury`: it writes a tombstone there (`nth`: which of the possible
   * tombstones).
   */
  | { readonly node: NodeId; readonly do: 'tickDisk'; readonly to?: number; readonly late?: true }
  | { readonly node: NodeId; readonly do: 'write'; readonly late?: true }
  | { readonly node: NodeId; readonly do: 'read'; readonly of: NodeId; readonly nth?: number }
  | { readonly node: NodeId; readonly do: 'tickMem' }
  | { readonly node: NodeId; readonly do: 'land' }
  | { readonly node: NodeId; readonly do: 'examine' }
  | { readonly node: NodeId; readonly do: 'bury'; readonly nth?: number }
  | { readonly node: NodeId; readonly do: 'delete' }
  /** With link notifications: the node's end moves by itself, or catches up with the other end. */
  | {
      readonly node: NodeId
      readonly do: 'flip' | 'follow'
      readonly peer: NodeId
      readonly crashAfter?: number
    }
  /** A clock tick for all running nodes, of the length that the protocol's definition gives. */
  | { readonly do: 'tick' }

export type Scenario = {
  readonly protocol: string
  readonly nodes: readonly NodeId[]
  /** With all defaults filled in. */
  readonly options: PlainObject
  /** Options of nodes that are configured differently, by node id, with all defaults filled in. */
  readonly nodeOptions?: { readonly [node: string]: PlainObject } | undefined
  readonly seed: number
  readonly links: 'full' | readonly Pair[]
  readonly network: Network
  /** Null if the protocol uses no registers. */
  readonly registers: StoreSettings | null
  /** Clock drift and timer lateness. */
  readonly clocks: { readonly driftPpm: number; readonly lateMs: Span }
  readonly initial: { readonly leader: NodeId; readonly members: readonly NodeId[] } | null
  readonly events: readonly ScenarioEvent[]
  readonly untilMs: number
  readonly checkpointsMs: readonly number[]
  /** Replaces time: the world performs exactly these steps. */
  readonly schedule: readonly ScheduleStep[] | null
}
