/** Formats the guarantee card of a protocol with milestones. */
import { plural } from '../../core/text.ts'
import type { MilestonePlan } from '../../protocols/index.ts'
import type { MeasuredMilestones } from '../../workbench/guarantees/milestones.ts'
import { NEW_LINE, paint } from '../output.ts'
import { formatMs, heading, indentedTable, indentLines } from './card-text.ts'

export function formatMilestones({ text, seeds }: MilestonePlan, measured: MeasuredMilestones): string {
  const { rows, idle, isKept } = measured
  const lines = rows.map(({ name, typical, worst, median, most, exceeded }) => [
    name,
    formatMs(typical),
    formatMs(worst),
    formatMs(median),
    `${formatMs(most)}${exceeded ? ' EXCEEDS' : ''}`,
  ])
  return [
    paint('bold', text.headline),
    '',
    heading('It assumes'),
    ...indentLines(text.assumes),
    '',
    heading('Times in ms: computed, and measured by simulating this configuration'),
    ...indentedTable([['', 'typical', 'worst', 'median', 'max'], ...lines]),
    '',
    heading('Fault tolerance'),
    ...indentLines(text.tolerance),
    '',
    heading('Without faults'),
    `  ${text.idle(idle)}`,
    '',
    `${plural(seeds, 'run')}: ${isKept ? 'all measurements are within the computed bounds' : paint('red', 'a measurement is beyond its computed bound')}`,
  ].join(NEW_LINE)
}
