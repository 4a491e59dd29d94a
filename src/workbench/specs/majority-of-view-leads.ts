import { components } from '../../core/index.ts'
import { type ActingLeader, nextActing } from './memory/acting-leaders.ts'
import { type FormedViews, formedViews, mayForm, nextFormed } from './memory/formed-views.ts'
import { areAllLinked, graphOf } from './memory/graphs.ts'
import { viewText } from './memory/view-states.ts'
import type { RunFacts, Spec } from './spec.ts'

type Memory = { readonly views: FormedViews; readonly acting: readonly ActingLeader[] }

/** What users expect of a quorum: if enough nodes are linked with each other, one of them leads. */
export const majorityOfViewLeads: Spec<Memory> = {
  name: 'majority-of-view-leads',
  title: 'once settled, a fully linked component with a majority of the last formed view has a leader',
  source:
    'what a quorum is for; the exceptions are the lost message of Yeger Lotem, Keidar and Dolev 1997 (dynamic voting)',
  when: 'settled',
  fold: {
    begin: (run) => ({ views: formedViews.begin(run), acting: [] }),
    next(memory, seen) {
      const views = nextFormed(memory.views, seen)
      const acting = nextActing(memory.acting, seen)
      return views === memory.views && acting === memory.acting ? memory : { views, acting }
    },
  },
  judge({ views, acting }, seen, run) {
    if (seen.type !== 'settled') return 'not concerned'
    const up = views.viewStates.filter((standing) => standing.up)
    const graph = graphOf(
      up.map(({ node }) => node),
      seen.connected,
    )
    let concerned = false
    for (const part of components(graph.nodes, graph.linked)) {
      const inside = up.filter(({ node }) => part.includes(node))
      // An application that is unwilling to lead is not notified of a term.
      if (part.length < 2 || !inside.some(({ willing }) => willing)) continue
      if (!areAllLinked(graph, part) || !mayForm(views, inside, part, run)) continue
      concerned = true
      if (acting.some(({ node }) => part.includes(node))) continue
      return { violated: `${part.join(', ')} are all linked and hold ${held(views, run)}, but none leads` }
    }
    return concerned ? 'held' : 'not concerned'
  },
}

function held({ last }: FormedViews, { constants }: RunFacts): string {
  if (constants['staticQuorum'] === 1) return 'a majority of all nodes'
  if (constants['dynamicQuorum'] !== 1) return 'all that is needed'
  return `a majority of ${last === null ? 'all nodes' : viewText(last)}`
}
