/**
 * What a node makes of the others' blocks beside the election itself: since when their stamps are known (for the lease),
 * whether any counter advances (for liveness), who says that it leads (for whoever asks).
 */
import type { Micros, NodeId } from '../../core/index.ts'
import { type Block, isReleased, moreOf } from './block.ts'
import { oracleAfter } from './oracle.ts'
import type { Seen, Timed } from './state.ts'

/** What a block tells; or in words why no register could have shown it. */
export function noted(time: Timed, of: NodeId, block: Block, now: Micros): Timed | string {
  const { ctr, pbal } = block
  const { lctr, lbal, led, term, gone } = moreOf(block)
  const was = time.seen.find((seen) => seen.of === of)
  if (was !== undefined && isBelow(block, was)) {
    // Whoever was removed for good may have had its register deleted.
    if (was.gone && ctr === 0) return { ...time, seen: time.seen.filter((seen) => seen !== was) }
    return `the register of ${of} has gone back from (${was.ctr}, ${was.pbal}) to (${ctr}, ${pbal}): the store loses or replays writes`
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

/** START with stamps: when the lease of everybody who may have voted for itself before is over. */
export function startAfter(seen: readonly Seen[], wait: Micros, now: Micros): Micros {
  let start = now
  for (const { lctr, at } of seen) if (lctr > 0 && at + wait > start) start = at + wait
  return start
}

/** The place in the order of succession: whoever comes after the last leader is first. */
export function rankOf(self: NodeId, last: NodeId | null, nodes: readonly NodeId[]): number {
  const from = last === null ? -1 : nodes.indexOf(last)
  return (nodes.indexOf(self) - from - 1 + 2 * nodes.length) % nodes.length
}

export function shiftedTime(time: Timed, by: Micros): Timed {
  const { lead, oracle, removal } = time
  return {
    ...time,
    removal: removal === null || removal.since === null ? removal : { ...removal, since: removal.since + by },
    oracle: oracle === null ? null : { ...oracle, at: oracle.at + by },
    w: time.w + by,
    startAt: time.startAt + by,
    advancedAt: time.advancedAt + by,
    seen: time.seen.map((seen) => ({ ...seen, at: seen.at + by })),
    lead: lead === null ? null : { ...lead, startAt: lead.startAt + by, until: lead.until + by },
  }
}
