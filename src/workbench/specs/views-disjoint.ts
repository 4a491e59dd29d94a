import { compareIds, type Micros, type NodeId, withId, withoutId } from '../../core/index.ts'
import type { Observation } from '../trace/index.ts'
import { commonMember, leadsNow, sameMembers } from './memory/leases.ts'
import type { Spec } from './spec.ts'

/** The nodes that a node believes to be members of its leader's partition, and until when. */
type Trusted = {
  readonly node: NodeId
  readonly leader: NodeId
  readonly members: readonly NodeId[]
  readonly until: Micros | null
  /** Its leader has given up the lease that it is of, and may have led again since. */
  readonly isVoid: boolean
}

type Views = {
  /** In id order. */
  readonly views: readonly Trusted[]
  /** Nodes that gave up a lease early and have not led since. */
  readonly gaveUp: readonly NodeId[]
}

type ViewSeen = Observation & { readonly type: 'view' }

/**
 * A leader that gives up before the end of its lease releases its supporters at once. A node that has not
 * heard of it keeps trusting the old view. Such views do not count. A crash releases nothing, so views of a
 * crashed leader do count.
 */
export const viewsDisjoint: Spec<Views> = {
  name: 'views-disjoint',
  title:
    'no two membership views of different leaders that are trusted at one moment have a member in common',
  source: 'Fetzer and Cristian, section X; followers trust a view for as long as it is known to hold',
  when: 'always',
  fold: {
    begin: () => ({ views: [], gaveUp: [] }),
    next(memory, seen) {
      switch (seen.type) {
        case 'view':
          return recordView(memory, seen)
        case 'down':
        case 'up':
          return without(memory, seen.node)
        case 'output':
          if (seen.event.type !== 'demoted' || seen.event['cause'] === 'expired') return memory
          return {
            views: memory.views.map((view) => (view.leader === seen.node ? { ...view, isVoid: true } : view)),
            gaveUp: withId(memory.gaveUp, seen.node),
          }
        default:
          return memory
      }
    },
  },
  judge({ views, gaveUp }, seen) {
    if (seen.type !== 'view' || views.length < 2) return 'not concerned'
    const own = views[placeOf(views, seen.node)]
    if (own === undefined || own.isVoid || gaveUp.includes(own.leader)) return 'not concerned'
    let concerned = false
    for (const other of views) {
      if (other === own || (other.until !== null && other.until <= seen.at)) continue
      concerned = true
      if (other.leader === own.leader || other.isVoid || gaveUp.includes(other.leader)) continue
      const member = commonMember(own.members, other.members)
      if (member !== null) {
        return {
          violated: `${member} is a member under ${own.leader}, says ${own.node}, and under ${other.leader}, says ${other.node}`,
        }
      }
    }
    return concerned ? 'held' : 'not concerned'
  },
}

function recordView(memory: Views, seen: ViewSeen): Views {
  const { node, until } = seen
  const { leader, members } = seen.view
  const leads = leadsNow(seen)
  // Only a leader's view may lack an end; any other view without an end is not trusted.
  const isTrusted = leads || (seen.view.role !== 'leader' && until !== null && until > seen.at)
  if (!isTrusted || members === null || leader === null) return without(memory, node)
  const gaveUp = leads ? withoutId(memory.gaveUp, node) : memory.gaveUp
  const place = placeOf(memory.views, node)
  const was = memory.views[place]
  if (was === undefined) {
    const views = [...memory.views, { node, leader, members, until, isVoid: false }]
    return { views: views.sort((a, b) => compareIds(a.node, b.node)), gaveUp }
  }
  const isSame = sameMembers(was.members, members)
  if (isSame && was.until === until && was.leader === leader && gaveUp === memory.gaveUp) return memory
  // A node that learns nothing new from the leader still has the view of the lease that was given up.
  const isVoid = was.isVoid && was.leader === leader && was.until === until
  const next = { node, leader, members: isSame ? was.members : members, until, isVoid }
  return { views: memory.views.with(place, next), gaveUp }
}

function without(memory: Views, node: NodeId): Views {
  const place = placeOf(memory.views, node)
  return place < 0 ? memory : { ...memory, views: memory.views.toSpliced(place, 1) }
}

function placeOf(views: readonly Trusted[], node: NodeId): number {
  for (let place = 0; place < views.length; place++) if (views[place]?.node === node) return place
  return -1
}
