/** The series of the charts, from the samples of the history. */
import type { Sample, Status } from '../data/types.ts'

export type ChartName = 'failoverMs' | 'rttMs' | 'renewalMarginMs' | 'latenessMs'

export type ChartView = {
  readonly name: ChartName
  readonly title: string
  readonly explanation: string
  /** Seconds since 1970. */
  readonly times: readonly number[]
  readonly values: readonly (number | null)[]
  readonly newestMs: number | null
  /** Shown instead of an empty chart. */
  readonly whyEmpty: string
  /** A constant that the values are compared with. */
  readonly limit: { readonly label: string; readonly ms: number } | null
  /** Single events rather than a curve. */
  readonly arePoints: boolean
}

/** Two marks for a small chart: 0, and the largest round number that fits. */
export function marksUpTo(most: number): number[] {
  const power = 10 ** Math.floor(Math.log10(most))
  const factor = [5, 2, 1].find((each) => each * power <= most) ?? 1
  return [0, factor * power]
}

/** Seconds around a single sample. uPlot would show a day. */
const AROUND_ONE = 15

/** The time that a chart shows. */
export function timesShown(first: number, last: number): [from: number, until: number] {
  return first === last ? [first - AROUND_ONE, last + AROUND_ONE] : [first, last]
}

/** The places of values without a neighbour: no line shows them. */
export function isolatedIn(values: readonly (number | null | undefined)[]): number[] {
  const isMissing = (at: number): boolean => (values[at] ?? null) === null
  return [...values.keys()].filter((at) => !isMissing(at) && isMissing(at - 1) && isMissing(at + 1))
}

function whyNoMargin(status: Status | null): string {
  if (status?.leader?.expiresInMs === null) return 'This protocol has no leases.'
  return status?.self.role === 'leader' ? 'Nothing measured yet.' : 'Only the leader measures this.'
}

export function chartsOf(samples: readonly Sample[], status: Status | null): readonly ChartView[] {
  const times = samples.map(({ at }) => Date.parse(at) / 1000)
  const sigmaMs = status?.measured?.sigmaMs ?? null
  const chart = (
    name: ChartName,
    title: string,
    explanation: string,
    limit: ChartView['limit'] = null,
  ): ChartView => {
    const values = samples.map((sample) => sample[name])
    const newestMs = values.findLast((value) => value !== null) ?? null
    return {
      name,
      title,
      explanation,
      times,
      values,
      newestMs,
      whyEmpty: name === 'renewalMarginMs' ? whyNoMargin(status) : 'Nothing measured yet.',
      limit,
      arePoints: name === 'failoverMs',
    }
  }
  const hasLease = typeof status?.leader?.expiresInMs === 'number'
  return [
    chart('failoverMs', 'Failover', 'how long the group had no leader'),
    chart('rttMs', 'Round trip', 'the slowest reachable node'),
    chart(
      'renewalMarginMs',
      'Renewal margin',
      'what was left of the lease; only on the leader',
      hasLease ? { label: 'min', ms: status.lease.marginMs } : null,
    ),
    chart(
      'latenessMs',
      'Scheduling lateness',
      '99 % of the timers of this node',
      sigmaMs === null ? null : { label: 'σ', ms: sigmaMs },
    ),
  ]
}
