import { type Micros, msOf, type NodeId } from '../../core/index.ts'
import type { Observation } from '../trace/index.ts'
import { sameSet } from './memory/connections.ts'
import { couldLead, type Elector, electorate } from './memory/electorate.ts'
import {
  endOf,
  isOn,
  type Lease,
  leadsNow,
  leaseOf,
  leases,
  memberTest,
  withObserver,
} from './memory/leases.ts'
import type { Spec } from './spec.ts'

/**
 * A stable partition. `led`: the last instant at which a node in it stopped leading, or else its beginning.
 */
type Part = { readonly members: readonly NodeId[]; readonly since: Micros; readonly led: Micros }

type Timeliness = {
  readonly leases: readonly Lease[]
  readonly system: System
}

/** The part of the memory that rarely changes. */
type System = {
  /** How long a partition may be without a leader (κ); null if the protocol has no such bound. */
  readonly kappa: Micros | null
  /** The nodes of whose voters a partition must hold a majority; null if any partition counts. */
  readonly electors: readonly Elector[] | null
  /** Nodes that cannot store a vote. */
  readonly unwritable: readonly NodeId[]
  readonly observers: readonly NodeId[]
  readonly parts: readonly Part[]
  readonly gap: { readonly members: readonly NodeId[]; readonly from: Micros; readonly to: Micros } | null
}

/**
 * The constant is the protocol's `kappaT`. If the protocol requires a majority (`majority`), a partition
 * counts from the moment one of its nodes may lead and holds, with the members that can store a vote, a
 * majority of the voters in force (electorate.ts). A partition of observers never counts.
 *
 * Checked when a node starts to lead, when the partitions change, and at the end of the run.
 */
export const timeliness: Spec<Timeliness> = {
  name: 'T',
  title: 'a stable partition is never without a leader for longer than κ',
  source: 'Fetzer and Cristian, section V (T); in majority mode only of partitions with a majority',
  when: 'always',
  fold: {
    begin: (run) => ({
      leases: leases.begin(run),
      system: {
        kappa: run.constants['kappaT'] ?? null,
        electors: run.constants['majority'] === 1 ? electorate.begin(run) : null,
        unwritable: [],
        observers: [],
        parts: [],
        gap: null,
      },
    }),
    next(memory, seen) {
      switch (seen.type) {
        case 'view':
        case 'down':
        case 'up': {
          const after = leases.next(memory.leases, seen)
          let { system } = memory
          if (after !== memory.leases) system = changed(system, memory.leases, seen)
          system = withElectors(system, seen)
          const role = seen.type === 'view' ? seen.view.role : null
          const observers = withObserver(system.observers, seen.node, role)
          if (observers !== system.observers) system = { ...system, observers }
          if (after === memory.leases && system === memory.system) return memory
          return { leases: after, system }
        }
        case 'commanded': {
          const system = withElectors(checkAll(memory, seen.at), seen)
          return system === memory.system ? memory : { leases: memory.leases, system }
        }
        case 'connectivity': {
          const looked = checkAll(memory, seen.at)
          const { unwritable } = seen.reach
          const isWritableAgain = looked.unwritable.some((node) => !unwritable.includes(node))
          const parts = seen.stable.map((members): Part => {
            const same = looked.parts.find((part) => sameSet(part.members, members))
            return same === undefined || isWritableAgain ? { members, since: seen.at, led: seen.at } : same
          })
          return { leases: memory.leases, system: { ...looked, unwritable, parts } }
        }
        case 'ended': {
          const system = checkAll(memory, seen.at)
          return system === memory.system ? memory : { leases: memory.leases, system }
        }
        default:
          return memory
      }
    },
  },
  judge({ system }, seen) {
    const { kappa, gap, parts } = system
    if (gap !== null) {
      const { members, from, to } = gap
      return { violated: `no node in {${members.join(', ')}} led from ${msOf(from)} to ${msOf(to)} ms` }
    }
    if (kappa === null) return 'not concerned'
    const isDue = (part: Part): boolean => part.since + kappa <= seen.at && counts(system, part)
    if (seen.type === 'ended') return parts.some(isDue) ? 'held' : 'not concerned'
    if (seen.type !== 'view' || !leadsNow(seen)) return 'not concerned'
    const part = parts.find(({ members }) => members.includes(seen.node))
    return part !== undefined && isDue(part) ? 'held' : 'not concerned'
  },
}

/** Updates the partition in which a node starts or stops leading. `before`: the leases before that. */
function changed(
  system: System,
  before: readonly Lease[],
  seen: Observation & { readonly type: 'view' | 'down' | 'up' },
): System {
  const { node, at } = seen
  const was = leaseOf(before, node)
  const leads = seen.type === 'view' && leadsNow(seen)
  if (leads && was !== null && isOn(was, at)) return system
  const place = system.parts.findIndex(({ members }) => members.includes(node))
  const part = system.parts[place]
  if (part === undefined) return system
  if (leads) return checkPart(system, before, part, at)
  return { ...system, parts: system.parts.with(place, { ...part, led: ledUpTo(before, part, at) }) }
}

function checkAll({ system, leases: before }: Timeliness, at: Micros): System {
  return system.parts.reduce((looked, part) => checkPart(looked, before, part, at), system)
}

/** Whether a partition has been without a leader for too long. */
function checkPart(system: System, before: readonly Lease[], part: Part, at: Micros): System {
  const { kappa, gap } = system
  if (kappa === null || gap !== null) return system
  const from = ledUpTo(before, part, at)
  if (at - from <= kappa || !counts(system, part)) return system
  return { ...system, gap: { members: part.members, from, to: at } }
}

/** The last instant up to now before which a node in the partition is known to have led; or its beginning. */
function ledUpTo(before: readonly Lease[], part: Part, at: Micros): Micros {
  let last = part.led
  for (const lease of before) {
    if (part.members.includes(lease.node)) last = Math.max(last, endOf(lease, at))
  }
  return last
}

function counts({ electors, unwritable, observers }: System, { members }: Part): boolean {
  if (observers.length > 0 && members.every(memberTest(observers))) return false
  if (electors === null) return true
  const votes = unwritable.length === 0 ? members : members.filter((node) => !unwritable.includes(node))
  return votes.some((node) => couldLead(electors, node, votes))
}

/** A partition that gains a majority because voters have changed has the full bound from then on. */
function withElectors(
  system: System,
  seen: Observation & { readonly type: 'view' | 'down' | 'up' | 'commanded' },
): System {
  if (system.electors === null) return system
  const electors = electorate.next(system.electors, seen)
  if (electors === system.electors) return system
  const next = { ...system, electors }
  const parts = system.parts.map((part) =>
    counts(next, part) && !counts(system, part) ? { ...part, since: seen.at, led: seen.at } : part,
  )
  return { ...next, parts }
}
