import { type Micros, msOf, type NodeId, withId, withoutId } from '../../core/index.ts'
import type { Observation, Reach } from '../trace/index.ts'
import { couldLead, type Elector, electorate } from './memory/electorate.ts'
import { endOf, isOn, type Lease, leases } from './memory/leases.ts'
import type { Fold, Spec } from './spec.ts'

type MajorityLeads = {
  readonly leases: readonly Lease[]
  /** Nodes whose application was last notified of a term. */
  readonly notified: readonly NodeId[]
  readonly electors: readonly Elector[]
  readonly system: System
}

/** The part of the memory that rarely changes. */
type System = {
  /**
   * How long the group may be without a leader although a node could lead; null if the protocol has no such
   * bound.
   */
  readonly within: Micros | null
  /** How long after the last change the leader stays; null if leaders rotate. */
  readonly settles: Micros | null
  /** How long a node that stepped down is not a candidate. When it returns it may depose its successor. */
  readonly retirement: Micros
  readonly reach: Reach | null
  /** The time of the last change: a fault or a command. */
  readonly since: Micros
  /** A node that could lead since then, in the current state; null if there is none. */
  readonly hub: { readonly node: NodeId; readonly votes: readonly NodeId[]; readonly since: Micros } | null
  /** The end of the last lease that is no longer remembered. */
  readonly led: Micros
  /** Until when a node may still return from its retirement. */
  readonly retiredUntil: Micros
  readonly wrong: string | null
}

type ViewOrOutput = Observation & { readonly type: 'view' | 'down' | 'up' }

/**
 * The constants are `leadsWithin`, `keepsAfter` (absent if leaders rotate) and `retirement`. The voters in
 * force are the ones that nodes show (electorate.ts). A node must lead only if it and its voters run, can
 * store their votes and are linked with it both ways, with every message timely. All other links, nodes and
 * disks may be arbitrarily bad, as long as nothing changes.
 *
 * A node leads if its application was notified (`elected`) and its lease has not ended. A term may end only
 * within `keepsAfter` of a change. If chance decides which messages arrive on some link, terms may end at any
 * time.
 */
export const majorityLeads: Spec<MajorityLeads> = {
  name: 'majority-leads',
  title:
    'while one node is linked both ways with a majority of the voters and can store its vote, some node leads and stays the leader',
  source:
    'the service that an application expects; weaker than T, which asks for a whole partition of linked nodes',
  when: 'always',
  fold: {
    begin: (run) => ({
      leases: leases.begin(run),
      notified: [],
      electors: electorate.begin(run),
      system: {
        within: run.constants['leadsWithin'] ?? null,
        settles: run.constants['keepsAfter'] ?? null,
        retirement: run.constants['retirement'] ?? 0,
        reach: null,
        since: 0,
        hub: null,
        led: 0,
        retiredUntil: 0,
        wrong: null,
      },
    }),
    next(memory, seen) {
      if (memory.system.within === null) return memory
      switch (seen.type) {
        case 'output':
          return afterOutput(memory, seen)
        case 'view':
        case 'down':
        case 'up':
          return afterChange(memory, seen)
        case 'commanded': {
          const electors = electorate.next(memory.electors, seen)
          return changed(
            { ...memory, electors, system: checkAt(memory, seen.at) },
            memory.system.reach,
            seen.at,
          )
        }
        case 'connectivity':
          return changed({ ...memory, system: checkAt(memory, seen.at) }, seen.reach, seen.at)
        case 'ended':
          return { ...memory, system: checkAt(memory, seen.at) }
        default:
          return memory
      }
    },
  } satisfies Fold<MajorityLeads>,
  judge({ system, leases: now, notified }, seen) {
    const { within, hub, wrong } = system
    if (wrong !== null) return { violated: wrong }
    if (within === null || hub === null || hub.since + within > seen.at) return 'not concerned'
    if (seen.type === 'ended') return 'held'
    const isTerm = seen.type === 'view' && notified.includes(seen.node)
    return isTerm && now.some((lease) => lease.node === seen.node && isOn(lease, seen.at))
      ? 'held'
      : 'not concerned'
  },
}

function afterOutput(memory: MajorityLeads, seen: Observation & { readonly type: 'output' }): MajorityLeads {
  const { event, node, at } = seen
  if (event.type === 'elected') {
    const system = checkAt(memory, at)
    return { ...memory, system, notified: withId(memory.notified, node) }
  }
  if (event.type !== 'demoted') return memory
  const ended = termEnded(memory, node, at)
  const isRetired = event['cause'] === 'stepped down'
  const retiredUntil = isRetired ? at + memory.system.retirement : memory.system.retiredUntil
  return {
    ...memory,
    notified: withoutId(memory.notified, node),
    system: { ...ended, retiredUntil: Math.max(retiredUntil, memory.system.retiredUntil) },
  }
}

function afterChange(memory: MajorityLeads, seen: ViewOrOutput): MajorityLeads {
  const after = leases.next(memory.leases, seen)
  const electors = electorate.next(memory.electors, seen)
  const isGone = seen.type !== 'view'
  const notified = isGone ? withoutId(memory.notified, seen.node) : memory.notified
  if (after === memory.leases && electors === memory.electors && notified === memory.notified) return memory
  const was = memory.leases.find(({ node }) => node === seen.node)
  const isRenewed = was !== undefined && isOn(was, seen.at) && after.some(({ node }) => node === seen.node)
  let { system } = memory
  // A renewal is not a change. A crash is one, which the world reports next.
  if (!isRenewed) system = isGone ? checkAt(memory, seen.at) : termEnded(memory, seen.node, seen.at)
  const next = { leases: after, notified, electors, system }
  return electors === memory.electors ? next : changed(next, system.reach, seen.at, system.since)
}

/** After a change: determines which node could lead now. */
function changed(memory: MajorityLeads, reach: Reach | null, at: Micros, since: Micros = at): MajorityLeads {
  const { system, electors } = memory
  const found = reach === null ? null : hubIn(electors, reach)
  const isSame = since !== at && system.hub?.node === found?.node
  const hub = found === null ? null : { ...found, since: isSame ? (system.hub?.since ?? at) : at }
  return { ...memory, system: { ...system, reach, since, hub } }
}

/** A node that could lead with the votes of the nodes that are linked with it both ways. */
function hubIn(
  electors: readonly Elector[],
  { running, timely, unwritable }: Reach,
): { readonly node: NodeId; readonly votes: readonly NodeId[] } | null {
  const able = running.filter((node) => !unwritable.includes(node))
  const reaches = (from: NodeId, to: NodeId): boolean =>
    timely === 'full' || timely.some((link) => link[0] === from && link[1] === to)
  for (const node of able) {
    const votes = able.filter((other) => other === node || (reaches(node, other) && reaches(other, node)))
    if (couldLead(electors, node, votes)) return { node, votes }
  }
  return null
}

/** The last instant up to now before which some node is known to have led. */
function ledUpTo({ leases: all, notified, system }: MajorityLeads, at: Micros): Micros {
  let last = system.led
  for (const lease of all) if (notified.includes(lease.node)) last = Math.max(last, endOf(lease, at))
  return last
}

/**
 * Checks the past: whether the group was without a leader for too long, and whether a lease ended without
 * cause.
 */
function checkAt(memory: MajorityLeads, at: Micros): System {
  const { system, notified } = memory
  let { wrong } = system
  for (const { node, until } of memory.leases) {
    if (until !== null && until <= at && notified.includes(node)) wrong ??= whyNotEnded(system, node, until)
  }
  const led = ledUpTo(memory, at)
  return { ...system, led, wrong: wrong ?? whyNoLeader(system, led, at) }
}

/** A node stopped leading at this instant, or earlier if its lease had ended. */
function termEnded(memory: MajorityLeads, node: NodeId, at: Micros): System {
  const system = checkAt(memory, at)
  const lease = memory.leases.find((each) => each.node === node)
  if (lease === undefined || !memory.notified.includes(node)) return system
  return { ...system, wrong: system.wrong ?? whyNotEnded(system, node, endOf(lease, at)) }
}

function whyNoLeader({ within, hub }: System, led: Micros, at: Micros): string | null {
  if (within === null || hub === null) return null
  const from = Math.max(led, hub.since)
  if (at - from <= within) return null
  const votes = hub.votes.join(', ')
  return `no node led from ${msOf(from)} to ${msOf(at)} ms, though ${hub.node} could with the votes of {${votes}}`
}

function whyNotEnded(system: System, node: NodeId, ended: Micros): string | null {
  const { settles, hub, since, retiredUntil, reach } = system
  if (settles === null || hub === null || reach === null || reach.byChance) return null
  const from = Math.max(since, hub.since, retiredUntil)
  if (ended <= from + settles) return null
  return `${node} stopped leading at ${msOf(ended)} ms, though nothing has changed since ${msOf(from)} ms`
}
