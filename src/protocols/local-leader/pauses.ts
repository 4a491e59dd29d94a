/** How long a node waits before it becomes a candidate. */
import type { Micros } from '../../core/index.ts'
import type { Timing } from './constants.ts'

/** The pause between two candidacies: in majority mode a range, so that two candidates do not meet again. */
export function pauseOf({ mode, fast, lateness, electionPeriod }: Timing): readonly [Micros, Micros] {
  if (mode === 'local') return [electionPeriod - lateness, electionPeriod - lateness]
  return [Math.floor((3 * fast + lateness) * 0.75), Math.ceil((3 * fast + lateness) * 1.25)]
}

/** In local mode a successor waits until its voters have given up the old leader, too. */
export function successionDelay({ mode, fast }: Timing): Micros {
  return mode === 'majority' ? 0 : fast
}
