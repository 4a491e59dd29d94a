/**
 * Memory shared by the specifications about leaders and the nodes they have long been connected with: leases,
 * since when each pair is connected, and since when a set is a stable partition.
 *
 * The length of a lease, and the connections during it, are known only afterwards. So a lease is checked when
 * something about it changes, for the time since it was granted, and violations are kept.
 */
import type { Micros, NodeId } from '../../../core/index.ts'
import type { Connected, Observation } from '../../trace/index.ts'
import type { Fold } from '../spec.ts'
import { endOf, type Lease, leaseOf, leases, memberTest, withObserver } from './leases.ts'

/**
 * `leader` led without the support of `process`, although they were connected, or in one partition, since
 * then.
 */
export type Unsupported = {
  readonly leader: NodeId
  readonly process: NodeId
  readonly since: Micros
}

export type Connections = {
  readonly leases: readonly Lease[]
  readonly system: System
}

/** The part of the memory that rarely changes. */
type System = {
  readonly nodes: readonly NodeId[]
  /**
   * How long two nodes must have been connected (κ); null if the protocol has no such bound, and then nothing
   * is judged.
   */
  readonly kappa: Micros | null
  /** Since when each pair is connected, by node index; null if it is not. */
  readonly since: readonly (readonly (Micros | null)[])[]
  readonly stable: readonly { readonly members: readonly NodeId[]; readonly since: Micros }[]
  /** Observers. Their support is not required. */
  readonly observers: readonly NodeId[]
  readonly unsupported: Unsupported | null
  readonly leftOut: Unsupported | null
}

type ConnectivitySeen = Observation & { readonly type: 'connectivity' }

export const connections: Fold<Connections> = {
  begin: (run) => ({
    leases: leases.begin(run),
    system: {
      nodes: run.nodes,
      kappa: run.constants['kappaBI'] ?? null,
      since: [],
      stable: [],
      observers: [],
      unsupported: null,
      leftOut: null,
    },
  }),
  next(memory, seen) {
    switch (seen.type) {
      case 'view':
      case 'down':
      case 'up': {
        const after = leases.next(memory.leases, seen)
        const role = seen.type === 'view' ? seen.view.role : null
        const observers = withObserver(memory.system.observers, seen.node, role)
        if (after === memory.leases && observers === memory.system.observers) return memory
        if (observers !== memory.system.observers) {
          const looked = checkAll(memory, seen.at)
          return { leases: after, system: { ...restartTerm(looked, seen.node, seen.at), observers } }
        }
        const was = leaseOf(memory.leases, seen.node)
        const { system } = memory
        return { leases: after, system: was === null ? system : checkLease(system, was, seen.at) }
      }
      case 'connectivity': {
        const looked = checkAll(memory, seen.at)
        const since = connectedSince(looked, seen)
        const stable = seen.stable.map(
          (members) =>
            looked.stable.find((part) => sameSet(part.members, members)) ?? { members, since: seen.at },
        )
        return { leases: memory.leases, system: { ...looked, since, stable } }
      }
      case 'ended': {
        const system = checkAll(memory, seen.at)
        return system === memory.system ? memory : { leases: memory.leases, system }
      }
      default:
        return memory
    }
  },
}

function checkAll({ leases: all, system }: Connections, at: Micros): System {
  return all.reduce((looked, lease) => checkLease(looked, lease, at), system)
}

/** Whether a lease that lasted until `at`, or until its own end, lacked a supporter for some of the time. */
function checkLease(system: System, lease: Lease, at: Micros): System {
  const { members } = lease
  // A leader with the support of all nodes lacks none.
  if (system.kappa === null || members === null || members.length === system.nodes.length) return system
  const end = endOf(lease, at) - system.kappa
  const supports = memberTest(members)
  const unsupported = system.unsupported ?? unsupportedBefore(system, lease.node, end, supports)
  const leftOut = system.leftOut ?? leftOutBefore(system, lease.node, end, supports)
  const isSame = unsupported === system.unsupported && leftOut === system.leftOut
  return isSame ? system : { ...system, unsupported, leftOut }
}

/** A node that becomes an observer, or stops being one, counts as just connected. */
function restartTerm(system: System, node: NodeId, at: Micros): System {
  const place = system.nodes.indexOf(node)
  const restart = (from: Micros | null): Micros | null => (from === null ? null : at)
  return {
    ...system,
    since: system.since.map((row, index) =>
      index === place ? row.map(restart) : row.with(place, restart(row[place] ?? null)),
    ),
    stable: system.stable.map((part) => (part.members.includes(node) ? { ...part, since: at } : part)),
  }
}

/** A node without whose support it leads, although they were connected before an instant. */
function unsupportedBefore(
  { nodes, since, observers }: System,
  leader: NodeId,
  end: Micros,
  supports: (node: NodeId) => boolean,
): Unsupported | null {
  const row = since[nodes.indexOf(leader)] ?? []
  for (const [place, process] of nodes.entries()) {
    const from = row[place] ?? null
    if (from === null || from >= end || supports(process) || observers.includes(process)) continue
    return { leader, process, since: from }
  }
  return null
}

function leftOutBefore(
  { stable, observers }: System,
  leader: NodeId,
  end: Micros,
  supports: (node: NodeId) => boolean,
): Unsupported | null {
  const part = stable.find(({ members }) => members.includes(leader))
  if (part === undefined || part.since >= end) return null
  const process = part.members.find((member) => !supports(member) && !observers.includes(member))
  return process === undefined ? null : { leader, process, since: part.since }
}

/** Pairs that stay connected keep their start; the others start now. */
function connectedSince({ nodes, since: before }: System, seen: ConnectivitySeen): System['since'] {
  const placeOf = new Map(nodes.map((node, place) => [node, place]))
  const since = nodes.map(() => nodes.map((): Micros | null => null))
  for (const [one, other] of pairsOf(seen)) {
    const a = placeOf.get(one)
    const b = placeOf.get(other)
    if (a === undefined || b === undefined) continue
    const from = before[a]?.[b] ?? seen.at
    ;(since[a] as (Micros | null)[])[b] = from
    ;(since[b] as (Micros | null)[])[a] = from
  }
  return since
}

/**
 * If all running nodes are connected with each other, they are one stable partition, whose members are the
 * running nodes.
 */
function pairsOf({ connected, stable }: ConnectivitySeen): Exclude<Connected, 'full'> {
  if (connected !== 'full') return connected
  return stable.flatMap((part) =>
    part.flatMap((a, place) => part.slice(place + 1).map((b) => [a, b] as const)),
  )
}

export function sameSet(a: readonly NodeId[], b: readonly NodeId[]): boolean {
  return a.length === b.length && a.every(memberTest(b))
}
