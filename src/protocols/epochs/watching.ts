/**
 * What a node learns from the blocks of other nodes, apart from the election itself: when it first saw their stamps (for
 * the lease), whether any counter advances (for liveness), and which node says that it leads (for callers).
 */
import type { Micros, NodeId } from '../../core/index.ts'
import { type Block, isReleased, moreOf } from './block.ts'
import { oracleAfter } from './oracle.ts'
import type { Seen, Timed } from './state.ts'

/** Takes note of a block. Returns a text if no register could have returned this block: the reason for the alarm. */
export function noteBlock(time: Timed, of: NodeId, block: Block, now: Micros): Timed | string {
  const { ctr, pbal } = block
  const { lctr, lbal, led, term, gone } = moreOf(block)
  const was = time.seen.find((seen) => seen.of === of)
  if (was !== undefined && isBelow(block, was)) {
    // The register of a removed node may have been deleted.
    if (was.gone && ctr === 0) return { ...time, seen: time.seen.filter((seen) => seen !== was) }
    return `the register of ${of} went back from (${was.ctr}, ${was.pbal}) to (${ctr}, ${pbal}): the store loses or replays writes`
  }
  const advances = ctr > time.greatest
  const isHint = led > time.led
  const isFree = isReleased(of, block) && led >= time.led && ctr >= time.greatest
  const oracle = oracleAfter(time.oracle, of, block, now)
  const isSame =
    was !== undefined &&
    was.ctr === ctr &&
    was.pbal === pbal &&
    was.lctr === lctr &&
    was.lbal === lbal &&
    was.gone === gone
  if (isSame && !advances && !isHint) return oracle === time.oracle ? time : { ...time, oracle }
  const at = was !== undefined && was.lctr === lctr && was.lbal === lbal ? was.at : now
  const seen: Seen = { of, ctr, pbal, lctr, lbal, gone, at }
  return {
    ...time,
    seen: isSame ? time.seen : withSeen(time.seen, seen),
    greatest: advances ? ctr : time.greatest,
    advancedAt: advances || (isFree && !time.isVacant) ? now : time.advancedAt,
    hint: isFree ? null : isHint ? of : time.hint,
    led: isHint ? led : time.led,
    term: isHint ? term : time.term,
    last: isHint || isFree ? of : time.last,
    isVacant: isFree || (time.isVacant && !advances),
    oracle,
  }
}

function isBelow({ ctr, pbal }: Block, was: Seen): boolean {
  return ctr < was.ctr || (ctr === was.ctr && pbal < was.pbal)
}

function withSeen(all: readonly Seen[], seen: Seen): readonly Seen[] {
  const place = all.findIndex(({ of }) => of === seen.of)
  return place < 0 ? [...all, seen] : all.with(place, seen)
}

/** START with stamps: when the lease of every node that may have voted for itself is over. */
export function startAfter(seen: readonly Seen[], wait: Micros, now: Micros): Micros {
  let start = now
  for (const { lctr, at } of seen) if (lctr > 0 && at + wait > start) start = at + wait
  return start
}

/** The place in the order of succession: the node after the last leader is first. */
export function rankOf(self: NodeId, last: NodeId | null, nodes: readonly NodeId[]): number {
  const from = last === null ? -1 : nodes.indexOf(last)
  return (nodes.indexOf(self) - from - 1 + 2 * nodes.length) % nodes.length
}

export function shiftTime(time: Timed, by: Micros): Timed {
  const { lease, oracle, removal } = time
  return {
    ...time,
    removal: removal === null || removal.since === null ? removal : { ...removal, since: removal.since + by },
    oracle: oracle === null ? null : { ...oracle, at: oracle.at + by },
    w: time.w + by,
    startAt: time.startAt + by,
    advancedAt: time.advancedAt + by,
    seen: time.seen.map((seen) => ({ ...seen, at: seen.at + by })),
    lease: lease === null ? null : { ...lease, startAt: lease.startAt + by, until: lease.until + by },
  }
}
