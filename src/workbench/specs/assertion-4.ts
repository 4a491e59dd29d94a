import { type Member, members } from './memory/assertions.ts'
import { graphOf, leastCliqueCover, MOST_FOR_COVER, maximalCliques } from './memory/graphs.ts'
import type { Spec } from './spec.ts'

/**
 * Garcia-Molina's own form. It forces nodes that cannot communicate into one group (Stoller 1999, Figure 1),
 * so no protocol here promises it. It is in the catalogue to demonstrate the failure.
 */
export const assertion4: Spec<readonly Member[]> = {
  name: 'assertion-4',
  title: 'once settled, the processes of every maximal clique are Normal in one group led by one of them',
  source: 'Garcia-Molina 1982, Assertion 4; refuted by Stoller 1999',
  when: 'settled',
  fold: members,
  judge(memory, seen) {
    if (seen.type !== 'settled') return 'not concerned'
    const living = memory.filter(({ up }) => up)
    if (living.length === 0 || living.length > MOST_FOR_COVER) return 'not concerned'
    const graph = graphOf(
      living.map(({ node }) => node),
      seen.connected,
    )
    for (const clique of maximalCliques(graph)) {
      const inside = living.filter(({ node }) => clique.includes(node))
      const leader = inside.find(
        ({ node, coordinator, status }) => status === 'Normal' && coordinator === node,
      )
      if (leader === undefined) return { violated: `no node in {${clique.join(', ')}} leads it` }
      const odd = inside.find(({ coordinator, status }) => status !== 'Normal' || coordinator !== leader.node)
      if (odd !== undefined) {
        return {
          violated: `in {${clique.join(', ')}}, ${leader.node} leads but ${odd.node} follows ${odd.coordinator}`,
        }
      }
    }
    return 'held'
  },
}

/** Stoller's form, with E instead of its closure E*: every node is directly connected with its leader. */
export const assertion4prime: Spec<readonly Member[]> = {
  name: "assertion-4'",
  title:
    'once settled, all are Normal in groups whose leaders they can talk to, no more groups than a least clique cover',
  source: "Stoller 1999, Assertion 4'; operational processes only, and direct connections",
  when: 'settled',
  fold: members,
  judge(memory, seen) {
    if (seen.type !== 'settled') return 'not concerned'
    const living = memory.filter(({ up }) => up)
    if (living.length === 0) return 'not concerned'
    const graph = graphOf(
      living.map(({ node }) => node),
      seen.connected,
    )
    for (const { node, status, coordinator, group } of living) {
      const leader = living.find((other) => other.node === coordinator)
      if (status !== 'Normal') return { violated: `${node} is in ${status}` }
      if (leader === undefined) return { violated: `${node} follows ${coordinator}, which is down` }
      if (JSON.stringify(leader.group) !== JSON.stringify(group)) {
        return {
          violated: `${node} is in group ${group?.join('.')}, its leader ${coordinator} in ${leader.group?.join('.')}`,
        }
      }
      if (node !== coordinator && coordinator !== null && !graph.linked(node, coordinator)) {
        return { violated: `${node} follows ${coordinator}, with which it cannot talk` }
      }
    }
    if (living.length > MOST_FOR_COVER) return 'held'
    const groups = new Set(living.map(({ group }) => JSON.stringify(group))).size
    const least = leastCliqueCover(graph)
    return groups <= least
      ? 'held'
      : { violated: `there are ${groups} groups, and ${least} cliques would cover all` }
  },
}
