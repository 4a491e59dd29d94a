/**
 * A fixed timeout since the last arrival: the plainest detector there is.
 *
 * Nothing is kept, so a heartbeat changes no state. The price: the timeout runs from an *arrival*, so a heartbeat
 * that came late just before a crash postpones its detection by as much. T_D <= largest delay + timeout, where
 * NFD-E has the average delay.
 */
import type { Micros } from '../../core/index.ts'
import type { Estimator } from './estimator.ts'

export function fixedTimeout(suspectAfter: Micros): Estimator<null> {
  const judge = (now: Micros) => ({ estimate: null, trustedUntil: now + suspectAfter })
  return {
    begin: (_known, now) => judge(now),
    arrival: (_estimate, _seq, now) => judge(now),
    shift: () => null,
  }
}
