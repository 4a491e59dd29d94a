/**
 * The scenario file: a small world and what befalls it. The format is public; docs/scenarios.md describes it.
 *
 * Durations stay in milliseconds here, as people write them; the world counts in microseconds.
 */
import type { Command, NodeId, PlainObject } from '../core/index.ts'

export type Pair = readonly [NodeId, NodeId]
/** A duration in milliseconds: exactly, or anything from the first to the second. */
export type Span = number | readonly [least: number, most: number]

export type NetworkRule = {
  readonly from?: NodeId
  readonly to?: NodeId
  readonly kind?: string
  readonly delayMs?: Span
  readonly drop?: boolean
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
  | { readonly pause: NodeId; readonly forMs: number }
  | { readonly suspend: NodeId; readonly forMs: number }
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
  | { readonly node: NodeId; readonly do: 'recover'; readonly crashAfter?: number }
  | { readonly node: NodeId; readonly do: 'cut' | 'heal'; readonly peer: NodeId }
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
  readonly seed: number
  readonly links: 'full' | readonly Pair[]
  readonly network: Network
  /** How far clocks drift, and how late timers fire. */
  readonly clocks: { readonly driftPpm: number; readonly lateMs: Span }
  readonly initial: { readonly leader: NodeId; readonly members: readonly NodeId[] } | null
  readonly events: readonly ScenarioEvent[]
  readonly untilMs: number
  readonly checkpointsMs: readonly number[]
  /** Replaces time altogether: the world does exactly these steps. */
  readonly schedule: readonly ScheduleStep[] | null
}
