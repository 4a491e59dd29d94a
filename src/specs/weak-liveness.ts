import { components, type NodeId } from '../core/index.ts'
import { sameSet } from './connections.ts'
import { areAllLinked, type Graph, graphOf } from './graphs.ts'
import type { RunFacts, Spec } from './spec.ts'
import {
  compareSeen,
  holdsMajority,
  isAlive,
  type SeenViewId,
  type Standing,
  sameSeen,
  standings,
  viewText,
} from './standing.ts'

/** Invariant I7 of Omega+. */
export const weakLiveness: Spec<readonly Standing[]> = {
  name: 'weak-liveness',
  title:
    'once settled, all of a fully linked component are in one view, which is the component; who is alone is dead',
  source:
    'Franceschetti & Bruck 1999, section 5 ("weak liveness"); if somebody in it is alive or it may begin again, and it has quorum',
  when: 'settled',
  fold: standings,
  judge: (memory, seen, run) =>
    seen.type === 'settled' ? judged(memory, seen.connected, run, (_graph, part) => part) : 'not concerned',
}

/** Invariant I10 of Omega+: with the filter, dead outsiders that are linked with only some do not stand in the way. */
export const filteredLiveness: Spec<readonly Standing[]> = {
  name: 'filtered-liveness',
  title:
    'once settled, the living of a component, if all linked, are in one view without whoever is not linked with all',
  source: 'Franceschetti & Bruck 1999, section 5, strengthened: half-linked outsiders do not count',
  when: 'settled',
  fold: standings,
  judge: (memory, seen, run) =>
    seen.type === 'settled'
      ? judged(memory, seen.connected, run, (_graph, part, alive) => (alive.length > 0 ? alive : part))
      : 'not concerned',
}

/** `expected`: who of a component should be in one view. */
function judged(
  memory: readonly Standing[],
  connected: Parameters<typeof graphOf>[1],
  run: RunFacts,
  expected: (graph: Graph, part: readonly NodeId[], alive: readonly NodeId[]) => readonly NodeId[],
): 'not concerned' | 'held' | { readonly violated: string } {
  const up = memory.filter((standing) => standing.up)
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
    if (together.length < 2 || !areAllLinked(graph, together) || !mayForm(standing, together, run)) continue
    concerned = true
    const why = whyNotTogether(standing, together)
    if (why !== null) return { violated: why }
  }
  return concerned ? 'held' : 'not concerned'
}

function mayForm(
  inside: readonly Standing[],
  part: readonly NodeId[],
  { nodes, constants }: RunFacts,
): boolean {
  const mayReinit =
    constants['reinitQuorum'] === 1 || (constants['reinitAll'] === 1 && part.length === nodes.length)
  if (!inside.some(isAlive) && !mayReinit) return false
  if (constants['staticQuorum'] === 1) return 2 * part.length > nodes.length
  if (constants['dynamicQuorum'] !== 1) return true
  const views = inside.flatMap(({ view }) => (view === null ? [] : [view]))
  const last = views.sort((a, b) => compareSeen(a.id, b.id)).at(-1)
  const open = inside
    .flatMap(({ attempts }) => attempts)
    .filter(({ id }) => (last === undefined || compareSeen(id, last.id) > 0) && !isGivenUp(id, inside))
  const tie = constants['tie'] === 1
  return [last?.members ?? nodes, ...open.map(({ members }) => members)].every((whole) =>
    holdsMajority(part, whole, tie),
  )
}

function whyNotTogether(inside: readonly Standing[], part: readonly NodeId[]): string | null {
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

/** Who proposed it is here and holds on to it no more: nobody can have installed it. */
function isGivenUp(id: SeenViewId, inside: readonly Standing[]): boolean {
  const proposer = inside.find(({ node }) => node === id[1])
  return proposer !== undefined && !proposer.attempts.some((attempt) => sameSeen(attempt.id, id))
}
