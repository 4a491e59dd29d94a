/** The guarantee card of a protocol with milestones, for a person to read. */
import { plural } from '../../core/text.ts'
import type { MilestonePlan } from '../../protocols/index.ts'
import type { MeasuredMilestones } from '../../workbench/guarantees/milestones.ts'
import { NEW_LINE, paint } from '../output.ts'
import { formatMs, heading, indented, indentedTable } from './card-text.ts'

export function milestonesText({ text, seeds }: MilestonePlan, measured: MeasuredMilestones): string {
  const { rows, idle, isKept } = measured
  const lines = rows.map(({ name, typical, worst, median, most, exceeded }) => [
    name,
    formatMs(typical),
    formatMs(worst),
    formatMs(median),
    `${formatMs(most)}${exceeded ? ' BEYOND' : ''}`,
  ])
  return [
    paint('bold', text.headline),
    '',
    heading('It assumes'),
    ...indented(text.assumes),
    '',
    heading('Times in ms: computed, and measured in simulated worlds of this very configuration'),
    ...indentedTable([['', 'typical', 'worst', 'median', 'most'], ...lines]),
    '',
    heading('Fault tolerance'),
    ...indented(text.tolerance),
    '',
    heading('While nothing happens'),
    `  ${text.idle(idle)}`,
    '',
    `${plural(seeds, 'run')}: ${isKept ? 'everything kept to what was computed' : paint('red', 'NOT everything kept to what was computed')}`,
  ].join(NEW_LINE)
}
