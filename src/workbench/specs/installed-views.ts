import type { NodeId } from '../../core/index.ts'
import type { Observation } from '../trace/index.ts'
import { compareSeen, isAlive, type SeenView, sameSeen, viewStateOf, viewText } from './memory/view-states.ts'
import type { Spec } from './spec.ts'

/** All installed views in order, the last view of each node, and the first violation. */
type Installed = {
  readonly views: readonly SeenView[]
  readonly last: readonly (readonly [node: NodeId, view: SeenView | null])[]
  readonly wrong: string | null
}

/** Invariants I1, I2, I4 and I5 of Omega+. */
export const installedViews: Spec<Installed> = {
  name: 'omega-views',
  title:
    'a view id stands for one membership, which holds its leader; the ids that a process installs only grow',
  source: 'Franceschetti & Bruck 1999, section 3.4, corrected: views are numbered, and totally ordered',
  when: 'always',
  fold: {
    begin: ({ nodes }) => ({ views: [], last: nodes.map((node) => [node, null]), wrong: null }),
    next(memory, seen) {
      if (seen.type !== 'view') return memory
      const { node, view } = viewStateOf(seen)
      const place = memory.last.findIndex(([id]) => id === node)
      const was = memory.last[place]?.[1] ?? null
      if (view === null || (was !== null && sameSeen(was.id, view.id) && sameView(was, view))) return memory
      return {
        views: withView(memory.views, view),
        last: memory.last.with(place, [node, view]),
        wrong: memory.wrong ?? whyWrong(memory.views, was, node, view, seen),
      }
    },
  },
  judge({ wrong }, seen) {
    if (wrong !== null) return { violated: wrong }
    return seen.type === 'view' && isAlive(viewStateOf(seen)) ? 'held' : 'not concerned'
  },
}

function whyWrong(
  views: readonly SeenView[],
  was: SeenView | null,
  node: NodeId,
  view: SeenView,
  seen: Observation & { readonly type: 'view' },
): string | null {
  const other = views.find(({ id }) => sameSeen(id, view.id))
  if (other !== undefined && !sameView(other, view)) {
    return `${node} has ${viewText(view)}, but others ${viewText(other)}`
  }
  if (was !== null && compareSeen(view.id, was.id) <= 0) {
    return `${node} installs ${viewText(view)} after ${viewText(was)}`
  }
  if (!view.members.includes(view.id[1])) return `the leader is not in ${viewText(view)}`
  // The leader of a view need not have the role of leader: real processes take it only while they may act.
  return seen.view.role === 'leader' && view.id[1] !== node ? `${node} is leader in ${viewText(view)}` : null
}

function sameView(a: SeenView, b: SeenView): boolean {
  return a.members.join() === b.members.join() && a.lives.join() === b.lives.join()
}

export function withView(views: readonly SeenView[], view: SeenView): readonly SeenView[] {
  if (views.some(({ id }) => sameSeen(id, view.id))) return views
  return [...views, view].sort((a, b) => compareSeen(a.id, b.id))
}
