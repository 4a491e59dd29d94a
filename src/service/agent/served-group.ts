/** A group that the agent serves: its node, and what the agent remembers about it. */
import { randomBytes } from 'node:crypto'
import type { ConclaveNode } from '../node/index.ts'
import { Claims } from './claims.ts'
import { EventLog } from './event-log.ts'
import { LeaderMonitor } from './leader-monitor.ts'

export type ServedGroup = {
  readonly node: Pick<
    ConclaveNode,
    'group' | 'id' | 'lease' | 'status' | 'stepDown' | 'removeVoter' | 'trace'
  >
  readonly events: EventLog
  readonly monitor: LeaderMonitor
  readonly claims: Claims
  /** Version of the agent. */
  readonly version: string
}

/** Fills in what is not given. */
export function createServedGroup<Node extends ServedGroup['node']>(
  parts: Partial<ServedGroup> & { readonly node: Node },
): ServedGroup & { readonly node: Node } {
  return {
    events: new EventLog(randomBytes(6).toString('hex')),
    monitor: new LeaderMonitor(() => {}),
    claims: new Claims(),
    version: '0',
    ...parts,
  }
}
