/** The report of a run: the public format of `conclave sim --json` (docs/reference/scenarios.md). */
import {
  type Definition,
  type NodeId,
  type Plain,
  type PlainObject,
  type Role,
  sortIds,
} from '../../core/index.ts'
import type { GoalCount, SpecVerdict } from '../specs/index.ts'
import { isLeading } from '../trace/index.ts'
import type { EpochWinners } from './epoch-winners.ts'
import type { TermRecord } from './terms.ts'

export type NodeReport = PlainObject & {
  readonly up: boolean
  readonly role: Role | 'crashed'
  readonly leader: NodeId | null
}

export type MessageCount = { readonly total: number; readonly byKind: { readonly [kind: string]: number } }

/** The state of the world at one moment. */
export type Snapshot = {
  readonly nodes: { readonly [id: string]: NodeReport }
  /** The acting leaders. The leader of a view without a quorum does not act. */
  readonly leaders: readonly NodeId[]
  readonly groups: readonly (readonly NodeId[])[]
  readonly messages: MessageCount
  readonly linkMessages: MessageCount
}

export type Report = Snapshot &
  SharedReport & {
    readonly protocol: string
    readonly seed: number
    readonly endedAtMs: number
    readonly leaderships: readonly TermRecord[]
    readonly checkpoints: { readonly [atMs: string]: Snapshot }
    readonly specs: readonly SpecVerdict[]
    readonly goals: readonly GoalCount[]
    readonly steps: number
  }

/** With shared registers: their contents, and the leader of each epoch. */
export type SharedReport = {
  readonly registers?: { readonly [id: string]: Plain }
  readonly leadersByEpoch?: { readonly [epoch: string]: NodeId }
}

export function sharedReport(
  { registers }: Definition,
  nodes: readonly NodeId[],
  values: readonly Plain[],
  winners: EpochWinners,
): SharedReport {
  if (registers === null) return {}
  return {
    registers: Object.fromEntries(nodes.map((id, index) => [id, registers.show(values[index] ?? null)])),
    leadersByEpoch: winners.byEpoch(),
  }
}

export const CRASHED: NodeReport = {
  up: false,
  role: 'crashed',
  leader: null,
  token: null,
  members: null,
  untilMs: null,
}

export function snapshot(
  nodes: readonly (readonly [NodeId, NodeReport])[],
  messages: MessageCount,
  linkMessages: MessageCount,
): Snapshot {
  return {
    nodes: Object.fromEntries(nodes),
    leaders: sortIds(nodes.filter(([, node]) => isLeading(node.role, node)).map(([id]) => id)),
    groups: groupsOf(nodes),
    messages,
    linkMessages,
  }
}

/** The sets of running nodes that share a leader, each sorted, sorted by their first node. */
function groupsOf(nodes: readonly (readonly [NodeId, NodeReport])[]): readonly (readonly NodeId[])[] {
  const byLeader = new Map<NodeId, NodeId[]>()
  const sorted = sortIds(nodes.map(([id]) => id))
  const reports = new Map(nodes)
  for (const id of sorted) {
    const leader = reports.get(id)?.leader ?? null
    if (leader === null) continue
    byLeader.set(leader, [...(byLeader.get(leader) ?? []), id])
  }
  return [...byLeader.values()]
}

export function countOf(kinds: readonly string[], sentOf: (kind: string) => number): MessageCount {
  const counts = kinds.map((kind) => [kind, sentOf(kind)] as const).filter(([, count]) => count > 0)
  return {
    total: counts.reduce((sum, [, count]) => sum + count, 0),
    byKind: Object.fromEntries(counts),
  }
}
