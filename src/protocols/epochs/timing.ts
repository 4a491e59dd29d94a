/** Timing constants, in microseconds of a node's own clock: sections 4(a) and 4(c) of docs/explanation/papers/epochs.md. */
import type { Micros } from '../../core/index.ts'

export type TimingInput = {
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
  /** How long other nodes wait for the end of a lease: D(1 + d)^2. */
  readonly wait: Micros
  /** How often a follower looks at all registers. */
  readonly poll: Micros
  /** Tf: a follower ticks if no counter has advanced for this time. */
  readonly patience: Micros
  /** A whole election: three writes, and three rounds of reads in parallel, on the slowest clock. */
  readonly full: Micros
  /**
   * The delay between two nodes in the order of succession. The earlier node may have seen the last advance up to a look
   * and a round later, on another clock. Its tick must be in its register when the next node looks.
   */
  readonly stagger: Micros
  /** The oracle: how long until every node that read the old x has written its own cell: 2 r, on the slowest clock. */
  readonly settle: Micros
  /** The oracle: how long other nodes let the owner of x try: `settle`, one more round, an election, and a look. */
  readonly deference: Micros
}

/** How many renewals fit into a lease, in case the first ones fail. */
const TRIES = 3
const POLLS = 8

export function timingOf({ period, access, drift, lease }: TimingInput): Timing {
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

/** The lowest T for this r and d. */
export function leastPeriod(access: Micros, drift: number): Micros {
  return Math.ceil(6 * access * (1 + drift) ** 2)
}

/** The lowest D for this T, r and d. */
export function leastLease(period: Micros, access: Micros, drift: number): Micros {
  return Math.ceil(period + 2 * 2 * access * (1 + drift))
}
