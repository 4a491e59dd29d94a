/**
 * What the specification `failover-in-time` needs to know about a lock, whichever level it belongs to: how long a failover
 * takes at most, and how slow the world may be, both in thousandths of the lock. `lock`: before a leader changes it.
 */
import type { Constants, Micros } from '../../core/index.ts'
import { adaptiveTimingOf } from './adaptive.ts'
import { type Timing, timingOf } from './constants.ts'
import { failsOverWithin } from './guarantees.ts'
import { lockAt } from './levels.ts'
import { givenBy, type LocalLeaderOptions } from './options.ts'

export function failoverTermsOf(chosen: LocalLeaderOptions, voters: number): Constants {
  const adaptive = adaptiveTimingOf(chosen, voters)
  if (adaptive === null) {
    const timing = timingOf(givenBy(chosen, voters))
    return { ...perLock([timing]), lock: timing.lockTime }
  }
  const { bounds } = adaptive
  const levels = Array.from({ length: bounds.most - bounds.least + 1 }, (_, index) => bounds.least + index)
  const timings = levels.map((level) => adaptive.timingWithin({ bounds, level, ceiling: bounds.most }))
  return { ...perLock(timings), lock: lockAt(adaptive.start) }
}

/** The largest bound and the smallest allowances of all levels. */
function perLock(timings: readonly Timing[]): Constants {
  const least = (amountOf: (timing: Timing) => Micros): number =>
    Math.min(...timings.map((timing) => Math.floor((1000 * amountOf(timing)) / timing.lockTime)))
  return {
    failoverPerMille: Math.max(
      ...timings.map((timing) => Math.ceil((1000 * failsOverWithin(timing)) / timing.lockTime)),
    ),
    delayPerMille: least(({ delay }) => delay),
    latenessPerMille: least(({ lateness }) => lateness),
  }
}
