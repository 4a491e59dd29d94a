/** The status of an election in a store. */
import type { Micros, NodeId, View } from '../../../core/index.ts'
import type { StoreInsight } from '../../../protocols/index.ts'
import { type CoreStatus, nodeReachOf, ownReach } from './election.ts'

const NO_DATAGRAMS = { sent: 0, received: 0, dropped: 0 }

export type StoreState = {
  readonly self: NodeId
  readonly view: View
  readonly insight: StoreInsight
  readonly now: Micros
  readonly members: readonly NodeId[]
  readonly isRunning: boolean
  readonly isClaimed: boolean
  /** When the block of a node was last seen to change, and whether a process holds it. */
  heardAt(id: NodeId): Micros | null
  isHeld(id: NodeId): boolean
}

export function storeStatus(state: StoreState): CoreStatus {
  const { self, insight, now, members, isRunning } = state
  const { role, leader, token, detail } = state.view
  const isLed = leader !== null && insight.leadUntil !== null && now < insight.leadUntil
  return {
    view: {
      // A suspended node of the paper follows the leader of the epoch.
      role: role === 'suspended' ? 'follower' : role,
      leader: isLed && isRunning ? { id: leader, token: token ?? insight.token } : null,
      members: isRunning ? members : null,
    },
    leadUntil: isLed && isRunning ? insight.leadUntil : null,
    membersUntil: insight.leadUntil,
    now,
    voters: [members],
    nodes: members.map((id) =>
      id === self
        ? ownReach(id, isRunning)
        : nodeReachOf(id, {
            heardAt: state.heardAt(id),
            evidenceAt: null,
            evidenceFor: null,
            isReachable: state.isHeld(id),
            now,
          }),
    ),
    evidenceFor: null,
    isSilent: insight.isStarting || !state.isClaimed,
    membership: null,
    primary: (detail?.['primary'] as boolean | undefined) ?? null,
    datagrams: NO_DATAGRAMS,
  }
}
