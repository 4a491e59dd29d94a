/**
 * The scenario file: a small world and what befalls it. The format is public; docs/reference/scenarios.md describes it.
 *
 * Durations stay in milliseconds here, as people write them; the world counts in microseconds.
 */
import type { Command, NodeId, PlainObject } from '../../core/index.ts'

export type Pair = readonly [NodeId, NodeId]
/** A duration in milliseconds: exactly, or anything from the first to the second. */
export type Span = number | readonly [least: number, most: number]

export type NetworkRule = {
  readonly from?: NodeId
  readonly to?: NodeId
  readonly kind?: string
  readonly delayMs?: Span
  readonly drop?: boolean
  /** Probability that a message to which the rule applies is lost. */
  readonly loss?: number
}

export type Network = {
  readonly delayMs: Span
  readonly loss: number
  readonly duplicate: number
  /** Whether each link keeps the order of sending; as the protocol assumes, unless said otherwise. */
  readonly fifo: boolean
  readonly rules: readonly NetworkRule[]
  /** Where nodes are told of their links: by how many transitions an end may lead, and whether frames bear labels. */
  readonly slack?: number | undefined
  readonly labelled?: boolean | undefined
}

/** The store of shared registers, for protocols that use them. */
export type StoreSettings = {
  readonly delayMs: Span
  /** How often an operation is late, and then by how much. */
  readonly late: number
  readonly lateMs: Span
  /** When a caller gives up: the outcome is unknown to it. */
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
  | { readonly hang: 'store'; readonly forMs: number }
  | { readonly pause: NodeId; readonly forMs: number }
  | { readonly suspend: NodeId; readonly forMs: number }
  | { readonly rules: readonly NetworkRule[] }
  | { readonly unwritable: NodeId }
  | { readonly writable: NodeId }
  | { readonly command: Command & { readonly node: NodeId } }
)

/** One atomic step of a world without time. */
export type ScheduleStep =
  | {
      readonly node: NodeId
      readonly do: 'deliver'
      readonly from: NodeId
      /** Which of the messages in flight from there, in the order of their canonical texts, when links keep no order. */
      readonly nth?: number
      readonly crashAfter?: number
    }
  | { readonly node: NodeId; readonly do: 'timer'; readonly name: string; readonly crashAfter?: number }
  | { readonly node: NodeId; readonly do: 'command'; readonly command: Command; readonly crashAfter?: number }
  | { readonly node: NodeId; readonly do: 'crash' }
  /** The same; `nth`: what the own register is read as, where there is a choice. */
  | {
      readonly node: NodeId
      readonly do: 'recover' | 'reincarnate'
      readonly nth?: number
      readonly crashAfter?: number
    }
  | { readonly node: NodeId; readonly do: 'cut' | 'heal'; readonly peer: NodeId }
  /**
   * Registers. The counter goes to the register (`to`: the epoch of a jump), and is acknowledged; a write of an election
   * and its acknowledgement; a read of one other, the last of a round with what follows from it. `late`: the node
   * crashes, and its write is still to come, when it lands. `delete`: the register of a node that is gone.
   * `examine`: another node reads the register in order to remove its owner; `bury`: it writes a tombstone there (`nth`:
   * which of those that follow from what it read).
   */
  | { readonly node: NodeId; readonly do: 'tickDisk'; readonly to?: number; readonly late?: true }
  | { readonly node: NodeId; readonly do: 'write'; readonly late?: true }
  | { readonly node: NodeId; readonly do: 'read'; readonly of: NodeId; readonly nth?: number }
  | { readonly node: NodeId; readonly do: 'tickMem' }
  | { readonly node: NodeId; readonly do: 'land' }
  | { readonly node: NodeId; readonly do: 'examine' }
  | { readonly node: NodeId; readonly do: 'bury'; readonly nth?: number }
  | { readonly node: NodeId; readonly do: 'delete' }
  /** Where nodes are told of their links: the node's end moves by itself, or after the other has moved. */
  | {
      readonly node: NodeId
      readonly do: 'flip' | 'follow'
      readonly peer: NodeId
      readonly crashAfter?: number
    }
  /** Time passes for every running node alike, by what the protocol's definition calls a tick. */
  | { readonly do: 'tick' }

export type Scenario = {
  readonly protocol: string
  readonly nodes: readonly NodeId[]
  /** As resolved: every option has its value. */
  readonly options: PlainObject
  /** Options of single nodes that were set up differently, by their ids as text; as resolved, too. */
  readonly nodeOptions?: { readonly [node: string]: PlainObject } | undefined
  readonly seed: number
  readonly links: 'full' | readonly Pair[]
  readonly network: Network
  /** Null where the protocol shares none. */
  readonly registers: StoreSettings | null
  /** How far clocks drift, and how late timers fire. */
  readonly clocks: { readonly driftPpm: number; readonly lateMs: Span }
  readonly initial: { readonly leader: NodeId; readonly members: readonly NodeId[] } | null
  readonly events: readonly ScenarioEvent[]
  readonly untilMs: number
  readonly checkpointsMs: readonly number[]
  /** Replaces time altogether: the world does exactly these steps. */
  readonly schedule: readonly ScheduleStep[] | null
}
