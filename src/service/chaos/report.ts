/** The result of a chaos case: violations, and measured times next to their bounds. */

export type Measure = {
  readonly what: string
  /** The promised limit; null if there is none. */
  readonly boundMs: number | null
  readonly samplesMs: readonly number[]
}

export type Finding = {
  readonly name: string
  /** Description of the injected faults. */
  readonly done: string
  /** Violations; empty if the case passed. */
  readonly problems: readonly string[]
  readonly measures: readonly Measure[]
  /** Why the case was skipped or reduced; null if it ran completely. */
  readonly limited: string | null
}

export type Summary = {
  readonly count: number
  readonly medianMs: number
  readonly p99Ms: number
  readonly maxMs: number
}

export function summarize(samples: readonly number[]): Summary {
  const sorted = samples.toSorted((a, b) => a - b)
  const quantile = (part: number): number =>
    sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? Number.NaN
  return { count: sorted.length, medianMs: quantile(0.5), p99Ms: quantile(0.99), maxMs: quantile(1) }
}

/** True if the median exceeds the bound. Single outliers can be caused by machine load; they are only shown. */
export function exceedsBound({ boundMs, samplesMs }: Measure): boolean {
  return boundMs !== null && samplesMs.length > 0 && summarize(samplesMs).medianMs > boundMs
}

export function formatMeasure(measure: Measure): string {
  const { what, boundMs, samplesMs } = measure
  if (samplesMs.length === 0) return `${what}: not measured`
  const { count, medianMs, p99Ms, maxMs } = summarize(samplesMs)
  const figures = `median ${formatMs(medianMs)}  p99 ${formatMs(p99Ms)}  max ${formatMs(maxMs)} ms  (${count} samples)`
  if (boundMs === null) return `${what}: ${figures}`
  const beyond = samplesMs.filter((sample) => sample > boundMs).length
  const verdict = exceedsBound(measure) ? 'EXCEEDED' : beyond === 0 ? 'met' : `${beyond} above`
  return `${what}: ${figures}  bound ${formatMs(boundMs)} ms: ${verdict}`
}

const formatMs = (value: number): string => value.toFixed(value < 100 ? 1 : 0)
