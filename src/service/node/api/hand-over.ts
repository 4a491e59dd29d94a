/** What follows a hand-over to a chosen node: who leads, with which token, and how soon. */
import type { NodeId } from '../../../core/index.ts'
import type { ElectionBackend } from '../election/election.ts'
import type { Timers } from '../election/timers.ts'
import { CommandRefusedError } from './errors.ts'
import type { Loss } from './loss-reason.ts'
import { type ObservableNode, observeViews } from './notifier.ts'
import type { TermManager } from './term-manager.ts'

/** How long a hand-over waits until it knows the next term. */
export const SUCCESSOR_TIMEOUT_MS = 5000

export type HandOver = {
  /** The chosen node. */
  readonly to: NodeId
  /** False when the work did not end before `signal` was aborted or `drainMs` had passed: then the lease expires. */
  readonly released: boolean
  /** The leader of the next term; null if this node did not learn of it within 5 s. */
  readonly leader: { readonly id: NodeId; readonly token: number | null } | null
  /** Milliseconds from the release of the lease until this node knew that leader; null without one. */
  readonly afterMs: number | null
  /** What went wrong; null when the chosen node leads. */
  readonly problem: string | null
}

/** What a hand-over needs of the node that leads. */
export type LeadingNode = {
  readonly node: ObservableNode
  readonly terms: Pick<TermManager, 'term' | 'drain'>
  readonly backend: Pick<ElectionBackend, 'handOverProblem' | 'lease'> | null
  readonly timers: Timers
}

/** Ends the current term in favour of a node, and waits for its successor. Throws CommandRefusedError if it cannot. */
export async function handOverTerm(
  { node, terms, backend, timers }: LeadingNode,
  to: NodeId,
  signal: AbortSignal | undefined,
): Promise<HandOver> {
  const isLeading = terms.term !== null && terms.term.remaining() > 0
  const problem = isLeading ? ((await backend?.handOverProblem(to)) ?? null) : 'this node does not lead'
  if (problem !== null) throw new CommandRefusedError('stepDown', problem)
  const { term } = terms
  const detail = `this node handed over to ${to}`
  const loss: Loss = { reason: 'stepped down', detail, kind: 'handed-over' }
  if (term !== null && !(await terms.drain(term, loss, signal, to))) return heldTerm(to)
  const now = (): number => (backend?.lease().now ?? 0) / 1000
  return awaitSuccessor(node, { to, former: term?.token ?? null, timers, signal, now })
}

/** The result where the work of the term has not ended. */
export function heldTerm(to: NodeId): HandOver {
  const problem = `the work of this node has not ended, so its lease is not released; ${to} can lead when the lease has expired`
  return { to, released: false, leader: null, afterMs: null, problem }
}

export type SuccessorWait = {
  readonly to: NodeId
  /** The token of the term that was released. */
  readonly former: number | null
  readonly timers: Timers
  /** Ends the wait before its timeout. */
  readonly signal: AbortSignal | undefined
  /** A clock in milliseconds. */
  now(): number
}

/** Waits for the first leader after the released term. */
export async function awaitSuccessor(
  node: ObservableNode,
  { to, former, timers, signal, now }: SuccessorWait,
): Promise<HandOver> {
  const began = now()
  const timeout = new AbortController()
  const cancel = timers.after(SUCCESSOR_TIMEOUT_MS, () => timeout.abort())
  const signals = signal === undefined ? [timeout.signal] : [timeout.signal, signal]
  try {
    for await (const { leader } of observeViews(node, AbortSignal.any(signals))) {
      if (leader === null || leader.token === former) continue
      const afterMs = Math.round(now() - began)
      const problem = leader.id === to ? null : `${leader.id} leads next, not ${to}`
      return { to, released: true, leader: { id: leader.id, token: leader.token }, afterMs, problem }
    }
  } finally {
    cancel()
  }
  const problem = node.isClosed()
    ? 'this node was closed before it knew the next leader'
    : timeout.signal.aborted
      ? `this node knows no leader ${SUCCESSOR_TIMEOUT_MS / 1000} s after it released its lease`
      : 'the wait was aborted before this node knew the next leader'
  return { to, released: true, leader: null, afterMs: null, problem }
}
