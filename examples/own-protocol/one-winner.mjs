/**
 * What a ballot promises: there is one winner, now and for ever. (`one-leader`, which comes with Conclave, is
 * weaker: it lets a second node lead once the first has crashed.)
 *
 * @import { NodeId } from 'conclave/core'
 * @import { Spec } from 'conclave/specs'
 */
import { withId } from 'conclave/core'

/** @type {Spec<readonly NodeId[]>} */
export const oneWinner = {
  name: 'one-winner',
  title: 'at most one process ever leads',
  source: 'docs/tutorials/your-first-protocol.md',
  when: 'always',
  // What is remembered: everyone who has ever led.
  fold: {
    begin: () => [],
    next: (winners, seen) =>
      seen.type === 'view' && seen.view.role === 'leader' ? withId(winners, seen.node) : winners,
  },
  judge(winners, seen) {
    if (seen.type !== 'view' || seen.view.role !== 'leader') return 'not concerned'
    return winners.length < 2 ? 'held' : { violated: `${winners.join(' and ')} have both won` }
  },
}
