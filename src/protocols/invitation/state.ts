import type { NodeId } from '../../core/index.ts'
import type { Group } from './messages.ts'

export type InvitationState = {
  readonly status: 'Election' | 'Reorganization' | 'Normal'
  /** The group, whose coordinator is c. */
  readonly group: Group
  /** The members that accepted, as the coordinator knows them (Up); empty elsewhere. */
  readonly up: readonly NodeId[]
  /** The task, d: here the name of the coordinator that gave it. */
  readonly d: NodeId
  /** How many groups this process has made. */
  readonly counter: number
  /** The greatest counter seen in an invitation of each other coordinator, by node. */
  readonly seen: readonly (readonly [NodeId, number])[]
  /** The last question after coordinators: its number, and who said yes; null when none is under way. */
  readonly query: { readonly yes: readonly NodeId[] } | null
  readonly queries: number
  /** The coordinators that were found, while their turn is awaited (soft policy). */
  readonly found: readonly NodeId[] | null
  /** How often the present accept, ready or question was repeated. */
  readonly repeats: number
  /** Who has not answered `ready` yet. */
  readonly unready: readonly NodeId[]
  /** How many questions `areYouThere` in a row went without an answer; null while none is out. */
  readonly misses: number | null
}

/** The counter, unless it is kept in memory only. */
export type InvitationStable = { readonly counter: number }
