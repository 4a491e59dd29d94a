import { type Member, members } from './memory/assertions.ts'
import { graphOf } from './memory/graphs.ts'
import type { Spec } from './spec.ts'

/**
 * Stronger than Assertion 4': no two leaders are connected, or they would merge; every node reaches a leader.
 */
export const independentLeaders: Spec<readonly Member[]> = {
  name: 'independent-leaders',
  title: 'once settled, no two leaders can talk to each other, and every other process can talk to one',
  source: "follows from Stoller's proof sketch: the leaders are a maximal independent set",
  when: 'settled',
  fold: members,
  judge(memory, seen) {
    if (seen.type !== 'settled') return 'not concerned'
    const living = memory.filter(({ up }) => up)
    if (living.length === 0) return 'not concerned'
    const { linked } = graphOf(
      living.map(({ node }) => node),
      seen.connected,
    )
    const leaders = living.filter(({ node, coordinator }) => coordinator === node).map(({ node }) => node)
    for (const [at, a] of leaders.entries()) {
      const b = leaders.slice(at + 1).find((other) => linked(a, other))
      if (b !== undefined) return { violated: `${a} and ${b} both lead, and can talk to each other` }
    }
    const lost = living.find(
      ({ node }) => !leaders.includes(node) && !leaders.some((leader) => linked(node, leader)),
    )
    return lost === undefined ? 'held' : { violated: `${lost.node} can talk to no leader` }
  },
}
