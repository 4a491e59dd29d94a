/** A group that the agent serves: its node, and what the agent remembers about it. */
import { randomBytes } from 'node:crypto'
import type { NodeId } from '../../core/index.ts'
import type { StatusResponse, WarningResponse } from '../client/index.ts'
import type { ConclaveNode, HandOver } from '../node/index.ts'
import { Claims } from './claims.ts'
import { EventLog } from './event-log.ts'
import { HistoryRecorder } from './history/recorder.ts'
import { LeaderMonitor } from './leader-monitor.ts'
import { leaderResponse, statusResponse } from './responses.ts'
import { type WatchedGroup, Watchers } from './watchers.ts'

export type ServedGroup = {
  readonly node: Pick<
    ConclaveNode,
    'group' | 'id' | 'lease' | 'status' | 'removeVoter' | 'setLeaseBounds' | 'trace'
  > & {
    stepDown(options?: { readonly signal?: AbortSignal }): Promise<boolean>
    handOver(options: { readonly signal?: AbortSignal; readonly to: NodeId }): Promise<HandOver>
  }
  readonly events: EventLog
  readonly monitor: LeaderMonitor
  readonly claims: Claims
  readonly history: HistoryRecorder
  readonly watchers: Watchers
  /** HOST:PORT on which the node listens. Null in a store, and for a port that the system chose. */
  readonly address: string | null
  /** Version of the agent. */
  readonly version: string
  /** The last warning of each kind that is about the agent rather than about its node. */
  readonly ownWarnings: Map<string, WarningResponse>
}

/** The status shows it beside the warnings of the node. */
export function warnOfAgent({ ownWarnings, monitor }: ServedGroup, what: string, detail: string): void {
  monitor.countWarning()
  const count = (ownWarnings.get(what)?.count ?? 0) + 1
  ownWarnings.set(what, { at: new Date().toISOString(), what, detail, count })
}

/** Fills in what is not given. */
export function createServedGroup<Node extends ServedGroup['node']>(
  parts: Partial<ServedGroup> & { readonly node: Node },
): ServedGroup & { readonly node: Node } {
  const { node, events = new EventLog(randomBytes(6).toString('hex')) } = parts
  const group: ServedGroup & { readonly node: Node } = {
    events,
    monitor: new LeaderMonitor(() => {}),
    claims: new Claims(),
    history: new HistoryRecorder({
      self: node.id,
      status: () => node.status(),
      onChange: (term) => group.watchers.sendTerm(term),
    }),
    watchers: new Watchers({
      events,
      snapshot: () => JSON.stringify(leaderResponse(node, node.status())),
      status: () => describeStatus(statusResponse(group)),
    }),
    address: null,
    version: '0',
    ownWarnings: new Map(),
    ...parts,
  }
  return group
}

/** The status for watchers. Its gist changes when the condition of the group does. */
function describeStatus(status: StatusResponse): ReturnType<WatchedGroup['status']> {
  const { level, leader, self, nodes, warnings, timing } = status
  const reachable = nodes.map((node) => (node.reachable ? node.id : null))
  const gist = JSON.stringify([
    level,
    leader?.id,
    leader?.token,
    self.role,
    reachable,
    warnings.length,
    timing?.level,
  ])
  return { gist, json: () => JSON.stringify(status, roundNumbers) }
}

/** Three decimals of a millisecond are enough, and shorten what every watcher receives. */
function roundNumbers(_key: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isInteger(value) ? Math.round(value * 1000) / 1000 : value
}
