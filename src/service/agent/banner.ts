/** One sentence about the condition of a group, and its level. The page, HTTP and the terminal show the same sentence. */
import type { Membership, Waiting } from '../../protocols/index.ts'
import type { Id, Level } from '../client/index.ts'

export type GroupCondition = {
  readonly group: string
  readonly leader: { readonly id: Id; readonly token: number | null } | null
  readonly mode: 'local' | 'majority' | 'store'
  /** Voter sets. A majority of each is needed; there are two while one replaces the other. */
  readonly voters: readonly (readonly Id[])[]
  readonly reachable: readonly Id[]
  /** Nodes that cannot store their votes: they vote for no other leader. */
  readonly unwritable?: readonly Id[]
  readonly leaderlessMs: number | null
  /** Why there is no leader, if more is known than the nodes that are reachable; null with a leader. */
  readonly cause?: string | null
  readonly alarm: string | null
  /** Null for protocols without views. */
  readonly membership: Membership | null
}

export type Banner = { readonly level: Level; readonly sentence: string; readonly failureTolerance: number }

export function describeGroup(condition: GroupCondition): Banner {
  const { group, alarm, mode, membership } = condition
  if (alarm !== null) {
    const failureTolerance = toleranceOf(condition)
    return { level: 'alarm', sentence: `SAFETY ALARM in ${group}: ${alarm}`, failureTolerance }
  }
  if (mode === 'store') return describeStoreGroup(condition)
  if (membership !== null) return describeView(condition, membership)
  return describeVoters(condition)
}

const majorityOf = (voters: number): number => Math.floor(voters / 2) + 1

/** Number of further voters that can fail in the worst case; 0 also without a quorum. */
function toleranceOf({ mode, voters, reachable, unwritable = [], membership }: GroupCondition): number {
  if (mode === 'store') return Math.max(0, reachable.length - 1)
  if (membership !== null) return membership.failureTolerance
  const canVote = (id: Id): boolean => reachable.includes(id) && !unwritable.includes(id)
  const count = (set: readonly Id[]): number => set.filter(canVote).length
  const spare =
    mode === 'local'
      ? count(voters.flat()) - 1
      : Math.min(...voters.map((set) => count(set) - majorityOf(set.length)))
  return Math.max(0, spare)
}

function describeVoters(condition: GroupCondition): Banner {
  const { voters, reachable, unwritable = [], mode } = condition
  const all = [...new Set(voters.flat())]
  const unreachable = all.filter((id) => !reachable.includes(id))
  const mute = all.filter((id) => reachable.includes(id) && unwritable.includes(id))
  const disk =
    mute.length === 0 ? [] : [`${mute.join(', ')} cannot store ${mute.length === 1 ? 'its' : 'their'} votes`]
  const failureTolerance = toleranceOf(condition)
  if (condition.leader === null) {
    const needed = mode === 'local' ? 1 : Math.max(...voters.map((set) => majorityOf(set.length)))
    const count = all.length - unreachable.length
    const why = `${count} of ${all.length} voters ${isOrAre(count)} reachable, ${needed} ${isOrAre(needed)} needed`
    const sentence = leaderless(condition, [why, ...disk].join(', but '))
    return { level: 'no-leader', sentence, failureTolerance }
  }
  const reach =
    unreachable.length === 0
      ? all.length === 1
        ? 'the only voter is reachable'
        : `all ${all.length} voters are reachable`
      : `${unreachable.join(', ')} ${isOrAre(unreachable.length)} unreachable`
  const isDegraded = unreachable.length > 0 || mute.length > 0
  const voting = [reach, ...disk].join(unreachable.length === 0 ? ', but ' : ', and ')
  return describeLed(condition, voting, isDegraded, failureTolerance)
}

/** A store has no votes. One live node is enough to lead, and the store does not show whether followers are alive. */
function describeStoreGroup(condition: GroupCondition): Banner {
  const { leader, reachable } = condition
  const failureTolerance = toleranceOf(condition)
  const nodes = `${reachable.length} ${reachable.length === 1 ? 'node has' : 'nodes have'} a register`
  if (leader === null) return { level: 'no-leader', sentence: leaderless(condition, nodes), failureTolerance }
  const leads = leadsText(condition)
  return failureTolerance === 0
    ? {
        level: 'at-risk',
        sentence: `at risk: ${leads}; ${nodes}, so no other node can take over`,
        failureTolerance,
      }
    : { level: 'healthy', sentence: `healthy: ${leads}; ${nodes}`, failureTolerance }
}

/** Protocols with views: which nodes are outside the view, and how many simultaneous failures it survives. */
function describeView(condition: GroupCondition, membership: Membership): Banner {
  const { view, inQuorum, failureTolerance, waitingFor } = membership
  const name = view === null ? '' : `view ${view.id.join('.')}`
  if (condition.leader === null || view === null) {
    const of = view === null ? 'this node is in no view' : whyNoneLeads(condition, view, inQuorum)
    const why = waitingFor === null ? of : waitingText(waitingFor)
    return { level: 'no-leader', sentence: leaderless(condition, why), failureTolerance }
  }
  const all = [...new Set(condition.voters.flat())]
  const outside = all.filter((id) => !view.members.includes(id))
  const members =
    outside.length === 0
      ? `all ${all.length} nodes are in ${name}`
      : `${outside.join(', ')} ${isOrAre(outside.length)} not in ${name}`
  return describeLed(condition, members, outside.length > 0, failureTolerance)
}

function whyNoneLeads(
  { reachable }: GroupCondition,
  { id }: NonNullable<Membership['view']>,
  inQuorum: boolean,
): string {
  const name = `view ${id.join('.')}`
  if (!inQuorum) return `no majority of ${name} responds`
  const [, leader] = id
  return leader === null || reachable.includes(leader)
    ? `the leader of ${name} is ineligible`
    : `${leader}, the leader of ${name}, is unreachable`
}

function describeLed(
  condition: GroupCondition,
  reach: string,
  isDegraded: boolean,
  failureTolerance: number,
): Banner {
  const leads = leadsText(condition)
  if (failureTolerance === 0) {
    const sentence = `at risk: ${leads}; ${reach}; the group cannot survive ${isDegraded ? 'another' : 'a'} failure`
    return { level: 'at-risk', sentence, failureTolerance }
  }
  const level = isDegraded ? 'degraded' : 'healthy'
  const failures = `${failureTolerance}${isDegraded ? ' more' : ''} ${failureTolerance === 1 ? 'failure' : 'failures'}`
  const sentence = `${level}: ${leads}; ${reach}; the group can survive ${failures}`
  return { level, sentence, failureTolerance }
}

/** What a group without a quorum waits for. */
function waitingText({ view, members, mayHaveFormed, unreachable }: Waiting): string {
  const missing = `${unreachable.join(', ')} ${isOrAre(unreachable.length)} unreachable`
  const of = `${members.length} ${view === null ? 'nodes' : `members of view ${view.join('.')}`}`
  // With a majority present, a group that has no view yet waits for all of its nodes.
  const isMajorityMissing = view !== null || 2 * unreachable.length >= members.length
  const needed = isMajorityMissing ? `${majorityOf(members.length)} of the ${of}` : `all ${of}`
  if (!mayHaveFormed) return `${needed} are needed, but ${missing}`
  return `${unreachable.join(', ')} may have formed view ${view?.join('.')}; waiting for ${unreachable.length === 1 ? 'it' : 'one of them'} to return`
}

function leadsText({ group, leader }: GroupCondition): string {
  const token = leader?.token === null ? '' : ` with token ${leader?.token}`
  return `${leader?.id} leads ${group}${token}`
}

function leaderless({ group, leaderlessMs, cause = null }: GroupCondition, why: string): string {
  return `no leader in ${group} for ${((leaderlessMs ?? 0) / 1000).toFixed(1)} s: ${why}${cause === null ? '' : `; ${cause}`}`
}

const isOrAre = (count: number): string => (count === 1 ? 'is' : 'are')
