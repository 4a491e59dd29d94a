/**
 * What a node measures, as levels: for each sample the lowest level that would have had time for it. Two windows follow
 * each other, so that a sample counts for one to two windows. One sample in a thousand is ignored.
 */

/** How many samples there were, and how many of each level. */
export type Counts = {
  readonly total: number
  /** Sorted by level, the highest first. */
  readonly levels: readonly (readonly [level: number, count: number])[]
}

export type Samples = { readonly recent: Counts; readonly former: Counts }

const NO_COUNTS: Counts = { total: 0, levels: [] }
export const NO_SAMPLES: Samples = { recent: NO_COUNTS, former: NO_COUNTS }

const IGNORED = 1 / 1000

export function withSample({ recent, former }: Samples, level: number): Samples {
  const total = recent.total + 1
  const place = recent.levels.findIndex(([each]) => each <= level)
  const known = place < 0 ? undefined : recent.levels[place]
  const levels =
    known !== undefined && known[0] === level
      ? recent.levels.with(place, [level, known[1] + 1])
      : recent.levels.toSpliced(place < 0 ? recent.levels.length : place, 0, [level, 1])
  return { recent: { total, levels }, former }
}

/** A new window begins. */
export function rotated({ recent }: Samples, keepsRecent: boolean): Samples {
  return { recent: NO_COUNTS, former: keepsRecent ? recent : NO_COUNTS }
}

/** The lowest level that has time for 999 of 1000 samples; 0 without samples. */
export function levelOf({ recent, former }: Samples): number {
  let allowed = Math.floor((recent.total + former.total) * IGNORED)
  let a = 0
  let b = 0
  for (;;) {
    const [levelA, countA] = recent.levels[a] ?? [0, 0]
    const [levelB, countB] = former.levels[b] ?? [0, 0]
    const level = Math.max(levelA, levelB)
    if (level === 0) return 0
    const count = (levelA === level ? countA : 0) + (levelB === level ? countB : 0)
    if (count > allowed) return level
    allowed -= count
    if (levelA === level) a += 1
    if (levelB === level) b += 1
  }
}

/**
 * The highest of the last samples: a sample counts for one to two windows of MESSAGES samples. A window must not depend on
 * the level of the node itself: a single pause would raise that level, and a longer window would keep it raised.
 */
export type Peak = { readonly recent: number; readonly former: number; readonly count: number }

/** Below every level. */
export const UNKNOWN = -1
export const NO_PEAK: Peak = { recent: UNKNOWN, former: UNKNOWN, count: 0 }
const MESSAGES = 16

export const peakOf = ({ recent, former }: Peak): number => Math.max(recent, former)

export function withPeak({ recent, former, count }: Peak, sample: number): Peak {
  if (count >= MESSAGES) return { recent: sample, former: recent, count: 1 }
  return { recent: Math.max(recent, sample), former, count: count + 1 }
}

/** A new window begins, because time has passed. */
export function rotatedPeak({ recent }: Peak, keepsRecent: boolean): Peak {
  return { recent: UNKNOWN, former: keepsRecent ? recent : UNKNOWN, count: 0 }
}

/** How many requests of a leader arrived, and how many got lost. Old requests count for less. */
export type Losses = { readonly arrived: number; readonly lost: number }

export const NO_LOSSES: Losses = { arrived: 0, lost: 0 }
const MANY_REQUESTS = 8192
/** The first loss among few requests is not a rate yet. */
const ASSUMED_REQUESTS = 1024

/** `missing`: how many requests did not arrive before it. */
export function withRequest({ arrived, lost }: Losses, missing: number): Losses {
  const next = { arrived: arrived + 1, lost: lost + missing }
  return next.arrived + next.lost < MANY_REQUESTS ? next : halvedLosses(next)
}

export function halvedLosses({ arrived, lost }: Losses): Losses {
  return { arrived: arrived >> 1, lost: lost >> 1 }
}

/** About one request in 2^n got lost; `none` when at most one did. */
export function lossOf({ arrived, lost }: Losses, none: number): number {
  if (lost < 2) return none
  return Math.min(none, Math.floor(Math.log2((arrived + lost + ASSUMED_REQUESTS) / lost)))
}
