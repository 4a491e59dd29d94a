import { components, type NodeId } from '../../core/index.ts'
import { sameSet } from './memory/connections.ts'
import { type FormedViews, formedViews, mayForm } from './memory/formed-views.ts'
import { areAllLinked, type Graph, graphOf } from './memory/graphs.ts'
import { isAlive, type ViewState, viewText } from './memory/view-states.ts'
import type { RunFacts, Spec } from './spec.ts'

/** Invariant I7 of Omega+. */
export const weakLiveness: Spec<FormedViews> = {
  name: 'weak-liveness',
  title:
    'once settled, all of a fully linked component are in one view, which is the component; who is alone is dead',
  source:
    'Franceschetti & Bruck 1999, section 5 ("weak liveness"); if a process in it is alive or it may begin again, and it has quorum',
  when: 'settled',
  fold: formedViews,
  judge: (memory, seen, run) =>
    seen.type === 'settled' ? judged(memory, seen.connected, run, (_graph, part) => part) : 'not concerned',
}

/**
 * Invariant I10 of Omega+: with the filter, dead outsiders that are linked with only some members do not
 * block.
 */
export const filteredLiveness: Spec<FormedViews> = {
  name: 'filtered-liveness',
  title:
    'once settled, the live nodes of a component, if all linked, are in one view without nodes that are not linked with all',
  source: 'Franceschetti & Bruck 1999, section 5, strengthened: half-linked outsiders do not count',
  when: 'settled',
  fold: formedViews,
  judge: (memory, seen, run) =>
    seen.type === 'settled'
      ? judged(memory, seen.connected, run, (_graph, part, alive) => (alive.length > 0 ? alive : part))
      : 'not concerned',
}

/** `expected`: the members of a component that should be in one view. */
function judged(
  memory: FormedViews,
  connected: Parameters<typeof graphOf>[1],
  run: RunFacts,
  expected: (graph: Graph, part: readonly NodeId[], alive: readonly NodeId[]) => readonly NodeId[],
): 'not concerned' | 'held' | { readonly violated: string } {
  const up = memory.viewStates.filter((standing) => standing.up)
  const graph = graphOf(
    up.map(({ node }) => node),
    connected,
  )
  let concerned = false
  for (const part of components(graph.nodes, graph.linked)) {
    const inside = up.filter(({ node }) => part.includes(node))
    const alive = inside.filter(isAlive)
    const [lone] = alive
    if (part.length === 1) {
      if (lone !== undefined) return { violated: `${lone.node} is alone, and alive` }
      concerned = true
      continue
    }
    const together = expected(
      graph,
      part,
      alive.map(({ node }) => node),
    )
    const standing = inside.filter(({ node }) => together.includes(node))
    if (together.length < 2 || !areAllLinked(graph, together) || !mayForm(memory, standing, together, run))
      continue
    concerned = true
    const why = whyNotTogether(standing, together)
    if (why !== null) return { violated: why }
  }
  return concerned ? 'held' : 'not concerned'
}

function whyNotTogether(inside: readonly ViewState[], part: readonly NodeId[]): string | null {
  const component = part.join(', ')
  const dead = inside.find((standing) => !isAlive(standing))
  if (dead !== undefined) return `${dead.node} is left dead, though ${component} are all linked`
  const wrong = inside.find(({ view }) => view === null || !sameSet(view.members, part))
  if (wrong !== undefined) {
    const has = wrong.view === null ? 'no view' : viewText(wrong.view)
    return `${component} are all linked, but ${wrong.node} has ${has}`
  }
  const [first] = inside
  const other = inside.find(({ view }) => view?.id.join() !== first?.view?.id.join())
  return other === undefined
    ? null
    : `${first?.node} and ${other.node} are in different views of the same nodes`
}
