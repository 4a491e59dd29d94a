/**
 * A mergeable distribution of durations: count, sum, maximum, and counts by value rounded up to three
 * significant digits, from which quantiles are read. Sums are in whole microseconds, so the order of merging
 * does not matter.
 */
import type { Micros } from '../../core/index.ts'

export type Distribution = {
  readonly count: number
  readonly sum: Micros
  readonly max: Micros
  /** Number of intervals cut short by a crash or by the end of the run. */
  readonly censored: number
  readonly buckets: { readonly [micros: string]: number }
}

export const EMPTY_DISTRIBUTION: Distribution = { count: 0, sum: 0, max: 0, censored: 0, buckets: {} }

export function withSample(to: Distribution, sample: Micros): Distribution {
  const bucket = threeDigits(sample)
  return {
    count: to.count + 1,
    sum: to.sum + sample,
    max: Math.max(to.max, sample),
    censored: to.censored,
    buckets: { ...to.buckets, [bucket]: (to.buckets[bucket] ?? 0) + 1 },
  }
}

export function withCensored(to: Distribution): Distribution {
  return { ...to, censored: to.censored + 1 }
}

export function addDistributions(a: Distribution, b: Distribution): Distribution {
  const buckets: { [micros: string]: number } = { ...a.buckets }
  for (const [bucket, count] of Object.entries(b.buckets)) buckets[bucket] = (buckets[bucket] ?? 0) + count
  return {
    count: a.count + b.count,
    sum: a.sum + b.sum,
    max: Math.max(a.max, b.max),
    censored: a.censored + b.censored,
    buckets,
  }
}

/** The least value that at least this share of the samples does not exceed; null without samples. */
export function quantile({ count, max, buckets }: Distribution, share: number): Micros | null {
  if (count === 0) return null
  let seen = 0
  for (const micros of Object.keys(buckets)
    .map(Number)
    .sort((a, b) => a - b)) {
    seen += buckets[micros] as number
    if (seen >= share * count) return Math.min(micros, max)
  }
  return max
}

function threeDigits(value: Micros): Micros {
  let unit = 1
  while (value >= 1000 * unit) unit *= 10
  return Math.ceil(value / unit) * unit
}
