/** Formats the guarantee card: the sentences of the protocol around the measured figures. */
import { count, plural } from '../../core/text.ts'
import type { LoadCard, PlannedFigure, TrialPlan, TrialText } from '../../protocols/index.ts'
import type { Measured } from '../../workbench/guarantees/card.ts'
import type { Figure, Shape, Stats } from '../../workbench/guarantees/figures.ts'
import { formatTable, NEW_LINE, paint } from '../output.ts'

export function formatCard({ figures, text }: TrialPlan, measured: Measured): string {
  const [, worstWorlds] = text.worlds
  return [
    paint('bold', text.headline),
    '',
    heading('It assumes'),
    ...indentLines(text.assumes),
    ...text.advice.map((line) => paint('yellow', `  ${line}`)),
    ...text.broken.map((line) => paint('red', `  NOT true in the simulation: ${line}`)),
    '',
    heading('Times in ms: computed, and measured by simulating this configuration'),
    ...indentedTable(figureRows(measured.figures, figures, text.worlds)),
    ...(measured.figures.some(({ name }) => name === 'fail-over')
      ? []
      : ['  failover: none. If the leader fails, no other node can lead until it is back.']),
    `  ${text.worldsMean}`,
    '',
    heading('Overlap'),
    ...indentLines(text.overlap),
    '',
    heading(`Effects of faults (ms, in the ${worstWorlds} worlds)`),
    ...indentedTable(shapeRows(measured.shapes, text)),
    ...indentLines(text.shapesMean),
    '',
    heading('Fault tolerance'),
    ...indentLines(text.tolerance),
    '',
    heading(text.loadTitle),
    ...indentedTable(loadRows(measured.load)),
    ...indentLines(text.loadMeans),
    '',
    formatVerdict(measured),
  ].join(NEW_LINE)
}

export function heading(text: string): string {
  return paint('bold', text)
}

export function indentLines(lines: readonly string[]): readonly string[] {
  return lines.map((line) => `  ${line}`)
}

export function indentedTable(rows: readonly (readonly string[])[]): readonly string[] {
  return indentLines(formatTable(rows).split(NEW_LINE))
}

function figureRows(
  figures: readonly Figure[],
  planned: readonly PlannedFigure[],
  [usual, worst]: TrialText['worlds'],
): readonly (readonly string[])[] {
  const titles = new Map(planned.map(({ name, title }) => [name, title]))
  const cells = (stats: Stats | null): readonly string[] =>
    stats === null ? ['', '', '', ''] : [stats.meanMs, stats.p50Ms, stats.p99Ms, stats.maxMs].map(formatMs)
  return [
    ['', 'computed', '', usual, '', '', '', worst, '', '', ''],
    ['', 'typical', 'worst', 'mean', 'p50', 'p99', 'max', 'mean', 'p50', 'p99', 'max'],
    ...figures.map((figure) => [
      titles.get(figure.name) ?? figure.name,
      formatMs(figure.computed.typicalMs),
      formatMs(figure.computed.worstMs),
      ...cells(figure.punctual),
      ...cells(figure.late),
      markExceeded(figure),
    ]),
  ]
}

function shapeRows(shapes: readonly Shape[], text: TrialText): readonly (readonly string[])[] {
  return [
    ['', '', 'computed', 'mean', 'max', 'runs'],
    ...shapes.flatMap((shape) => {
      const { what, leader, stopped, stoppedWithinMs } = shape
      const suffix = leader.none > 0 && leader.none < leader.runs ? ` (none in ${leader.none})` : ''
      const row = [
        what,
        describeOutcome(shape, text),
        typeof shape.leaderWithinMs === 'number' ? formatMs(shape.leaderWithinMs) : '-',
        leader.meanMs === null ? 'none' : formatMs(leader.meanMs),
        leader.maxMs === null ? 'none' : `${formatMs(leader.maxMs)}${suffix}`,
        count(leader.runs),
        markExceeded(shape),
      ]
      if (stoppedWithinMs === null) return [row]
      const other = [
        '',
        text.stoppedWords,
        formatMs(stoppedWithinMs),
        formatMs(stopped.meanMs),
        formatMs(stopped.maxMs),
      ]
      return [row, [...other, count(stopped.runs), '']]
    }),
  ]
}

function describeOutcome({ leaderWithinMs }: Shape, { leaderWords }: TrialText): string {
  if (leaderWithinMs === 'never') return 'no leader while it lasts'
  if (leaderWithinMs === null) return 'no bound; a leader within'
  return leaderWithinMs === 0 ? 'the leader stays' : leaderWords
}

function loadRows({ rows }: LoadCard): readonly (readonly string[])[] {
  return rows.map(({ cells, exceeded }) => (exceeded ? [...cells, markExceeded({ exceeded })] : cells))
}

function markExceeded({ exceeded }: { readonly exceeded: boolean }): string {
  return exceeded ? paint('red', '<- EXCEEDS the bound') : ''
}

export function formatMs(value: number | null): string {
  return value === null ? '-' : value.toFixed(1)
}

function formatVerdict({ exceeded, runs, specs, idle }: Measured): string {
  const names = specs.map(({ name }) => name).join(', ')
  const violated = specs.filter(({ violations }) => violations > 0)
  const lines = [
    ...violated.map(({ name, violations, why }) =>
      paint('red', `${name} VIOLATED in ${plural(violations, 'run')}, first: ${why}`),
    ),
    ...(idle === 0 ? [] : [`in ${plural(idle, 'run')} no node led before the fault`]),
  ]
  if (runs === 0) {
    lines.push('0 runs: no fault can be tried with a single node; only the traffic was measured')
    return lines.join(NEW_LINE)
  }
  lines.push(
    exceeded.length === 0
      ? paint(
          'green',
          `${plural(runs, 'run')}: all measurements are within the computed bounds; held: ${names}`,
        )
      : paint('red', `${plural(runs, 'run')}: beyond the computed bounds: ${exceeded.join(', ')}`),
  )
  return lines.join(NEW_LINE)
}
