/** The times on the guarantee card of a protocol with leases: computed bounds, and the trials that measure them. */
import type { Micros } from '../core/index.ts'
import type { PlannedFigure, PlannedTrial } from './planning.ts'

/** The computed times. Null: it can never happen. */
export type LeaseBounds = {
  readonly detection: PlannedFigure['computed']
  readonly failOver: PlannedFigure['computed']
  readonly handOver: PlannedFigure['computed']
  readonly leaseEnd: Micros
  readonly longestGap: Micros
}

/** How the cards of protocols differ. */
export type FigureNames = {
  /** The trials `crash` and `hand-over` run in ordinary worlds, and with this suffix in the worst allowed worlds. */
  readonly worstSuffix: string
  /** The figure of a leader that loses its group or its store. */
  readonly leaderStops: { readonly name: string; readonly title: string }
  readonly longestGapTitle: string
  /** Trials whose time without a leader includes the fault itself, by name: they do not measure the longest gap. */
  readonly notGaps: readonly string[]
}

export function leaseFigures(
  { detection, failOver, handOver, leaseEnd, longestGap }: LeaseBounds,
  trials: readonly PlannedTrial[],
  { worstSuffix, leaderStops, longestGapTitle, notGaps }: FigureNames,
): readonly PlannedFigure[] {
  const measuredIn = (
    trial: string,
    of: 'detected' | 'restored',
  ): Pick<PlannedFigure, 'usual' | 'worst'> => ({
    usual: { trials: [trial], of },
    worst: { trials: [`${trial}-${worstSuffix}`], of },
  })
  const namesOf = (isIncluded: (trial: PlannedTrial) => boolean): readonly string[] =>
    trials.filter(isIncluded).map(({ name }) => name)
  const isGap = ({ name, restoredWithin }: PlannedTrial): boolean =>
    typeof restoredWithin === 'number' && restoredWithin > 0 && !notGaps.includes(name)
  return [
    {
      name: 'detection',
      title: 'leader crashes: next candidate',
      computed: detection,
      ...measuredIn('crash', 'detected'),
    },
    {
      name: 'fail-over',
      title: 'leader crashes: another leads',
      computed: failOver,
      ...measuredIn('crash', 'restored'),
    },
    {
      name: 'hand-over',
      title: 'leader steps down: another leads',
      computed: handOver,
      ...measuredIn('hand-over', 'restored'),
    },
    {
      ...leaderStops,
      computed: { typical: null, worst: leaseEnd },
      usual: null,
      worst: { trials: namesOf(({ stoppedWithin }) => stoppedWithin !== null), of: 'stopped' },
    },
    {
      name: 'longest gap',
      title: longestGapTitle,
      computed: { typical: null, worst: longestGap },
      usual: null,
      worst: { trials: namesOf(isGap), of: 'restored' },
    },
  ]
}
