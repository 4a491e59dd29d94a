/** The levels of a node, from its options: two bounds that a person understands, and the shape of its constants. */
import { microsOf, present } from '../../core/index.ts'
import { type Given, type Timing, timingOf } from './constants.ts'
import { leaseBoundsOf } from './lease-options.ts'
import { boundsBetween, levelFor, lockAt, withinBounds } from './levels.ts'
import { givenBy, type LocalLeaderOptions } from './options.ts'
import { type LevelPlace, timingForLock, timingWithin } from './scaled-timing.ts'
import type { AdaptiveTiming } from './settings.ts'

/** Null when the timing is fixed. `voters`: their number. */
export function adaptiveTimingOf(chosen: LocalLeaderOptions, voters: number): AdaptiveTiming | null {
  if (chosen.timing === 'fixed') return null
  const given = givenBy(chosen, voters)
  const { leaseMinMs, leaseMaxMs } = leaseBoundsOf(chosen)
  const bounds = present(boundsBetween(microsOf(leaseMinMs), microsOf(leaseMaxMs)), 'a level')
  const timingAt = timingsOf(given)
  return {
    bounds,
    start: withinBounds(bounds, levelFor(timingOf(given).lockTime)),
    timingAt,
    timingWithin: lenientTimings(timingAt),
    lossPerDay: chosen.leaseLossPerDay ?? 1,
    isDrawn: chosen.levels === 'drawn',
  }
}

/** The constants of each level, computed once. */
function timingsOf(given: Given): (level: number) => Timing {
  const known: Timing[] = []
  return (level) => {
    const timing = known[level] ?? timingForLock(given, lockAt(level))
    known[level] = timing
    return timing
  }
}

/** As a rule, a node asks for the same level again. */
function lenientTimings(timingAt: AdaptiveTiming['timingAt']): AdaptiveTiming['timingWithin'] {
  let last: (LevelPlace & { readonly timing: Timing }) | null = null
  return (place) => {
    const { bounds, level, ceiling } = place
    if (last === null || last.bounds !== bounds || last.level !== level || last.ceiling !== ceiling) {
      last = { bounds, level, ceiling, timing: timingWithin(place, timingAt(level)) }
    }
    return last.timing
  }
}
