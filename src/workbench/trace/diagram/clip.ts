/** Clips a history to a time window. */
import type { Micros } from '../../../core/index.ts'
import type { DiagramHistory } from './history.ts'

/** A message that crosses the border keeps its true ends; everything else is cut off there. */
export function clip(history: DiagramHistory, from: Micros, until: Micros): DiagramHistory {
  const begin = Math.max(from, history.begin)
  const end = Math.min(until, history.end)
  const within = ({ at }: { readonly at: Micros }): boolean => at >= begin && at <= end
  const cut = <T extends { readonly from: Micros; readonly until: Micros }>(spans: readonly T[]): T[] =>
    spans
      // If one state ends and another begins exactly at the border, the picture starts with the latter.
      .filter((span) => span.from <= end && (span.until > begin || span.until === history.end))
      .map((span) => ({ ...span, from: Math.max(span.from, begin), until: Math.min(span.until, end) }))
  return {
    ...history,
    begin,
    end,
    flights: history.flights.filter(
      ({ sentAt, endedAt }) => sentAt <= end && (endedAt === null ? sentAt >= begin : endedAt >= begin),
    ),
    periods: cut(history.periods),
    stalls: cut(history.stalls),
    marks: history.marks.filter(within),
    notices: history.notices.filter(within),
  }
}

/** All moments with something to show, sorted and distinct, including the first and the last. */
export function momentsOf(history: DiagramHistory): readonly Micros[] {
  const { begin, end, flights, periods, stalls, marks, notices } = history
  const all = [
    begin,
    end,
    ...flights.flatMap(({ sentAt, endedAt }) => [sentAt, endedAt ?? sentAt]),
    ...periods.map(({ from }) => from),
    ...stalls.flatMap(({ from, until }) => [from, until]),
    ...marks.map(({ at }) => at),
    ...notices.map(({ at }) => at),
  ]
  return [...new Set(all.filter((at) => at >= begin && at <= end))].sort((a, b) => a - b)
}
