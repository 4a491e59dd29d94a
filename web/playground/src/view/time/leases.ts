/**
 * The lease bar: what everybody else may count on, as a solid bar, and what the holder believes, as an outline. Where the
 * outline reaches further than the bar, the holder believes that it leads while another node may already lead.
 */
import type { Micros } from '../../../../../src/core/index.ts'
import type { LeaseSpan } from '../../engine/picture.ts'
import { countWhile } from '../look-up.ts'

export type LeaseBar = {
  readonly from: Micros
  /** The end of the solid bar. */
  readonly until: Micros
  /** The end of the outline. */
  readonly believed: Micros
  readonly token: number | null
  /** Renewals inside of the bar. */
  readonly renewals: readonly Micros[]
}

/** A renewed lease goes on as one bar, unless there was a time between at which it had ended for others or itself. */
export function leaseBars(spans: readonly LeaseSpan[], from: Micros, to: Micros): readonly LeaseBar[] {
  const bars: LeaseBar[] = []
  // A bar may begin before the range: a lease that is renewed often has many spans.
  const first = Math.max(
    0,
    countWhile(spans, (span) => Math.max(span.to, span.until, span.believed) < from) - 1,
  )
  for (let place = first; place < spans.length; place += 1) {
    const span = spans[place] as LeaseSpan
    if (span.from > to) break
    const bar = barOf(span)
    const last = bars.at(-1)
    if (last !== undefined && isContinued(last, span)) bars[bars.length - 1] = join(last, bar)
    else bars.push(bar)
  }
  return bars
}

function barOf({ from, to, until, believed, token }: LeaseSpan): LeaseBar {
  return { from, until: clamp(until, from, to), believed: clamp(believed, from, to), token, renewals: [] }
}

const clamp = (value: number, least: number, most: number): number => Math.max(least, Math.min(value, most))

function isContinued(last: LeaseBar, next: LeaseSpan): boolean {
  return last.token === next.token && last.until >= next.from && last.believed >= next.from
}

function join(last: LeaseBar, next: LeaseBar): LeaseBar {
  return { ...next, from: last.from, renewals: [...last.renewals, next.from] }
}

/** What is left of a lease at an instant, in microseconds: negative once it has ended. */
export type LeaseLeft = {
  readonly length: Micros
  readonly truly: Micros
  readonly believed: Micros
  /** For how long the holder believes that it leads after the lease has ended; negative: it stops that much earlier. */
  readonly excess: Micros
  readonly token: number | null
}

export function leaseLeft(span: LeaseSpan, at: Micros): LeaseLeft {
  return {
    length: Math.max(span.until, span.believed) - span.from,
    truly: span.until - at,
    believed: span.believed - at,
    excess: span.believed - span.until,
    token: span.token,
  }
}
