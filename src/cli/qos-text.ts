/** The quality of service of failure detectors, for a person to read. */

import { count, plural } from '../core/text.ts'
import type { DurationReport, QosReport, TraceQos } from '../workbench/trace/index.ts'
import { formatTable, NEW_LINE } from './output.ts'

export function formatQos(qos: QosReport): string {
  const accuracy = qos.queryAccuracy === null ? '-' : qos.queryAccuracy.toFixed(6)
  const rate = qos.mistakesPerHour === null ? '-' : count(qos.mistakesPerHour)
  return [
    formatTable([
      ['failure detection', 'samples', 'censored', 'mean ms', 'p99 ms', 'max ms'],
      row('  detection time T_D', qos.detection),
      row('  mistake recurrence T_MR', qos.mistakeRecurrence),
      row('  mistake duration T_M', qos.mistakeDuration),
      row('  good period T_G', qos.goodPeriod),
    ]),
    `  ${plural(qos.mistakes, 'mistake')} (${rate} an hour of watching), query accuracy P_A ${accuracy}`,
  ].join(NEW_LINE)
}

/** One line a pair: who watched whom, for how long, and how well. */
export function formatQosPairs(pairs: TraceQos['pairs']): string {
  return formatTable([
    ['monitor', 'peer', 'watched ms', 'detected', 'mean T_D ms', 'mistakes', 'P_A'],
    ...pairs.map((pair) => [
      String(pair.monitor),
      String(pair.peer),
      ms(pair.watchedMs),
      count(pair.detection.samples),
      ms(pair.detection.meanMs),
      count(pair.mistakes),
      pair.queryAccuracy === null ? '-' : pair.queryAccuracy.toFixed(6),
    ]),
  ])
}

function row(name: string, of: DurationReport): readonly string[] {
  return [name, count(of.samples), count(of.censored), ...[of.meanMs, of.p99Ms, of.maxMs].map(ms)]
}

function ms(value: number | null): string {
  return value === null ? '-' : value.toFixed(3)
}
