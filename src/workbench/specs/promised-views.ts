import { type NodeId, withId } from '../../core/index.ts'
import {
  compareSeen,
  isAlive,
  type SeenView,
  type SeenViewId,
  sameSeen,
  viewStateOf,
  viewText,
} from './memory/view-states.ts'
import type { Spec } from './spec.ts'

type Promised = readonly { readonly id: SeenViewId; readonly by: readonly NodeId[] }[]

/**
 * The first half of Theorem 3.3, corrected. As printed it refers to which nodes suspect which at one instant.
 * No protocol can know that: two suspicions that never overlap look the same to the candidate as two that do.
 * What can be promised concerns logical suspicion: an accept is a promise, and is not withdrawn.
 */
export const promisedViews: Spec<Promised> = {
  name: 'theorem-3-3-logical',
  title: 'a view is installed only after each of its members has promised exactly that view',
  source:
    'Franceschetti & Bruck 1999, Theorem 3.3, with logical suspicion in place of suspicion at one instant',
  when: 'always',
  fold: {
    begin: () => [],
    next(memory, seen) {
      if (seen.type !== 'output' || seen.event.type !== 'promise') return memory
      const id = seen.event['id'] as SeenViewId
      const place = memory.findIndex((other) => sameSeen(other.id, id))
      const was = memory[place]
      if (was === undefined) {
        return [...memory, { id, by: [seen.node] }].sort((a, b) => compareSeen(a.id, b.id))
      }
      const by = withId(was.by, seen.node)
      return by === was.by ? memory : memory.with(place, { id, by })
    },
  },
  judge(memory, seen) {
    if (seen.type !== 'view') return 'not concerned'
    const standing = viewStateOf(seen)
    const { view } = standing
    if (!isAlive(standing) || view === null) return 'not concerned'
    // The first view of a settled world was promised before the run.
    if (view.id[0] === 1 && !memory.some(({ id }) => sameSeen(id, view.id))) return 'not concerned'
    return whoDidNot(memory, view)
  },
}

function whoDidNot(memory: Promised, view: SeenView): 'held' | { readonly violated: string } {
  const by = memory.find(({ id }) => sameSeen(id, view.id))?.by ?? []
  const missing = view.members.find((id) => !by.includes(id))
  return missing === undefined
    ? 'held'
    : { violated: `${viewText(view)} is installed, but ${missing} never promised it` }
}
