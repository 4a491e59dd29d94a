import { compareIds, type Micros, msOf, type NodeId, withId, withoutId } from '../../core/index.ts'
import type { Observation } from '../trace/index.ts'
import { leadsNow } from './memory/leases.ts'
import type { Spec } from './spec.ts'

type TermEvents = {
  /** The nodes whose application was notified of a term, with the token; in id order. */
  readonly leading: readonly { readonly node: NodeId; readonly token: number | null }[]
  /** The node that was just notified and has yet to show it in its view. */
  readonly unshown: { readonly node: NodeId; readonly at: Micros } | null
  /** Nodes that have started and not yet shown a view. */
  readonly starting: readonly NodeId[]
  readonly violation: string | null
}

type ViewSeen = Observation & { readonly type: 'view' }
type OutputSeen = Observation & { readonly type: 'output' }

/**
 * Applications act on notifications. So they must receive one for every term, in order, and none for a term
 * that is already over. A crash ends a term without a notification. A settled world may start with a leader
 * whose application was not notified.
 */
export const toldInPairs: Spec<TermEvents> = {
  name: 'told-in-pairs',
  title: 'applications are notified of the start and the end of each term in turn, and never after its lease',
  source:
    'Fetzer and Cristian, section VIII (newLeader); with what they print, the time told may have passed',
  when: 'always',
  fold: {
    begin: () => ({ leading: [], unshown: null, starting: [], violation: null }),
    next(memory, seen) {
      const checked = memory.unshown === null ? memory : overdue(memory, memory.unshown, seen)
      switch (seen.type) {
        case 'output':
          return afterTermEvent(checked, seen)
        case 'view':
          return afterView(checked, seen)
        case 'up':
          return { ...forget(checked, seen.node), starting: withId(checked.starting, seen.node) }
        case 'down':
          return forget(checked, seen.node)
        default:
          return checked
      }
    },
  },
  judge({ violation }, seen) {
    if (violation !== null) return { violated: violation }
    return seen.type === 'output' && isTermEvent(seen) ? 'held' : 'not concerned'
  },
}

function isTermEvent({ event }: OutputSeen): boolean {
  return event.type === 'elected' || event.type === 'demoted'
}

/** A node whose application is notified of a term shows it at once, or crashes. */
function overdue(
  memory: TermEvents,
  { node, at }: NonNullable<TermEvents['unshown']>,
  seen: Observation,
): TermEvents {
  const isTakenBack = seen.type === 'output' && seen.node === node && seen.event.type === 'demoted'
  if (seen.at === at && seen.type !== 'ended' && !isTakenBack) return memory
  return withViolation(
    { ...memory, unshown: null },
    `${node} was notified of a term at ${msOf(at)} ms, but did not lead`,
  )
}

function afterTermEvent(memory: TermEvents, seen: OutputSeen): TermEvents {
  if (!isTermEvent(seen)) return memory
  const { node, at, event } = seen
  const token = (event['token'] ?? null) as number | null
  const known = memory.leading.find((other) => other.node === node)
  if (event.type === 'elected') {
    const next = { ...memory, leading: withTerm(memory.leading, node, token), unshown: { node, at } }
    return known === undefined ? next : withViolation(next, `${node} was notified twice of a term`)
  }
  const next = { ...memory, leading: withoutTerm(memory.leading, node) }
  if (known === undefined)
    return withViolation(next, `${node} was notified of the end of a term that had not begun`)
  return known.token === token
    ? next
    : withViolation(
        next,
        `${node} was notified of a term with token ${known.token}, then of the end of token ${token}`,
      )
}

function afterView(memory: TermEvents, seen: ViewSeen): TermEvents {
  const { node, at, until, view } = seen
  const starting = withoutId(memory.starting, node)
  const isFirst = starting !== memory.starting
  const isAwaited = memory.unshown?.node === node
  const known = memory.leading.find((other) => other.node === node)
  if (!leadsNow(seen)) {
    if (!isAwaited) return isFirst ? { ...memory, starting } : memory
    const why =
      view.role === 'leader' && until !== null
        ? `${node} was notified at ${msOf(at)} ms of a term that ended at ${msOf(until)} ms`
        : `${node} was notified of a term at ${msOf(at)} ms, but is ${view.role}`
    return withViolation({ ...memory, unshown: null, starting }, why)
  }
  if (known === undefined) {
    const next = { ...memory, leading: withTerm(memory.leading, node, view.token), starting }
    return isFirst ? next : withViolation(next, `${node} leads, but its application was not notified`)
  }
  if (known.token !== view.token) {
    return withViolation(
      memory,
      `${node} was notified of a term with token ${known.token}, but leads with token ${view.token}`,
    )
  }
  return isFirst || isAwaited ? { ...memory, unshown: null, starting } : memory
}

function forget(memory: TermEvents, node: NodeId): TermEvents {
  const leading = withoutTerm(memory.leading, node)
  const unshown = memory.unshown?.node === node ? null : memory.unshown
  return { ...memory, leading, unshown, starting: withoutId(memory.starting, node) }
}

function withTerm(leading: TermEvents['leading'], node: NodeId, token: number | null): TermEvents['leading'] {
  return [...withoutTerm(leading, node), { node, token }].sort((a, b) => compareIds(a.node, b.node))
}

function withoutTerm(leading: TermEvents['leading'], node: NodeId): TermEvents['leading'] {
  return leading.filter((other) => other.node !== node)
}

function withViolation(memory: TermEvents, why: string): TermEvents {
  return memory.violation === null ? { ...memory, violation: why } : memory
}
