/** The theorems of Franceschetti & Bruck on Phi, Psi and Omega as printed. */
import { compareIds, components, type NodeId, withIds } from '../../core/index.ts'
import type { Connected } from '../trace/index.ts'
import { areAllLinked, graphOf } from './memory/graphs.ts'
import { type Linked, linkedNodes } from './memory/links.ts'
import type { Judgement, Spec } from './spec.ts'

/** Fully linked components of at least two nodes, with their members that are not dead. */
function cliques(memory: readonly Linked[], connected: Connected) {
  const up = memory.filter((each) => each.up)
  const graph = graphOf(
    up.map(({ node }) => node),
    connected,
  )
  return components(graph.nodes, graph.linked)
    .filter((part) => part.length > 1 && areAllLinked(graph, part))
    .map((part) => {
      const inside = up.filter(({ node }) => part.includes(node))
      return { part, inside, alive: inside.filter(({ role }) => role !== 'dead') }
    })
}

const isComponent = (members: readonly NodeId[] | null, part: readonly NodeId[]): boolean =>
  members !== null && [...members].sort(compareIds).join() === [...part].sort(compareIds).join()

function oneLeader(memory: readonly Linked[], connected: Connected): Judgement {
  let concerned = false
  for (const { part, alive } of cliques(memory, connected)) {
    // If nothing has changed, or no node is left, no election is due.
    if (alive.every(({ members }) => isComponent(members, part))) continue
    concerned = true
    const least = alive.map(({ node }) => node).sort(compareIds)[0] as NodeId
    const leaders = alive.filter(({ role }) => role === 'leader').map(({ node }) => node)
    if (leaders.length === 1 && leaders[0] === least) continue
    const who = leaders.length === 0 ? 'no node leads' : `${leaders.join(' and ')} lead`
    return { violated: `of ${part.join(', ')}, all linked, ${who}, not ${least}` }
  }
  return concerned ? 'held' : 'not concerned'
}

/** The state of all nodes, and whether a link has come back: Phi has no recoveries. */
type Failing = { readonly all: readonly Linked[]; readonly repaired: boolean }

export const theorem31: Spec<Failing> = {
  name: 'theorem-3-1',
  title: 'after failures without recoveries, once settled, exactly one of the survivors leads: the least',
  source:
    'Franceschetti & Bruck 1999, Theorem 3.1, of the final state; "ever" is false for two failures (docs/explanation/papers/omega.md)',
  when: 'settled',
  fold: {
    begin: (run) => ({ all: linkedNodes.begin(run), repaired: false }),
    next(memory, seen) {
      const all = linkedNodes.next(memory.all, seen)
      if (all === memory.all) return memory
      const grown = all.some(({ linked, members }, place) => {
        const was = memory.all[place] as Linked
        return members !== null && was.up && linked.some((id) => !was.linked.includes(id))
      })
      return { all, repaired: memory.repaired || grown }
    },
  },
  judge: ({ all, repaired }, seen) =>
    seen.type === 'settled' && !repaired ? oneLeader(all, seen.connected) : 'not concerned',
}

export const theorem32: Spec<readonly Linked[]> = {
  name: 'theorem-3-2',
  title:
    'after failures and recoveries, once settled, exactly one leads: the least of those who were not isolated',
  source: 'Franceschetti & Bruck 1999, Theorem 3.2, of the final state; false where K counts isolated nodes',
  when: 'settled',
  fold: linkedNodes,
  judge: (memory, seen) => (seen.type === 'settled' ? oneLeader(memory, seen.connected) : 'not concerned'),
}

/**
 * The state of all nodes, the node elected just now, and the nodes that all others suspected at one instant.
 */
type Elected = {
  readonly all: readonly Linked[]
  readonly elected: NodeId | null
  readonly failed: readonly NodeId[]
}

/** As printed: false for every protocol of this kind. It is in the catalogue to demonstrate the failure. */
export const theorem33: Spec<Elected> = {
  name: 'theorem-3-3',
  title:
    'no node is elected over nodes that were never suspected by all others at one instant (a fake failure)',
  source:
    'Franceschetti & Bruck 1999, Theorem 3.3, first half, as printed; see theorem-3-3-logical for what is true',
  when: 'always',
  fold: {
    begin: (run) => ({ all: linkedNodes.begin(run), elected: null, failed: [] }),
    next(memory, seen) {
      const all = linkedNodes.next(memory.all, seen)
      let { elected, failed } = memory
      if (seen.type === 'output' && seen.event.type === 'elected') elected = seen.node
      // The winner's own view, which comes next, shows which nodes it suspects.
      else if (seen.type === 'view' && (seen.node !== elected || seen.view.role !== 'leader')) elected = null
      if (all !== memory.all) failed = withIds(failed, suspectedByAll(all))
      return all === memory.all && elected === memory.elected ? memory : { all, elected, failed }
    },
  },
  judge({ all, elected, failed }, seen) {
    if (seen.type !== 'view' || seen.node !== elected) return 'not concerned'
    const suspects = all.find(({ node }) => node === elected)?.suspects ?? []
    if (suspects.length === 0) return 'not concerned'
    const fake = suspects.find((id) => !failed.includes(id))
    if (fake === undefined) return 'held'
    return { violated: `${elected} is elected over ${fake}, which the others never suspected all at once` }
  },
}

function suspectedByAll(all: readonly Linked[]): readonly NodeId[] {
  return all
    .map(({ node }) => node)
    .filter((id) => {
      const others = all.filter(({ node, members }) => node !== id && members?.includes(id) === true)
      return others.length > 0 && others.every(({ suspects }) => suspects.includes(id))
    })
}

export const theorem33rest: Spec<readonly Linked[]> = {
  name: 'theorem-3-3-rest',
  title:
    'once a wrong suspicion is over and all is settled, the component is as it was: all alive, nothing remembered',
  source: 'Franceschetti & Bruck 1999, Theorem 3.3, second half',
  when: 'settled',
  fold: linkedNodes,
  judge(memory, seen) {
    if (seen.type !== 'settled') return 'not concerned'
    let concerned = false
    for (const { part, inside, alive } of cliques(memory, seen.connected)) {
      if (!alive.some(({ members }) => isComponent(members, part))) continue
      concerned = true
      const dead = inside.find(({ role }) => role === 'dead')
      if (dead !== undefined)
        return { violated: `${dead.node} is left dead inside its component ${part.join(', ')}` }
      const busy = inside.find(({ notes }) => notes > 0)
      if (busy !== undefined) {
        return { violated: `${busy.node} still remembers ${busy.notes} messages of an election that is over` }
      }
    }
    return concerned ? 'held' : 'not concerned'
  },
}
