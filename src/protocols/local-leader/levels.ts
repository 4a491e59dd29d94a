/**
 * The ladder of lock durations. A level is an index on it, and means the same lock on every node, independent of its bounds.
 *
 * Each lock is 5/4 of the one before, rounded up in integers: so two machines never disagree by a rounding error.
 */
import type { Micros } from '../../core/index.ts'

/** The lock of level 0. Timers of a process cannot keep shorter leases. */
const SHORTEST: Micros = 8_192
const MOST_LEVELS = 41

export const LOCKS: readonly Micros[] = ladder()

function ladder(): readonly Micros[] {
  const locks = [SHORTEST]
  while (locks.length < MOST_LEVELS) locks.push(Math.ceil(((locks.at(-1) as Micros) * 5) / 4))
  return locks
}

export const HIGHEST_LEVEL = MOST_LEVELS - 1

/** A little more than a minute: no node asks for a longer lock. */
export const LONGEST_LOCK: Micros = LOCKS[HIGHEST_LEVEL] as Micros

export function lockAt(level: number): Micros {
  return LOCKS[Math.min(Math.max(level, 0), HIGHEST_LEVEL)] as Micros
}

/** The lowest level whose lock lasts this long; the highest level when none does. */
export function levelFor(lock: Micros): number {
  let least = 0
  let most = HIGHEST_LEVEL
  while (least < most) {
    const middle = (least + most) >> 1
    if (lockAt(middle) >= lock) most = middle
    else least = middle + 1
  }
  return least
}

/** The levels that a node uses, both included, and the locks that it grants. */
export type LevelBounds = {
  readonly least: number
  readonly most: number
  readonly shortest: Micros
  readonly longest: Micros
}

/** Null when no level lies between the two durations. */
export function boundsBetween(shortest: Micros, longest: Micros): LevelBounds | null {
  const least = levelFor(shortest)
  const above = levelFor(longest)
  const most = lockAt(above) > longest ? above - 1 : above
  return lockAt(least) < shortest || most < least ? null : { least, most, shortest, longest }
}

export function withinBounds({ least, most }: LevelBounds, level: number): number {
  return Math.min(Math.max(level, least), most)
}

/**
 * The value to store for a lock: the next of every third level, so that a node that climbs writes rarely. Never more
 * than the longest lock that it grants, unless this lock is longer.
 */
export function storedLockFor(lock: Micros, { longest }: LevelBounds): Micros {
  const level = levelFor(lock)
  return Math.max(lock, Math.min(lockAt(level + ((3 - (level % 3)) % 3)), longest))
}
