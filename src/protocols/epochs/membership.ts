/**
 * Adding and removing, section 4(d).
 *
 * Adding needs no step: a node that never ticked reads as a block of zeros, so it may begin at any time. Removing does.
 * A register that is deleted too early lets an epoch be won again that its owner had led. So, once the process is fenced
 * or dead for good: its counter is written, in its name, one beyond its last epoch, without a vote (a tombstone; a legal
 * step of that process, had it come back); and only when every other register shows that counter or a greater one, every
 * lease that its stamp tells of is over, and a lease's time has passed for all to read it, is the register deleted.
 * Followers write their counter for that, and for nothing else.
 *
 * The notes write a counter above every epoch that anybody has seen. One above the removed node's own is enough, since
 * it is in no other epoch, and it never overtakes a leader. Each write is compared with the block that was read: several
 * nodes may remove one node at the same time, and a node that lives after all loses no acknowledged write.
 */
import type { Micros, NodeId } from '../../core/index.ts'
import type { Removal, Timed } from './state.ts'

/** What the one who removes has to do next. */
export type Task = { readonly do: 'read' | 'delete'; readonly of: NodeId }

/** `self`, `ctr`: of the one who removes; `wait`: how long others wait for the end of a lease. */
export function nextOfRemoval(
  self: NodeId,
  { removal, seen }: Timed,
  ctr: number,
  wait: Micros,
  now: Micros,
): Task | null {
  if (removal === null) return null
  const { of, stage, to, since } = removal
  if (stage === 'read') return { do: 'read', of }
  if (stage !== 'wait') return null
  const isReached =
    ctr >= to &&
    // Of itself it may have seen what its former life left.
    seen.every((other) => other.of === of || other.of === self || other.ctr >= to || other.gone)
  // Once the stamp is gone nobody else would wait for the lease that it tells of.
  const isOver = seen.every((other) => other.of !== of || other.lctr === 0 || other.at + wait <= now)
  // A leader may reach the counter by renewing. It reads the tombstone then; were that gone by now, a block would have gone back.
  const isRead = since !== null && since + wait <= now
  return isReached && isOver && isRead ? { do: 'delete', of } : null
}

/** The counter of a tombstone that this node has not reached yet; null where there is none. */
export function raisedTo({ seen }: Timed, ctr: number): number | null {
  let most = ctr
  for (const other of seen) if (other.gone && other.ctr > most) most = other.ctr
  return most > ctr ? most : null
}

/** Nobody knows how far a removal got: whoever removes looks, and goes on from there. */
export function begunAgain(removal: Removal | null): Removal | null {
  return removal === null || removal.stage === 'read'
    ? removal
    : { of: removal.of, stage: 'read', to: 0, since: null }
}
