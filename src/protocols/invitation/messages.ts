import type { NodeId } from '../../core/index.ts'

/** The identifier of a group: its coordinator, and the counter of that coordinator. */
export type Group = { readonly coordinator: NodeId; readonly counter: number }

export function sameGroup(a: Group, b: Group): boolean {
  return a.coordinator === b.coordinator && a.counter === b.counter
}

/** `answer` answers `accept` and `ready`, as in the lecture; `reply` answers the two questions. */
export type InvitationMessage =
  | { readonly kind: 'areYouCoordinator'; readonly query: number }
  | { readonly kind: 'areYouThere'; readonly group: Group }
  | { readonly kind: 'invitation'; readonly group: Group }
  | { readonly kind: 'accept'; readonly group: Group }
  | { readonly kind: 'ready'; readonly group: Group; readonly d: NodeId }
  | { readonly kind: 'answer'; readonly to: 'accept' | 'ready'; readonly group: Group; readonly yes: boolean }
  | { readonly kind: 'reply'; readonly query: number; readonly yes: boolean }
  | { readonly kind: 'replyThere'; readonly group: Group; readonly yes: boolean }

/** `check`: look for other groups now. */
export type InvitationCommand = { readonly do: 'check' }
