/** The theorems of Franceschetti & Bruck on Phi, Psi and Omega as printed. */
import { compareIds, type NodeId } from '../core/index.ts'
import type { Connected } from '../trace/index.ts'
import { areAllLinked, components, graphOf } from './graphs.ts'
import { type Linked, linkedNodes } from './linked.ts'
import type { Judgement, Spec } from './spec.ts'

/** Fully linked components of at least two, with those in them that are not dead. */
function cliques(memory: readonly Linked[], connected: Connected) {
  const up = memory.filter((each) => each.up)
  const graph = graphOf(
    up.map(({ node }) => node),
    connected,
  )
  return components(graph)
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
    // Where nothing has changed nobody has to be elected.
    if (alive.length === 0 || alive.every(({ members }) => isComponent(members, part))) continue
    concerned = true
    const least = alive.map(({ node }) => node).sort(compareIds)[0] as NodeId
    const leaders = alive.filter(({ role }) => role === 'leader').map(({ node }) => node)
    if (leaders.length === 1 && leaders[0] === least) continue
    const who = leaders.length === 0 ? 'nobody leads' : `${leaders.join(' and ')} lead`
    return { violated: `of ${part.join(', ')}, all linked, ${who}, not ${least}` }
  }
  return concerned ? 'held' : 'not concerned'
}

export const theorem31: Spec<readonly Linked[]> = {
  name: 'theorem-3-1',
  title: 'after failures, once settled, exactly one of the survivors leads: the least',
  source:
    'Franceschetti & Bruck 1999, Theorem 3.1, of the final state; "ever" is false for two failures (docs/papers/omega.md)',
  when: 'settled',
  fold: linkedNodes,
  judge: (memory, seen) => (seen.type === 'settled' ? oneLeader(memory, seen.connected) : 'not concerned'),
}

export const theorem32: Spec<readonly Linked[]> = {
  name: 'theorem-3-2',
  title: 'after failures and recoveries, once settled, exactly one leads: the least of those who were not isolated',
  source: 'Franceschetti & Bruck 1999, Theorem 3.2, of the final state; false where K counts isolated nodes',
  when: 'settled',
  fold: linkedNodes,
  judge: (memory, seen) => (seen.type === 'settled' ? oneLeader(memory, seen.connected) : 'not concerned'),
}

/** As printed: false for every protocol of this kind. It is in the catalogue to be seen failing. */
export const theorem33: Spec<readonly Linked[]> = {
  name: 'theorem-3-3',
  title: 'whoever is elected: at that moment nobody that it is linked with still sees a node that it takes for failed',
  source: 'Franceschetti & Bruck 1999, Theorem 3.3, first half, as printed (an instant); see theorem-3-3-logical',
  when: 'always',
  fold: linkedNodes,
  judge(memory, seen) {
    if (seen.type !== 'view') return 'not concerned'
    const leader = memory.find(({ node }) => node === seen.node)
    if (leader === undefined || !leader.elected) return 'not concerned'
    for (const peer of leader.linked) {
      const other = memory.find(({ node }) => node === peer)
      const alive = leader.suspects.find((id) => other?.linked.includes(id) === true)
      if (alive !== undefined) {
        return { violated: `${leader.node} is elected because ${alive} has failed, but ${peer} is linked with it` }
      }
    }
    return 'held'
  },
}

export const theorem33rest: Spec<readonly Linked[]> = {
  name: 'theorem-3-3-rest',
  title: 'once a wrong suspicion is over and all is settled, the component is as it was: all alive, nothing remembered',
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
      if (dead !== undefined) return { violated: `${dead.node} is left dead inside its component ${part.join(', ')}` }
      const busy = inside.find(({ notes }) => notes > 0)
      if (busy !== undefined) {
        return { violated: `${busy.node} still remembers ${busy.notes} messages of an election that is over` }
      }
    }
    return concerned ? 'held' : 'not concerned'
  },
}
