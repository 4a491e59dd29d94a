/** What was found: problems in words, and times beside what was promised. */

export type Measure = {
  readonly what: string
  /** What it should not exceed; null where nothing is promised. */
  readonly boundMs: number | null
  readonly samplesMs: readonly number[]
}

export type Finding = {
  readonly name: string
  /** What was done. */
  readonly done: string
  /** Everything that must not be. */
  readonly problems: readonly string[]
  readonly measures: readonly Measure[]
  /** Why it was not done, or not as meant; null when it was. */
  readonly limited: string | null
}

export type Summary = {
  readonly count: number
  readonly medianMs: number
  readonly p99Ms: number
  readonly maxMs: number
}

export function summaryOf(samples: readonly number[]): Summary {
  const sorted = samples.toSorted((a, b) => a - b)
  const at = (part: number): number => sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? Number.NaN
  return { count: sorted.length, medianMs: at(0.5), p99Ms: at(0.99), maxMs: at(1) }
}

/** A bound is missed when half of the samples are beyond it: single ones may be the machine's doing, and are shown. */
export function isMissed({ boundMs, samplesMs }: Measure): boolean {
  return boundMs !== null && samplesMs.length > 0 && summaryOf(samplesMs).medianMs > boundMs
}

export function measureText(measure: Measure): string {
  const { what, boundMs, samplesMs } = measure
  if (samplesMs.length === 0) return `${what}: not measured`
  const { count, medianMs, p99Ms, maxMs } = summaryOf(samplesMs)
  const figures = `median ${ms(medianMs)}  p99 ${ms(p99Ms)}  max ${ms(maxMs)} ms  (${count} times)`
  if (boundMs === null) return `${what}: ${figures}`
  const beyond = samplesMs.filter((sample) => sample > boundMs).length
  const verdict = isMissed(measure) ? 'MISSED' : beyond === 0 ? 'kept' : `${beyond} beyond`
  return `${what}: ${figures}  bound ${ms(boundMs)} ms: ${verdict}`
}

const ms = (value: number): string => value.toFixed(value < 100 ? 1 : 0)
