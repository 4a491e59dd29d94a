/**
 * Plausibility checks: what a message may say to a node that already knows something. A peer that holds the key may be
 * buggy or outdated. A node does not record a message that cannot be true, and the event names its sender.
 *
 * Beyond FREE_VIEWS, which no group reaches by itself, a view number may be ahead of the promise of the node by a bounded
 * step per message. So even millions of messages cannot use up the numbers. A node that receives a larger number promises
 * the largest plausible one, and its peers send the refused messages again. So two correct nodes, one of which was pushed
 * ahead by a faulty node, meet after as many messages as the faulty node has sent.
 */
import type { Identity, NodeId } from '../../core/index.ts'
import {
  type Members,
  MOST_VIEWS,
  NO_VIEW,
  type OmegaMessage,
  type OmegaState,
  type OmegaView,
  type Status,
} from './state.ts'
import { isNewer, lifeIn } from './views.ts'

/** One view per second for 136 years. */
export const FREE_VIEWS = 2 ** 32
/** How far a number beyond FREE_VIEWS may be ahead of the highest promise. */
export const VIEW_STEP = 2 ** 14

export type Implausible = {
  readonly field: string
  readonly problem: string
  /** The largest plausible number, if the message contains a larger one. */
  readonly ceiling?: number
}

/** The largest number that a node finds plausible, by the number of its promise. */
export function ceilingOf(promised: number): number {
  return Math.min(MOST_VIEWS, Math.max(FREE_VIEWS, promised + VIEW_STEP))
}

export function findImplausible(
  { self, nodes }: Identity,
  state: OmegaState,
  from: NodeId,
  body: OmegaMessage,
): Implausible | null {
  const ceiling = ceilingOf(state.promised[0])

  const checkNumber = (field: string, n: number): Implausible | null =>
    n <= ceiling
      ? null
      : {
          field,
          problem: `is ${n}, more than ${VIEW_STEP} ahead of the highest promise of this node`,
          ceiling,
        }

  const checkNodes = (field: string, members: Members): Implausible | null =>
    members.every(([id]) => nodes.includes(id))
      ? null
      : { field, problem: 'contains nodes that are not in this group' }

  const checkView = (field: string, { id, members }: OmegaView): Implausible | null => {
    const wrong = checkNumber(`${field}.id`, id[0]) ?? checkNodes(`${field}.members`, members)
    if (wrong !== null || id[0] === 0) return wrong
    return members.length > 1
      ? null
      : { field: `${field}.members`, problem: 'must have at least two members' }
  }

  const checkInstalledView = (field: string, view: OmegaView): Implausible | null => {
    const wrong = checkView(field, view)
    // The view names a later life of this node: the node has lost its data, and must learn the view.
    const isPast = lifeIn(view.members, self) <= state.life
    if (wrong !== null || !isPast || !isUnpromised(self, state, view)) return wrong
    return { field, problem: 'contains this node, which never promised that view' }
  }

  const checkAttempts = (attempts: readonly OmegaView[]): Implausible | null => {
    // One per proposer, and one overtaken attempt.
    if (attempts.length > nodes.length + 1)
      return { field: 'attempts', problem: `must have at most ${nodes.length + 1} entries` }
    for (const attempt of attempts) {
      const wrong = checkView('attempts', attempt)
      if (wrong !== null) return wrong
    }
    return null
  }

  switch (body.kind) {
    case 'status': {
      const { view, formed, promised, attempts, life, ok } = body
      const wrong =
        checkInstalledView('view', view) ??
        checkView('formed', formed) ??
        checkNumber('promised', promised) ??
        checkAttempts(attempts)
      if (wrong !== null) return wrong
      return ok && lifeIn(view.members, from) !== life
        ? { field: 'view', problem: 'does not contain its sender' }
        : null
    }
    case 'cand':
      return (
        checkNumber('n', body.n) ?? checkNumber('base', body.base[0]) ?? checkNodes('members', body.members)
      )
    case 'accept':
      return checkNumber('n', body.n) ?? checkView('formed', body.formed) ?? checkAttempts(body.attempts)
    default:
      return checkNumber('n', body.n)
  }
}

/**
 * Whether this node is a member of the view and never promised it. All members promise a view before it is installed, so
 * such a view is not installed. A node without any promise proves nothing: it may have lost its data, and must learn it.
 */
export function isUnpromised(self: NodeId, { promised }: OmegaState, { id, members }: OmegaView): boolean {
  return promised[0] !== 0 && lifeIn(members, self) !== 0 && isNewer(id, promised)
}

/**
 * Reduces an implausible status to what is harmless: the sender is linked, dead and in no view. Without any status the
 * other nodes would wait for one.
 */
export function neutralizeStatus({ life, links, torn, aside }: Status): Status {
  return { life, ok: false, view: NO_VIEW, promised: 0, formed: NO_VIEW, attempts: [], links, torn, aside }
}
