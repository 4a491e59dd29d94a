/** Pauses and suspensions: a stalled node handles no input until its stall ends. */
import type { Micros } from '../../core/index.ts'
import type { Pending, SimNode } from './world-node.ts'

type Push = (time: Micros, pending: Pending) => void

/** Stalls the node for a duration. A longer stall in progress stays as it is. */
export function stall(node: SimNode, length: Micros, now: Micros, push: Push): void {
  const until = now + length
  if (!node.up || until <= node.stalledUntil) return
  node.stalledUntil = until
  push(until, { type: 'resume', node, isLast: false })
}

/**
 * Ends a stall; false if it goes on. As in a real process, timers that became due during the stall fire before messages
 * are handled, and messages that arrive at this instant come after the waiting ones. So the backlog is released only
 * after all events of this instant.
 */
export function resume({ node, isLast }: Pending & { type: 'resume' }, now: Micros, push: Push): boolean {
  if (node.stalledUntil === 0 || node.stalledUntil > now) return false
  if (!isLast) {
    push(now, { type: 'resume', node, isLast: true })
    return false
  }
  node.stalledUntil = 0
  for (const waiting of node.backlog) push(now, waiting)
  node.backlog = []
  return true
}
