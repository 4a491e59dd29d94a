/** The quality-of-service report of a trace or a campaign: the public format of `conclave qos --json`. */
import { msOf, type NodeId } from '../../core/index.ts'
import { type Distribution, quantile } from './distribution.ts'
import type { Trace } from './ndjson.ts'
import { observationsOf } from './observations.ts'
import { addQos, EMPTY_QOS, type QosTally, QosWatch } from './qos.ts'

export type DurationReport = {
  readonly samples: number
  /** Number of intervals cut short by a crash or by the end of the run. */
  readonly censored: number
  readonly meanMs: number | null
  /** To three digits. */
  readonly p99Ms: number | null
  readonly maxMs: number | null
}

export type QosReport = {
  /** Total time for which running peers were watched. */
  readonly watchedMs: number
  readonly mistakes: number
  /** lambda_M, per hour of watching. */
  readonly mistakesPerHour: number | null
  /** P_A: the share of that time in which the peers were trusted. */
  readonly queryAccuracy: number | null
  /** T_D, T_MR, T_M and T_G. */
  readonly detection: DurationReport
  readonly mistakeRecurrence: DurationReport
  readonly mistakeDuration: DurationReport
  readonly goodPeriod: DurationReport
}

export type TraceQos = {
  readonly all: QosReport
  readonly pairs: readonly (QosReport & { readonly monitor: NodeId; readonly peer: NodeId })[]
}

const HOUR_MS = 3_600_000

export function qosReport(tally: QosTally): QosReport {
  const watchedMs = msOf(tally.watched)
  const { mistakes } = tally
  return {
    watchedMs,
    mistakes,
    mistakesPerHour: watchedMs === 0 ? null : (mistakes * HOUR_MS) / watchedMs,
    queryAccuracy: watchedMs === 0 ? null : 1 - tally.mistaken / tally.watched,
    detection: durationReport(tally.detection),
    mistakeRecurrence: durationReport(tally.recurrence),
    mistakeDuration: durationReport(tally.duration),
    goodPeriod: durationReport(tally.good),
  }
}

function durationReport(of: Distribution): DurationReport {
  const { count, censored, sum, max } = of
  const p99 = quantile(of, 0.99)
  if (p99 === null) return { samples: 0, censored, meanMs: null, p99Ms: null, maxMs: null }
  return { samples: count, censored, meanMs: msOf(sum / count), p99Ms: msOf(p99), maxMs: msOf(max) }
}

/** Null if the run has no failure detector. */
export function qosOfTrace({ records }: Trace): TraceQos | null {
  const watch = new QosWatch()
  for (const record of records) for (const seen of observationsOf(record)) watch.observe(seen)
  const pairs = watch.finish(records.at(-1)?.at ?? 0)
  if (pairs.length === 0) return null
  return {
    all: qosReport(pairs.reduce((sum, { tally }) => addQos(sum, tally), EMPTY_QOS)),
    pairs: pairs.map(({ monitor, peer, tally }) => ({ monitor, peer, ...qosReport(tally) })),
  }
}
