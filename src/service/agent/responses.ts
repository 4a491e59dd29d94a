/** Builds the response bodies about one group of the agent. */
import type {
  HistoryResponse,
  LeaderResponse,
  MembersResponse,
  NodeResponse,
  ObservedNodeResponse,
  StatusResponse,
} from '../client/index.ts'
import type { ConclaveNode, GroupStatus, NodeStatus } from '../node/index.ts'
import { UNTIL_STORE_ANSWERS } from '../registers/index.ts'
import { describeGroup } from './banner.ts'
import type { GroupMetrics } from './metrics.ts'
import type { ServedGroup } from './served-group.ts'

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

/** A node, with what it reported about itself. */
function observedNodes(
  status: GroupStatus,
  self: Pick<ServedGroup, 'node' | 'address'>,
): readonly ObservedNodeResponse[] {
  const { nodes } = status
  return nodeResponses(status).map((each, index) => {
    const { address, resolvedAddress, role, priority, version, page, canStore, rttMs, hears, measured } =
      nodes[index] as NodeStatus
    const own = each.id === self.node.id ? self.address : null
    const details = { role, priority, version, page, canStore, rttMs, hears, measured }
    return { ...each, address: own ?? address, resolvedAddress, ...details }
  })
}

export function historyResponse({ node, history }: ServedGroup): HistoryResponse {
  const { role } = node.status()
  return {
    group: node.group,
    self: { id: node.id, role },
    at: new Date().toISOString(),
    terms: history.terms(),
    samples: history.samples(),
  }
}

/** Why a store does not answer; null if it does. */
function storeProblem({ mode, warnings }: GroupStatus): string | null {
  const last = mode === 'store' ? warnings.find(({ what }) => what === 'store') : undefined
  return last?.detail.endsWith(UNTIL_STORE_ANSWERS) === true ? last.detail : null
}

export function statusResponse(group: ServedGroup): StatusResponse {
  const { node, monitor, history, version } = group
  const status = node.status()
  const { leader, mode, voters, nodes, membership, primary, timing } = status
  monitor.observeLeader(leader)
  history.observe(status)
  const leaderlessMs = monitor.leaderlessMs()
  const leaderSinceMs = monitor.leaderSinceMs()
  const { level, sentence, failureTolerance } = describeGroup({
    group: node.group,
    leader,
    mode,
    voters,
    reachable: nodes.flatMap((each) => (each.reachable ? [each.id] : [])),
    unwritable: nodes.flatMap((each) => (each.canStore === false ? [each.id] : [])),
    leaderlessMs,
    cause: storeProblem(status) ?? history.currentCause(),
    alarm: monitor.alarm,
    membership,
  })
  return {
    ...leaderResponse(node, status),
    version,
    leaderSince: leaderSinceMs === null ? null : { msAgo: leaderSinceMs },
    banner: sentence,
    level,
    mode,
    voters: [...new Set(voters.flat())],
    failureTolerance,
    evidenceTtlMs: status.evidenceForMs,
    leaderlessMs,
    lease: timing === null ? node.lease : { lengthMs: timing.leaseMs, marginMs: timing.marginMs },
    ...(timing === null ? {} : { timing }),
    measured: status.measured,
    warnings: [...group.ownWarnings.values(), ...status.warnings].toSorted(byAge),
    nodes: observedNodes(status, group),
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

/** The newest first. Texts of ISO 8601 sort like the times. */
const byAge = (one: { readonly at: string }, other: { readonly at: string }): number =>
  one.at < other.at ? 1 : one.at > other.at ? -1 : 0

/** What the metrics of a group are made of. */
export function measureGroup(group: ServedGroup): GroupMetrics {
  const { node, monitor } = group
  return {
    group: node.group,
    id: String(node.id),
    status: node.status(),
    terms: monitor.terms,
    views: monitor.views,
    warnings: monitor.warnings,
    levelChanges: monitor.levelChanges,
    alarm: monitor.alarm !== null,
    failureTolerance: statusResponse(group).failureTolerance,
  }
}
