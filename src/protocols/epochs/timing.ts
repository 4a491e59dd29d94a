/** The constants of time, in microseconds of a node's own clock. Section 4(a) and 4(c) of docs/explanation/papers/epochs.md. */
import type { Micros } from '../../core/index.ts'

export type Given = {
  /** T: how often a leader renews. */
  readonly period: Micros
  /** r: how long one access to a register takes at most, in a stable period. */
  readonly access: Micros
  /** d: how far a clock drifts from true time, as a fraction. */
  readonly drift: number
  /** D: how long a lease lasts on its holder's clock; null: derived. */
  readonly lease: Micros | null
}

export type Timing = {
  readonly period: Micros
  readonly access: Micros
  readonly lease: Micros
  /** How long others wait for the end of a lease: D(1 + d)^2. */
  readonly wait: Micros
  /** How often a follower looks at all registers. */
  readonly poll: Micros
  /** Tf: how long no counter may advance before a follower ticks. */
  readonly patience: Micros
  /** A whole election: three writes, and three rounds of reads in parallel, on the slowest clock. */
  readonly full: Micros
  /**
   * How long after one in the order of succession the next has its turn: whoever is before it has seen the last advance
   * up to a look and a round later, on another clock, and its tick must be there when this one looks.
   */
  readonly stagger: Micros
  /** The oracle: how long until everybody who read x before it was written has written too: 2 r, on the slowest clock. */
  readonly settle: Micros
  /** And how long whoever stands in x is given to win: that, one more round, an election, and a look around. */
  readonly deference: Micros
}

/** Renewals wanted within a lease, should the first ones fail. */
const TRIES = 3
const POLLS = 8

export function timingOf({ period, access, drift, lease }: Given): Timing {
  const one = 2 * access
  const length = lease ?? Math.ceil(period + TRIES * one * (1 + drift))
  const wait = Math.ceil(length * (1 + drift) ** 2)
  const poll = Math.ceil(period / POLLS)
  const full = Math.ceil(3 * one * (1 + drift) ** 2)
  const patience = wait + poll
  const stagger = Math.ceil((poll + 2 * one) * (1 + drift) ** 2 + 2 * drift * patience)
  const settle = Math.ceil(one * (1 + drift))
  const deference = settle + Math.ceil(one * (1 + drift) ** 2) + full + poll
  return { period, access, lease: length, wait, poll, patience, full, stagger, settle, deference }
}

/** What T and D must not be below, given r and d. */
export function leastPeriod(access: Micros, drift: number): Micros {
  return Math.ceil(6 * access * (1 + drift) ** 2)
}

export function leastLease(period: Micros, access: Micros, drift: number): Micros {
  return Math.ceil(period + 2 * 2 * access * (1 + drift))
}
