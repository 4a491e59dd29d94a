/** Formats the quality of service of failure detectors. */
import { count, plural } from '../core/text.ts'
import type { DurationReport, QosReport, TraceQos } from '../workbench/trace/index.ts'
import { formatTable, NEW_LINE } from './output.ts'

export function formatQos(qos: QosReport): string {
  const accuracy = qos.queryAccuracy === null ? '-' : qos.queryAccuracy.toFixed(6)
  const rate = qos.mistakesPerHour === null ? '-' : count(qos.mistakesPerHour)
  return [
    formatTable([
      ['failure detection', 'samples', 'censored', 'mean ms', 'p99 ms', 'max ms'],
      formatRow('  detection time T_D', qos.detection),
      formatRow('  mistake recurrence T_MR', qos.mistakeRecurrence),
      formatRow('  mistake duration T_M', qos.mistakeDuration),
      formatRow('  good period T_G', qos.goodPeriod),
    ]),
    `  ${plural(qos.mistakes, 'mistake')} (${rate} per hour of monitoring), query accuracy P_A ${accuracy}`,
  ].join(NEW_LINE)
}

/** One line per pair of a monitor and the peer that it monitors. */
export function formatQosPairs(pairs: TraceQos['pairs']): string {
  return formatTable([
    ['monitor', 'peer', 'monitored ms', 'detected', 'mean T_D ms', 'mistakes', 'P_A'],
    ...pairs.map((pair) => [
      String(pair.monitor),
      String(pair.peer),
      formatMs(pair.watchedMs),
      count(pair.detection.samples),
      formatMs(pair.detection.meanMs),
      count(pair.mistakes),
      pair.queryAccuracy === null ? '-' : pair.queryAccuracy.toFixed(6),
    ]),
  ])
}

function formatRow(name: string, durations: DurationReport): readonly string[] {
  return [
    name,
    count(durations.samples),
    count(durations.censored),
    ...[durations.meanMs, durations.p99Ms, durations.maxMs].map(formatMs),
  ]
}

function formatMs(value: number | null): string {
  return value === null ? '-' : value.toFixed(3)
}
