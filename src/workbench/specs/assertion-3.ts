import { type Member, members, placed, sameGroupNumber } from './memory/assertions.ts'
import type { Spec } from './spec.ts'

/**
 * As printed it requires one leader per group, but the group's number names the leader, so it cannot fail.
 * The task can: Garcia-Molina's second clause, which Stoller omitted, here also for Reorganization.
 */
export const assertion3: Spec<readonly Member[]> = {
  name: 'assertion-3',
  title: 'at every moment, processes of one group that are in Normal have been given one task',
  source: 'Garcia-Molina 1982 and Stoller 1999, Assertion 3; with the clause on the task',
  when: 'always',
  fold: members,
  judge(memory, seen) {
    if (seen.type !== 'view') return 'not concerned'
    const all = placed(memory)
    const own = all.find(({ node }) => node === seen.node)
    if (own === undefined) return 'not concerned'
    const fellows = all.filter((other) => other.node !== own.node && sameGroupNumber(own, other))
    if (fellows.length === 0) return 'not concerned'
    const odd = fellows.find(
      (other) =>
        other.coordinator !== own.coordinator ||
        (other.status === 'Normal' && own.status === 'Normal' && other.d !== own.d),
    )
    if (odd === undefined) return 'held'
    return {
      violated: `${own.node} and ${odd.node} are in group ${own.group?.join('.')} but not under one task`,
    }
  },
}
