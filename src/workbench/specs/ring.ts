import { compareIds, type NodeId } from '../../core/index.ts'
import type { Fold, Spec } from './spec.ts'

type RingMember = {
  readonly node: NodeId
  readonly up: boolean
  readonly leader: NodeId | null
  readonly load: number
}

type RingMemory = {
  readonly members: readonly RingMember[]
  /** Some node has taken part in an election. */
  readonly started: boolean
  /** Loads have changed during the election, so the least loaded node may be a different one now. */
  readonly loadsChanged: boolean
}

const memory: Fold<RingMemory> = {
  begin: ({ nodes }) => ({
    members: nodes.map((node) => ({ node, up: false, leader: null, load: 0 })),
    started: false,
    loadsChanged: false,
  }),
  next(was, seen) {
    if (seen.type !== 'view' && seen.type !== 'down' && seen.type !== 'up') return was
    const place = was.members.findIndex(({ node }) => node === seen.node)
    const before = was.members[place]
    if (before === undefined) return was
    const load = seen.type === 'view' ? ((seen.view.detail?.['load'] ?? 0) as number) : before.load
    const leader = seen.type === 'view' ? seen.view.leader : null
    const isUp = seen.type !== 'down'
    const started = was.started || (seen.type === 'view' && seen.view.role !== 'follower')
    const loadsChanged =
      was.loadsChanged || (seen.type === 'view' && before.up && before.load !== load && was.started)
    const same = before.up === isUp && before.leader === leader && before.load === load
    if (same && started === was.started && loadsChanged === was.loadsChanged) return was
    return {
      members: was.members.with(place, { node: seen.node, up: isUp, leader, load }),
      started,
      loadsChanged,
    }
  },
}

export const ringSafety: Spec<RingMemory> = {
  name: 'ring-safety',
  title: 'once settled, all that have a leader have the same, and it is the one with the largest identifier',
  source: 'Edinburgh lecture 11, Safety, for the ring; identifiers <1/load, i>',
  when: 'settled',
  fold: memory,
  judge({ members, started, loadsChanged }, seen) {
    if (seen.type !== 'settled' || seen.connected !== 'full' || !started) return 'not concerned'
    const living = members.filter(({ up }) => up)
    const informed = living.filter(({ leader }) => leader !== null)
    const [first] = informed
    if (first === undefined) return 'not concerned'
    const other = informed.find(({ leader }) => leader !== first.leader)
    if (other !== undefined) {
      return {
        violated: `${first.node} has elected ${first.leader} but ${other.node} has elected ${other.leader}`,
      }
    }
    if (loadsChanged) return 'held'
    const best = [...living].sort((a, b) => a.load - b.load || compareIds(b.node, a.node))[0]
    if (best === undefined || best.node === first.leader) return 'held'
    return { violated: `${first.leader} is elected, yet ${best.node} has the largest identifier` }
  },
}

export const ringLiveness: Spec<RingMemory> = {
  name: 'ring-liveness',
  title: 'once settled, if a process began an election, every living process has a leader that is alive',
  source: 'Edinburgh lecture 11, Liveness, for the ring; a crashed leader does not count',
  when: 'settled',
  fold: memory,
  judge({ members, started }, seen) {
    if (seen.type !== 'settled' || seen.connected !== 'full' || !started) return 'not concerned'
    const living = members.filter(({ up }) => up)
    if (living.length === 0) return 'not concerned'
    for (const { node, leader } of living) {
      if (leader === null) return { violated: `${node} has no leader` }
      if (!living.some((other) => other.node === leader))
        return { violated: `${node} follows ${leader}, which is down` }
    }
    return 'held'
  },
}
