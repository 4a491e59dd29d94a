/** What an agent says of one of its groups. */
import type { LeaderAnswer, MembersAnswer, StatusAnswer } from '../client/index.ts'
import type { Member, MemberStatus } from '../node/index.ts'
import { bannerOf } from './banner.ts'
import type { Claims } from './claims.ts'
import type { History } from './history.ts'
import type { Observer } from './observer.ts'

/** A group that an agent belongs to. */
export type Served = {
  readonly node: Pick<Member, 'group' | 'id' | 'lease' | 'status' | 'stepDown' | 'removeVoter' | 'trace'>
  readonly history: History
  readonly observer: Observer
  readonly claims: Claims
}

type Who = Pick<Member, 'group' | 'id'>

export function leaderAnswer(
  { group, id }: Who,
  { role, leader, leaseMs, membership }: MemberStatus,
): LeaderAnswer {
  // Where views take the place of leases, nothing is known of when the lead ends.
  const expiresInMs = membership === null ? (leaseMs ?? 0) : null
  return {
    group,
    leader: leader === null ? null : { id: leader.id, token: leader.token, expiresInMs },
    self: { id, role },
  }
}

export function membersAnswer(
  { group, id }: Who,
  { role, leader, voters, nodes }: MemberStatus,
): MembersAnswer {
  const members = nodes.map(({ id: member, there, evidenceMsAgo, heardMsAgo }) => ({
    id: member,
    voter: voters.some((set) => set.includes(member)),
    leader: member === leader?.id,
    there,
    evidenceMsAgo,
    heardMsAgo,
  }))
  return { group, self: { id, role }, members }
}

export function statusAnswer({ node, observer }: Served): StatusAnswer {
  const status = node.status()
  const { leader, mode, voters, nodes, membership, primary } = status
  observer.see(leader)
  const leaderlessMs = observer.leaderlessMs()
  const there = nodes.flatMap((each) => (each.there ? [each.id] : []))
  const { level, sentence, spareFailures } = bannerOf({
    group: node.group,
    leader,
    mode,
    voters,
    there,
    leaderlessMs,
    alarm: observer.alarm,
    membership,
  })
  return {
    ...leaderAnswer(node, status),
    banner: sentence,
    level,
    mode,
    voters: [...new Set(voters.flat())],
    spareFailures,
    evidenceForMs: status.evidenceForMs,
    leaderlessMs,
    lease: node.lease,
    members: membersAnswer(node, status).members,
    ...(membership === null
      ? {}
      : {
          view: membership.view,
          life: membership.life,
          inQuorum: membership.inQuorum,
          waitsFor: membership.waitsFor,
        }),
    ...(primary === null ? {} : { primary }),
    at: new Date().toISOString(),
  }
}
