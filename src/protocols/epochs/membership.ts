/**
 * Adding and removing nodes, section 4(d).
 *
 * Adding a node needs no step: a node that has never ticked reads as a block of zeros, so it may start at any time.
 *
 * Removing a node needs two writes. If its register were deleted too early, another node could win an epoch that the
 * removed node has led. So, once the node is fenced or permanently dead, another node writes a tombstone in its name:
 * the counter one above its last epoch, without a vote. The removed node could have taken that step itself. The register
 * is deleted only when all of this holds:
 *
 *  - every other register has reached the tombstone's counter;
 *  - every lease that the removed node's stamp stands for is over;
 *  - the tombstone has existed for the length of a lease, so that all nodes have read it.
 *
 * Followers raise their counters for this, and for nothing else.
 *
 * Section 4(d) writes a counter above every epoch that any node has seen. One above the removed node's own counter is
 * enough, since that node is in no other epoch, and it never overtakes a leader. Each write is a compare-and-swap on the
 * block that was read. So several nodes may remove one node at the same time, and a node that is alive after all loses
 * no acknowledged write.
 */
import type { Micros, NodeId } from '../../core/index.ts'
import type { Removal, Timed } from './state.ts'

/** The next step of the node that removes another. */
export type RemovalTask = { readonly do: 'read' | 'delete'; readonly of: NodeId }

/** `self`, `ctr`: of the node that removes; `wait`: how long nodes wait for the end of a lease. */
export function nextRemovalTask(
  self: NodeId,
  { removal, seen }: Timed,
  ctr: number,
  wait: Micros,
  now: Micros,
): RemovalTask | null {
  if (removal === null) return null
  const { of, stage, to, since } = removal
  if (stage === 'read') return { do: 'read', of }
  if (stage !== 'wait') return null
  const isReached =
    ctr >= to &&
    // What it has seen of itself may be from its previous incarnation.
    seen.every((other) => other.of === of || other.of === self || other.ctr >= to || other.gone)
  // Once the stamp is deleted, no node would wait for the lease that it stands for.
  const isOver = seen.every((other) => other.of !== of || other.lctr === 0 || other.at + wait <= now)
  // A leader that reaches the counter by a renewal reads the tombstone afterwards. If the register were deleted by then,
  // the leader would see a block that went back, and raise the alarm.
  const isRead = since !== null && since + wait <= now
  return isReached && isOver && isRead ? { do: 'delete', of } : null
}

/** The greatest counter of a tombstone that this node has not reached yet; null if there is none. */
export function counterToReach({ seen }: Timed, ctr: number): number | null {
  let most = ctr
  for (const other of seen) if (other.gone && other.ctr > most) most = other.ctr
  return most > ctr ? most : null
}

/** Starts a removal whose progress is unknown again, with a read. */
export function restartRemoval(removal: Removal | null): Removal | null {
  return removal === null || removal.stage === 'read'
    ? removal
    : { of: removal.of, stage: 'read', to: 0, since: null }
}
