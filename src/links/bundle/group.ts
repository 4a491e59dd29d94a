/** What a bundle knows of a group, what it sends, and what it may be told. */
import type { Command, Message, Micros, NodeId, Plain, PlainObject, Protocol } from '../../core/index.ts'
import type { SessionTerms, Yardstick } from '../fail-aware/fail-aware.ts'

export type Group = {
  readonly protocol: Protocol
  /** All that may speak in it. */
  readonly nodes: readonly NodeId[]
  /** What all of them must be configured with alike. */
  readonly agreed: PlainObject
  /** What its messages are judged by, and what it needs of the sessions. */
  readonly terms: Yardstick & SessionTerms
  /** So late may its timers be, that those of many groups fire in one step. */
  readonly slack: Micros
  /** Its state, when others may speak in it than before. */
  adopt(state: unknown, former: readonly NodeId[]): PlainObject
}

/** With the digest of what its processes must agree on. */
export type OpenedGroup = Group & { readonly config: number }

/** Makes a group of its description: the same for the same words. */
export type OpenGroup = (name: string, spec: PlainObject) => Group

/** One group's message. */
export type Part = {
  readonly group: string
  /** A digest of what its sender is configured with. */
  readonly config: number
  readonly body: Message
}

/** What one process has to say to another at one moment, in whatever groups. */
export type Bundle = { readonly kind: 'bundle'; readonly parts: readonly Part[] }

export type BundleCommand =
  /** `stable`: what its process kept of the group, where the bundle was not told at the start. */
  | (Command & {
      readonly do: 'join'
      readonly group: string
      readonly spec: PlainObject
      readonly stable?: Plain
    })
  | (Command & { readonly do: 'regroup'; readonly group: string; readonly spec: PlainObject })
  | (Command & { readonly do: 'leave'; readonly group: string })
  /** Nothing happens in these groups for so long; what comes is lost, and timers wait. */
  | (Command & { readonly do: 'hold'; readonly groups: readonly string[]; readonly forMicros: Micros })
  | (Command & { readonly do: 'tell'; readonly group: string; readonly command: Command })

/** How much goes into one message: parts are weighed, and a heavy one goes alone. */
export type Room = { readonly most: number; weigh(part: Part): number }
