import { compareIds, type Micros, msOf, type NodeId, withId, withoutId } from '../../core/index.ts'
import type { Observation } from '../trace/index.ts'
import { leadsNow } from './memory/leases.ts'
import type { Spec } from './spec.ts'

type Told = {
  /** The nodes whose application was notified of a term, with the token; in id order. */
  readonly leading: readonly { readonly node: NodeId; readonly token: number | null }[]
  /** The node that was just notified and has yet to show it in its view. */
  readonly unshown: { readonly node: NodeId; readonly at: Micros } | null
  /** Nodes that have started and not yet shown a view. */
  readonly starting: readonly NodeId[]
  readonly wrong: string | null
}

type ViewSeen = Observation & { readonly type: 'view' }
type OutputSeen = Observation & { readonly type: 'output' }

/**
 * Applications act on notifications. So they must receive one for every term, in order, and none for a term
 * that is already over. A crash ends a term without a notification. A settled world may start with a leader
 * whose application was not notified.
 */
export const toldInPairs: Spec<Told> = {
  name: 'told-in-pairs',
  title: 'clients are told by turns that they lead and that they no longer do, and never too late to lead',
  source:
    'Fetzer and Cristian, section VIII (newLeader); with what they print, the time told may have passed',
  when: 'always',
  fold: {
    begin: () => ({ leading: [], unshown: null, starting: [], wrong: null }),
    next(memory, seen) {
      const checked = memory.unshown === null ? memory : overdue(memory, memory.unshown, seen)
      switch (seen.type) {
        case 'output':
          return told(checked, seen)
        case 'view':
          return shown(checked, seen)
        case 'up':
          return { ...forget(checked, seen.node), starting: withId(checked.starting, seen.node) }
        case 'down':
          return forget(checked, seen.node)
        default:
          return checked
      }
    },
  },
  judge({ wrong }, seen) {
    if (wrong !== null) return { violated: wrong }
    return seen.type === 'output' && isNews(seen) ? 'held' : 'not concerned'
  },
}

function isNews({ event }: OutputSeen): boolean {
  return event.type === 'elected' || event.type === 'demoted'
}

/** A node whose application is notified of a term shows it at once, or crashes. */
function overdue(memory: Told, { node, at }: NonNullable<Told['unshown']>, seen: Observation): Told {
  const isTakenBack = seen.type === 'output' && seen.node === node && seen.event.type === 'demoted'
  if (seen.at === at && seen.type !== 'ended' && !isTakenBack) return memory
  return amiss({ ...memory, unshown: null }, `${node} was told at ${msOf(at)} ms that it leads, but did not`)
}

function told(memory: Told, seen: OutputSeen): Told {
  if (!isNews(seen)) return memory
  const { node, at, event } = seen
  const token = (event['token'] ?? null) as number | null
  const known = memory.leading.find((other) => other.node === node)
  if (event.type === 'elected') {
    const next = { ...memory, leading: withTerm(memory.leading, node, token), unshown: { node, at } }
    return known === undefined ? next : amiss(next, `${node} was told twice that it leads`)
  }
  const next = { ...memory, leading: withoutTerm(memory.leading, node) }
  if (known === undefined) return amiss(next, `${node} was told that it no longer leads, but it did not`)
  return known.token === token
    ? next
    : amiss(next, `${node} was told that it leads with ${known.token}, then that ${token} has ended`)
}

function shown(memory: Told, seen: ViewSeen): Told {
  const { node, at, until, view } = seen
  const starting = withoutId(memory.starting, node)
  const isFirst = starting !== memory.starting
  const isAwaited = memory.unshown?.node === node
  const known = memory.leading.find((other) => other.node === node)
  if (!leadsNow(seen)) {
    if (!isAwaited) return isFirst ? { ...memory, starting } : memory
    const why =
      view.role === 'leader' && until !== null
        ? `${node} was told at ${msOf(at)} ms that it leads, until ${msOf(until)} ms`
        : `${node} was told at ${msOf(at)} ms that it leads, but is ${view.role}`
    return amiss({ ...memory, unshown: null, starting }, why)
  }
  if (known === undefined) {
    const next = { ...memory, leading: withTerm(memory.leading, node, view.token), starting }
    return isFirst ? next : amiss(next, `${node} leads, and its client was not told`)
  }
  if (known.token !== view.token) {
    return amiss(
      memory,
      `${node} was told that it leads with token ${known.token}, but leads with ${view.token}`,
    )
  }
  return isFirst || isAwaited ? { ...memory, unshown: null, starting } : memory
}

function forget(memory: Told, node: NodeId): Told {
  const leading = withoutTerm(memory.leading, node)
  const unshown = memory.unshown?.node === node ? null : memory.unshown
  return { ...memory, leading, unshown, starting: withoutId(memory.starting, node) }
}

function withTerm(leading: Told['leading'], node: NodeId, token: number | null): Told['leading'] {
  return [...withoutTerm(leading, node), { node, token }].sort((a, b) => compareIds(a.node, b.node))
}

function withoutTerm(leading: Told['leading'], node: NodeId): Told['leading'] {
  return leading.filter((other) => other.node !== node)
}

function amiss(memory: Told, why: string): Told {
  return memory.wrong === null ? { ...memory, wrong: why } : memory
}
