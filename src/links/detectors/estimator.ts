/**
 * The interface of failure detectors: heartbeats arrive, each with a number and a local time, and an estimator returns
 * the instant until which their sender is trusted. Timers, suspicion and notifying the protocol are the same for all
 * estimators: leader-watch.ts.
 *
 * Estimates are states like any other: plain, canonical, never mutated, and every instant in them moves with `shift`.
 *
 * Heartbeats are numbered by the sender's periods, from 0 in each of its terms; periods during a suspension are skipped.
 * Links keep their order, so a smaller number means that the sender has restarted its sequence, and the estimator resets.
 * The same number twice is a duplicate.
 */
import type { Micros, Plain } from '../../core/index.ts'

export type Judgement<E extends Plain> = {
  readonly estimate: E
  /** On the monitor's clock. Infinite where nothing has been heard that would say. */
  readonly trustedUntil: Micros
}

export type Estimator<E extends Plain = Plain> = {
  /**
   * A watch begins. `known` is what was learnt of the same peer before it was suspected and the protocol decided to
   * follow it all the same; otherwise null.
   */
  begin(known: E | null, now: Micros): Judgement<E>
  arrival(estimate: E, seq: number, now: Micros): Judgement<E>
  shift(estimate: E, by: Micros): E
}

/** To a whole number, the same on every machine, and never -0, which plain data does not know. */
export function whole(value: number): number {
  return Math.round(value) + 0
}
