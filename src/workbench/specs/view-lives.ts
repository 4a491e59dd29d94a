import type { NodeId } from '../../core/index.ts'
import { isAlive, type ViewState, viewStateOf, viewText } from './memory/view-states.ts'
import type { Spec } from './spec.ts'

/** Each node's incarnation, whether it has ended, and the first violation. */
type Lives = {
  readonly lives: readonly { readonly node: NodeId; readonly life: number; readonly over: boolean }[]
  readonly wrong: string | null
}

/** Invariant I3 of Omega+, and the second half of I2. */
export const viewLives: Spec<Lives> = {
  name: 'omega-lives',
  title: 'a live node is in its own view under its current incarnation, and no ended incarnation returns',
  source:
    'Franceschetti & Bruck 1999, section 3.4.2 ("once a node enters a dead state, it must exit the component")',
  when: 'always',
  fold: {
    begin: ({ nodes }) => ({ lives: nodes.map((node) => ({ node, life: 0, over: true })), wrong: null }),
    next(memory, seen) {
      if (seen.type !== 'view' && seen.type !== 'down') return memory
      const place = memory.lives.findIndex(({ node }) => node === seen.node)
      const was = memory.lives[place]
      if (was === undefined) return memory
      if (seen.type === 'down') {
        return was.over ? memory : { ...memory, lives: memory.lives.with(place, { ...was, over: true }) }
      }
      const now = viewStateOf(seen)
      const over = !isAlive(now)
      if (was.life === now.life && was.over === over) return memory
      const is = { node: seen.node, life: now.life, over }
      return { lives: memory.lives.with(place, is), wrong: memory.wrong ?? whyWrong(was, now) }
    },
  },
  judge({ wrong }, seen) {
    if (wrong !== null) return { violated: wrong }
    if (seen.type !== 'view') return 'not concerned'
    const now = viewStateOf(seen)
    if (!isAlive(now)) return 'not concerned'
    const why = whyNotInside(now)
    return why === null ? 'held' : { violated: why }
  },
}

function whyWrong(was: Lives['lives'][number], now: ViewState): string | null {
  if (now.life < was.life) return `${now.node} goes back from life ${was.life} to ${now.life}`
  // A dead node shows its next incarnation, which begins when a view includes it.
  if (was.over || now.life === was.life) return null
  return isAlive(now) ? `${now.node} goes from life ${was.life} to ${now.life} without having died` : null
}

function whyNotInside({ node, life, view }: ViewState): string | null {
  if (view === null) return `${node} is alive without a view`
  const named = view.lives[view.members.indexOf(node)]
  return named === life ? null : `${node} is alive in life ${life}, but has ${viewText(view)}`
}
