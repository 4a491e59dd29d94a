/**
 * No adaptive estimator may trust a silent peer for longer than this. A margin that follows what was observed has no
 * bound: a host that slept for a minute teaches phi and Bertier's margin patience for a window to come. To
 * compute how long a system takes to settle, the bound is needed, so it is an option of its own for every formula.
 */
import type { Micros, Plain } from '../../core/index.ts'
import type { Estimator, Judgement } from './estimator.ts'

export function capSilence<E extends Plain>(inner: Estimator<E>, longestSilence: Micros): Estimator<E> {
  const cap = (judgement: Judgement<E>, now: Micros): Judgement<E> => {
    const most = now + longestSilence
    return judgement.trustedUntil <= most ? judgement : { estimate: judgement.estimate, trustedUntil: most }
  }
  return {
    ...inner,
    begin: (known, now) => cap(inner.begin(known, now), now),
    arrival: (estimate, seq, now) => cap(inner.arrival(estimate, seq, now), now),
  }
}
