/**
 * What a peer may say to a node of Omega+ that knows something already. A peer that holds the key may be buggy or old:
 * what cannot be true is not recorded, and its sender is named.
 *
 * View numbers run ahead of what a node has promised by a bounded step for each message, once they are beyond what any
 * group reaches by itself: so no single message, and no million of them, uses the numbers up.
 */
import type { Identity, NodeId } from '../../core/index.ts'
import {
  type Members,
  NO_VIEW,
  type OmegaMessage,
  type OmegaState,
  type OmegaView,
  type Status,
} from './state.ts'
import { isNewer, lifeIn } from './views.ts'

/** A view a second for 136 years. */
export const FREE_VIEWS = 2 ** 32
/** How far a number may be ahead of what was promised, beyond that. */
export const VIEW_STEP = 2 ** 14

export type Implausible = { readonly field: string; readonly problem: string }

export function implausible(
  { self, nodes }: Identity,
  state: OmegaState,
  from: NodeId,
  body: OmegaMessage,
): Implausible | null {
  const ceiling = Math.max(FREE_VIEWS, state.promised[0] + VIEW_STEP)

  const ahead = (field: string, n: number): Implausible | null =>
    n <= ceiling
      ? null
      : { field, problem: `is ${n}, more than ${VIEW_STEP} ahead of what was promised here` }

  const strangers = (field: string, members: Members): Implausible | null =>
    members.every(([id]) => nodes.includes(id))
      ? null
      : { field, problem: 'names nodes that are not of this group' }

  const ofView = (field: string, { id, members }: OmegaView): Implausible | null => {
    const wrong = ahead(`${field}.id`, id[0]) ?? strangers(`${field}.members`, members)
    if (wrong !== null || id[0] === 0) return wrong
    return members.length > 1
      ? null
      : { field: `${field}.members`, problem: 'a view has two members at least' }
  }

  const ofInstalled = (field: string, view: OmegaView): Implausible | null => {
    const wrong = ofView(field, view)
    // Under a later life than its own: this node has lost its data, and must learn it.
    const isPast = lifeIn(view.members, self) <= state.life
    if (wrong !== null || !isPast || !isForeign(self, state, view)) return wrong
    return { field, problem: 'is a view with this node in it that it has never promised' }
  }

  const ofAttempts = (attempts: readonly OmegaView[]): Implausible | null => {
    // One per proposer, and an overtaken one.
    if (attempts.length > nodes.length + 1)
      return { field: 'attempts', problem: 'has more entries than there are nodes' }
    for (const attempt of attempts) {
      const wrong = ofView('attempts', attempt)
      if (wrong !== null) return wrong
    }
    return null
  }

  switch (body.kind) {
    case 'status': {
      const { view, formed, promised, attempts, life, ok } = body
      const wrong =
        ofInstalled('view', view) ??
        ofView('formed', formed) ??
        ahead('promised', promised) ??
        ofAttempts(attempts)
      if (wrong !== null) return wrong
      return ok && lifeIn(view.members, from) !== life
        ? { field: 'view', problem: 'does not have its sender in it' }
        : null
    }
    case 'cand':
      return ahead('n', body.n) ?? ahead('base', body.base[0]) ?? strangers('members', body.members)
    case 'accept':
      return ahead('n', body.n) ?? ofView('formed', body.formed) ?? ofAttempts(body.attempts)
    default:
      return ahead('n', body.n)
  }
}

/**
 * Everybody in a view has promised it before it was installed. Whether this node is in it and has not. (A node that never
 * promised anything shows nothing: it may have lost its data, and must learn it.)
 */
export function isForeign(self: NodeId, { promised }: OmegaState, { id, members }: OmegaView): boolean {
  return promised[0] !== 0 && lifeIn(members, self) !== 0 && isNewer(id, promised)
}

/**
 * What is left of a status that cannot be true: its sender is there, and belongs to no view. It must not keep the others
 * waiting for another one.
 */
export function harmless({ life, links, torn, aside }: Status): Status {
  return { life, ok: false, view: NO_VIEW, promised: 0, formed: NO_VIEW, attempts: [], links, torn, aside }
}
