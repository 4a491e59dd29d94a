/** Builds the response bodies about one group of the agent. */
import type { LeaderResponse, MembersResponse, NodeResponse, StatusResponse } from '../client/index.ts'
import type { ConclaveNode, GroupStatus } from '../node/index.ts'
import { describeGroup } from './banner.ts'
import type { Claims } from './claims.ts'
import type { EventLog } from './event-log.ts'
import type { LeaderMonitor } from './leader-monitor.ts'

/** A group that the agent serves. */
export type ServedGroup = {
  readonly node: Pick<
    ConclaveNode,
    'group' | 'id' | 'lease' | 'status' | 'stepDown' | 'removeVoter' | 'trace'
  >
  readonly events: EventLog
  readonly monitor: LeaderMonitor
  readonly claims: Claims
}

type NodeIdentity = Pick<ConclaveNode, 'group' | 'id'>

export function leaderResponse(
  { group, id }: NodeIdentity,
  { role, leader, leaseMs, membership }: GroupStatus,
): LeaderResponse {
  // A protocol with views has no leases, so the end of the term is unknown.
  const expiresInMs = membership === null ? (leaseMs ?? 0) : null
  return {
    group,
    leader: leader === null ? null : { id: leader.id, token: leader.token, expiresInMs },
    self: { id, role },
  }
}

export function membersResponse({ group, id }: NodeIdentity, status: GroupStatus): MembersResponse {
  return { group, self: { id, role: status.role }, nodes: nodeResponses(status) }
}

function nodeResponses({ leader, voters, nodes }: GroupStatus): readonly NodeResponse[] {
  return nodes.map(({ id, reachable, evidenceMsAgo, heardMsAgo }) => ({
    id,
    voter: voters.some((set) => set.includes(id)),
    leader: id === leader?.id,
    reachable,
    evidenceMsAgo,
    heardMsAgo,
  }))
}

export function statusResponse({ node, monitor }: ServedGroup): StatusResponse {
  const status = node.status()
  const { leader, mode, voters, nodes, membership, primary } = status
  monitor.observeLeader(leader)
  const leaderlessMs = monitor.leaderlessMs()
  const { level, sentence, failureTolerance } = describeGroup({
    group: node.group,
    leader,
    mode,
    voters,
    reachable: nodes.flatMap((each) => (each.reachable ? [each.id] : [])),
    leaderlessMs,
    alarm: monitor.alarm,
    membership,
  })
  return {
    ...leaderResponse(node, status),
    banner: sentence,
    level,
    mode,
    voters: [...new Set(voters.flat())],
    failureTolerance,
    evidenceTtlMs: status.evidenceForMs,
    leaderlessMs,
    lease: node.lease,
    nodes: nodeResponses(status),
    ...(membership === null
      ? {}
      : {
          view: membership.view,
          incarnation: membership.incarnation,
          inQuorum: membership.inQuorum,
          waitingFor: membership.waitingFor,
        }),
    ...(primary === null ? {} : { primary }),
    at: new Date().toISOString(),
  }
}
