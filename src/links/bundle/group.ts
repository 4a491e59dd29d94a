/** A group in a bundle, the bundle's messages and its commands. */
import type { Command, Message, Micros, NodeId, Plain, PlainObject, Protocol } from '../../core/index.ts'
import type { SessionTerms, Yardstick } from '../fail-aware/fail-aware.ts'

export type Group = {
  readonly protocol: Protocol
  /** The kinds of its messages; others are ignored. */
  readonly kinds: readonly string[]
  /** Its nodes; messages of others are ignored. */
  readonly nodes: readonly NodeId[]
  /** The configuration that all nodes must share. */
  readonly agreed: PlainObject
  /** When a message is timely, and what the group needs from the sessions. */
  readonly terms: Yardstick & SessionTerms
  /** Timer slack: lets timers of several groups coalesce into one step. */
  readonly slack: Micros
  /** Its state after its nodes have changed. */
  adopt(state: unknown, former: readonly NodeId[]): PlainObject
}

/** With the digest of its configuration. */
export type ConfiguredGroup = Group & { readonly config: number }

/** Creates a group from its specification. Deterministic. */
export type OpenGroup = (name: string, spec: PlainObject) => Group

/** A message of one group. */
export type Part = {
  readonly group: string
  /** The digest of the sender's configuration. */
  readonly config: number
  readonly body: Message
}

/** All messages from one process to another in one step. */
export type Bundle = { readonly kind: 'bundle'; readonly parts: readonly Part[] }

export type BundleCommand =
  /** `stable`: the group's stored data, if it was not part of the data at the start. */
  | (Command & {
      readonly do: 'join'
      readonly group: string
      readonly spec: PlainObject
      readonly stable?: Plain
    })
  | (Command & { readonly do: 'regroup'; readonly group: string; readonly spec: PlainObject })
  | (Command & { readonly do: 'leave'; readonly group: string })
  /** Excludes these groups for a while: their messages are lost, their timers wait. */
  | (Command & { readonly do: 'hold'; readonly groups: readonly string[]; readonly forMicros: Micros })
  | (Command & { readonly do: 'tell'; readonly group: string; readonly command: Command })

/** The size limit of a message. A part that is too large for one travels alone. */
export type Room = { readonly most: number; weigh(part: Part): number }
