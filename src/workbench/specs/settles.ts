import { type Micros, msOf, type NodeId } from '../../core/index.ts'
import type { Spec } from './spec.ts'

/** Each node's leader and since when; the changes since the world was settled, newest last. */
type Calm = {
  readonly leaders: readonly (readonly [NodeId, NodeId | null])[]
  readonly settledAt: Micros | null
  readonly changes: readonly { readonly at: Micros; readonly leaders: string }[]
  readonly count: number
}

/** Number of changes to remember, to find the period in which they repeat. */
const REMEMBERED = 400

/**
 * The last clause of Assertion 4', which its proof takes for granted: that the groups come to rest at all.
 */
export const settles: Spec<Calm> = {
  name: 'settles',
  title: 'once settled, no node changes its leader until something happens',
  source: 'Stoller 1999, Assertion 4\' ("remains in that state as long as the system remains stable")',
  when: 'settled',
  fold: {
    begin: ({ nodes }) => ({
      leaders: nodes.map((node) => [node, null]),
      settledAt: null,
      changes: [],
      count: 0,
    }),
    next(memory, seen) {
      if (seen.type === 'disturbed') {
        return memory.settledAt === null && memory.count === 0
          ? memory
          : { ...memory, settledAt: null, changes: [], count: 0 }
      }
      if (seen.type === 'settled')
        return memory.settledAt === null ? { ...memory, settledAt: seen.at } : memory
      if (seen.type !== 'view') return memory
      const place = memory.leaders.findIndex(([node]) => node === seen.node)
      if (memory.leaders[place]?.[1] === seen.view.leader) return memory
      const leaders = memory.leaders.with(place, [seen.node, seen.view.leader])
      if (memory.settledAt === null) return { ...memory, leaders }
      const change = { at: seen.at, leaders: JSON.stringify(leaders) }
      return {
        ...memory,
        leaders,
        count: memory.count + 1,
        changes: [...memory.changes.slice(-REMEMBERED), change],
      }
    },
  },
  judge({ settledAt, changes, count }, seen) {
    if (seen.type !== 'settled') return 'not concerned'
    if (count === 0) return 'held'
    const since = msOf(settledAt ?? 0)
    const period = periodOf(changes)
    const repeats = period === null ? '' : `, repeating every ${msOf(period)} ms`
    return {
      violated: `livelock: ${count} changes of leader since ${since} ms, when all should have settled${repeats}`,
    }
  },
}

/** The time since everything was as it is now, if the changes after it were the same each time. */
function periodOf(changes: Calm['changes']): Micros | null {
  const last = changes.at(-1)
  if (last === undefined) return null
  for (let back = changes.length - 2; back >= 0; back--) {
    const earlier = changes[back]
    if (earlier === undefined || earlier.leaders !== last.leaders) continue
    const length = changes.length - 1 - back
    const before = changes.slice(Math.max(0, back - length + 1), back + 1).map(({ leaders }) => leaders)
    const after = changes.slice(back + 1).map(({ leaders }) => leaders)
    if (before.length === length && before.every((text, index) => text === after[index]))
      return last.at - earlier.at
  }
  return null
}
