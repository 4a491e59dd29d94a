/** Specifications of leases, support and tokens: each on a violating trace and on a legal near miss. */
import { describe, expect, it } from 'vitest'
import {
  downAt,
  endedAt,
  followsAt,
  judgement,
  leadsAt,
  outputAt,
  timesReached,
  upAt,
  viewAt,
} from '../../../../test/support/traces.ts'
import type { NodeId } from '../../../core/index.ts'
import type { Observation } from '../../trace/index.ts'
import type { Judgement, RunFacts } from '../index.ts'

const RUN: RunFacts = { nodes: [1, 2, 3, 4, 5], prefers: 'lowest', constants: {} }
const judge = (name: string, ...observations: readonly Observation[]): Judgement =>
  judgement(name, RUN, observations)
const reached = (name: string, ...observations: readonly Observation[]): number =>
  timesReached(name, RUN, observations)

describe('one-leader', () => {
  it('rejects a second leader before the lease of the first has ended', () => {
    expect(judge('one-leader', leadsAt(0, 1, 100), leadsAt(99.999, 2, 200))).toEqual({
      violated: '1 and 2 lead at the same time',
    })
  })
  it('accepts a second leader from the instant at which the lease ends', () => {
    expect(judge('one-leader', leadsAt(0, 1, 100), leadsAt(100, 2, 200))).toBe('held')
  })
  it('rejects a node that wakes up and shows a lease that should be over', () => {
    expect(judge('one-leader', leadsAt(0, 1, 100), leadsAt(120, 2, 220), leadsAt(150, 1, 180))).toEqual({
      violated: '1 and 2 lead at the same time',
    })
  })
  it('accepts a leader view with an ended lease', () => {
    const late = [leadsAt(0, 1, 100), leadsAt(120, 2, 220), leadsAt(150, 1, 100)]
    expect(judge('one-leader', ...late)).toBe('not concerned')
  })
  it('uses the end of the last renewal, earlier or later', () => {
    expect(judge('one-leader', leadsAt(0, 1, 100), leadsAt(60, 1, 160), leadsAt(120, 2, 200))).not.toBe(
      'held',
    )
    expect(judge('one-leader', leadsAt(0, 1, 160), leadsAt(60, 1, 100), leadsAt(120, 2, 200))).toBe('held')
  })
  it('ends a lease at a crash, and when the leader steps down', () => {
    expect(judge('one-leader', leadsAt(0, 1, 100), downAt(50, 1), leadsAt(51, 2, 150))).toBe('held')
    expect(judge('one-leader', leadsAt(0, 1, 100), followsAt(50, 1, null), leadsAt(50, 2, 150))).toBe('held')
  })
  it('treats a lease without an end as unlimited, as in untimed worlds', () => {
    expect(judge('one-leader', leadsAt(0, 1, null), leadsAt(0, 2, null))).not.toBe('held')
    expect(judge('one-leader', leadsAt(0, 1, null), followsAt(0, 1, null), leadsAt(0, 2, null))).toBe('held')
  })
  it('names all leaders', () => {
    expect(judge('one-leader', leadsAt(0, 3, 9), leadsAt(0, 1, 5), leadsAt(6, 2, 9))).toEqual({
      violated: '1 and 3 lead at the same time',
    })
  })
})

describe('SO', () => {
  it('rejects a node in the support sets of two leaders', () => {
    expect(judge('SO', leadsAt(0, 1, 100, [1, 3]), leadsAt(50, 2, 150, [2, 3]))).toEqual({
      violated: '3 supports both 2 and 1',
    })
  })
  it('accepts two leaders without a common supporter', () => {
    expect(judge('SO', leadsAt(0, 1, 100, [1, 3]), leadsAt(50, 2, 150, [2, 4]))).toBe('held')
  })
  it('accepts a change of support at the end of a lease, and after a renewal without it', () => {
    expect(judge('SO', leadsAt(0, 1, 100, [1, 3]), leadsAt(100, 2, 150, [2, 3]))).toBe('held')
    const dropped = [leadsAt(0, 1, 100, [1, 3]), leadsAt(40, 1, 140, [1]), leadsAt(50, 2, 150, [2, 3])]
    expect(judge('SO', ...dropped)).toBe('held')
  })
  it('rejects a renewal that includes a supporter of another leader', () => {
    const taken = [leadsAt(0, 1, 100, [1]), leadsAt(0, 2, 100, [2, 3]), leadsAt(40, 1, 140, [1, 3])]
    expect(judge('SO', ...taken)).toEqual({ violated: '3 supports both 1 and 2' })
  })
  it('finds a common supporter in large sets as well', () => {
    const many = (from: number): readonly NodeId[] => Array.from({ length: 40 }, (_, index) => from + index)
    expect(judge('SO', leadsAt(0, 1, 100, many(1)), leadsAt(0, 40, 100, many(40)))).toEqual({
      violated: '40 supports both 40 and 1',
    })
    expect(judge('SO', leadsAt(0, 1, 100, many(1)), leadsAt(0, 41, 100, many(41)))).toBe('held')
  })
  it('is not concerned by followers, and of leaders that show no support', () => {
    expect(judge('SO', leadsAt(0, 1, 100, [1, 3]), followsAt(1, 3, 1))).toBe('not concerned')
    expect(judge('SO', leadsAt(0, 1, 100, null))).toBe('not concerned')
  })
})

describe('LS', () => {
  it('rejects a leader outside its support set, or without one', () => {
    expect(judge('LS', leadsAt(0, 1, 100, [2, 3]))).toEqual({
      violated: '1 leads with the support of {2, 3}, not its own',
    })
    expect(judge('LS', leadsAt(0, 1, 100, null))).not.toBe('held')
  })
  it('requires nothing of followers, and nothing after the lease', () => {
    expect(judge('LS', leadsAt(0, 1, 100, [1, 3]))).toBe('held')
    expect(judge('LS', viewAt(0, 1, 'follower', { leader: 2, members: [2, 3], untilMs: 50 }))).toBe(
      'not concerned',
    )
    expect(judge('LS', leadsAt(100, 1, 100, [2, 3]))).toBe('not concerned')
  })
})

describe('tokens', () => {
  const term = (ms: number, node: NodeId, untilMs: number | null, token: number): Observation =>
    leadsAt(ms, node, untilMs, [node], token)
  it('rejects a token that is not larger than all earlier ones', () => {
    expect(judge('tokens', term(0, 1, 10, 5), term(20, 2, 30, 4))).toEqual({
      violated: '2 begins to lead with token 4, after 1 has led with 5',
    })
    expect(judge('tokens', term(0, 1, 10, 5), term(20, 2, 30, 5))).toEqual({
      violated: '2 begins to lead with token 5, after 1 has led with 5',
    })
  })
  it('rejects a renewal after the end of the lease, or after a crash: that is a second term', () => {
    const again = { violated: '1 leads again with token 5, though that term had ended' }
    expect(judge('tokens', term(0, 1, 10, 5), term(10, 1, 20, 5))).toEqual(again)
    expect(judge('tokens', term(0, 1, 10, 5), downAt(4, 1), upAt(5, 1), term(6, 1, 20, 5))).toEqual(again)
    expect(judge('tokens', term(0, 1, null, 5), followsAt(0, 1, null), term(0, 1, null, 5))).toEqual(again)
  })
  it('accepts renewals, also with a changed support set, and tokens that skip numbers', () => {
    expect(judge('tokens', term(0, 1, 10, 5), term(9.999, 1, 20, 5))).toBe('held')
    expect(judge('tokens', term(0, 1, 10, 5), leadsAt(5, 1, 10, [1, 2], 5))).toBe('held')
    expect(judge('tokens', term(0, 1, 10, 5), term(20, 2, 30, 9), term(40, 1, 50, 10))).toBe('held')
  })
  it('compares with the largest token of ended terms, not the last', () => {
    expect(judge('tokens', term(0, 1, 10, 5), downAt(1, 1), term(20, 2, 30, 3))).not.toBe('held')
  })
  it('accepts a leader that changes to a larger token', () => {
    expect(judge('tokens', term(0, 1, 10, 5), term(5, 1, 15, 6))).toBe('held')
    expect(judge('tokens', term(0, 1, 10, 5), term(5, 1, 15, 4))).not.toBe('held')
  })
  it('is not concerned without tokens', () => {
    expect(judge('tokens', leadsAt(0, 1, 10), leadsAt(20, 2, 30))).toBe('not concerned')
  })
})

describe('told-in-pairs', () => {
  const elected = (ms: number, node: NodeId, token: number | null = 1): Observation =>
    outputAt(ms, node, { type: 'elected', token, cause: 'elected' })
  const demoted = (ms: number, node: NodeId, token: number | null = 1): Observation =>
    outputAt(ms, node, { type: 'demoted', token, cause: 'expired' })
  const leads = (ms: number, node: NodeId, untilMs: number | null = ms + 100, token = 1): Observation =>
    leadsAt(ms, node, untilMs, [node], token)
  const term = [elected(10, 1), leads(10, 1)]

  it('accepts alternating notifications', () => {
    const terms = [...term, elected(20, 2, 2), leads(20, 2, 120, 2), demoted(110, 1), followsAt(110, 1, 2)]
    expect(judge('told-in-pairs', ...terms, elected(130, 1, 3))).toBe('held')
    expect(judge('told-in-pairs', ...terms, elected(130, 1, 3), leads(130, 1, 200, 3))).toBe('not concerned')
  })
  it('rejects a repeated notification, and an end without a start', () => {
    expect(judge('told-in-pairs', ...term, elected(20, 1))).toEqual({
      violated: '1 was notified twice of a term',
    })
    expect(judge('told-in-pairs', ...term, demoted(20, 1), demoted(21, 1))).toEqual({
      violated: '1 was notified of the end of a term that had not begun',
    })
    expect(judge('told-in-pairs', ...term, demoted(20, 2))).not.toBe('held')
  })
  it('rejects a notification of another term', () => {
    expect(judge('told-in-pairs', ...term, demoted(20, 1, 2))).toEqual({
      violated: '1 was notified of a term with token 1, then of the end of token 2',
    })
    expect(judge('told-in-pairs', elected(10, 1), leads(10, 1, 110, 2))).toEqual({
      violated: '1 was notified of a term with token 1, but leads with token 2',
    })
  })
  it('rejects a notification at or after the end of the lease', () => {
    expect(judge('told-in-pairs', elected(10, 1), leads(10, 1, 10))).toEqual({
      violated: '1 was notified at 10 ms of a term that ended at 10 ms',
    })
    expect(judge('told-in-pairs', elected(10, 1), leads(10, 1, 10.001), endedAt(10))).toBe('not concerned')
  })
  it('rejects a notified node that does not lead, or leads later', () => {
    expect(judge('told-in-pairs', elected(10, 1), viewAt(10, 1, 'candidate'))).toEqual({
      violated: '1 was notified of a term at 10 ms, but is candidate',
    })
    const never = { violated: '1 was notified of a term at 10 ms, but did not lead' }
    expect(judge('told-in-pairs', elected(10, 1), leads(11, 1))).toEqual(never)
    expect(judge('told-in-pairs', elected(10, 1), followsAt(10, 2, 1), followsAt(12, 3, 1))).toEqual(never)
    expect(judge('told-in-pairs', elected(10, 1), demoted(10, 1))).toEqual(never)
    expect(judge('told-in-pairs', elected(10, 1), endedAt(10))).toEqual(never)
  })
  it('ends a term at a crash, also between notification and view', () => {
    expect(judge('told-in-pairs', ...term, downAt(20, 1), upAt(30, 1), elected(40, 1, 2))).toBe('held')
    expect(
      judge('told-in-pairs', elected(10, 1), downAt(10, 1), elected(20, 2, 2), leads(20, 2, 90, 2)),
    ).toBe('not concerned')
    expect(judge('told-in-pairs', ...term, downAt(20, 1), upAt(30, 1), demoted(40, 1))).not.toBe('held')
  })
  it('accepts a demotion that is notified after it is visible', () => {
    expect(judge('told-in-pairs', ...term, followsAt(150, 1, null), demoted(160, 1))).toBe('held')
  })
  it('rejects a leader whose application is not notified, unless the world starts with it', () => {
    expect(judge('told-in-pairs', upAt(0, 1), followsAt(0, 1, null), leads(10, 1))).toEqual({
      violated: '1 leads, but its application was not notified',
    })
    expect(judge('told-in-pairs', upAt(0, 1), leads(0, 1), demoted(90, 1))).toBe('held')
  })
  it('works in untimed worlds', () => {
    const untimed = [elected(0, 1), leads(0, 1, null), demoted(0, 1), followsAt(0, 1, null), elected(0, 2)]
    expect(judge('told-in-pairs', ...untimed)).toBe('held')
    expect(judge('told-in-pairs', elected(0, 1), followsAt(0, 1, null))).not.toBe('held')
  })
})

describe('views-disjoint', () => {
  const viewOf = (
    ms: number,
    node: NodeId,
    leader: NodeId,
    members: readonly NodeId[],
    untilMs: number | null,
  ): Observation => viewAt(ms, node, 'follower', { leader, members, untilMs })
  const gaveUp = (ms: number, node: NodeId, cause = 'stepped down'): Observation =>
    outputAt(ms, node, { type: 'demoted', token: null, cause })

  it('rejects a follower that trusts a view while another leader has one of its members', () => {
    const stale = [leadsAt(0, 1, 100, [1, 2, 3]), viewOf(10, 3, 1, [1, 2, 3], 110), followsAt(50, 1, null)]
    expect(judge('views-disjoint', ...stale, leadsAt(60, 2, 160, [2, 4]))).toEqual({
      violated: '2 is a member under 2, says 2, and under 1, says 3',
    })
  })
  it('rejects overlapping views of two followers, and of a crashed leader', () => {
    const two = [viewOf(10, 3, 1, [1, 3, 5], 110), viewOf(20, 4, 2, [2, 4, 5], 120)]
    expect(judge('views-disjoint', ...two)).toEqual({
      violated: '5 is a member under 2, says 4, and under 1, says 3',
    })
    const crashed = [leadsAt(0, 1, 100, [1, 2, 3]), viewOf(10, 3, 1, [1, 2, 3], 90), downAt(20, 1)]
    expect(judge('views-disjoint', ...crashed, leadsAt(30, 2, 130, [2, 3]))).not.toBe('held')
  })
  it('accepts different views of one leader, and disjoint views', () => {
    expect(judge('views-disjoint', leadsAt(0, 1, 100, [1, 2]), viewOf(10, 3, 1, [1, 2, 3], 90))).toBe('held')
    expect(judge('views-disjoint', leadsAt(0, 1, 100, [1, 3]), leadsAt(10, 2, 110, [2, 4]))).toBe('held')
  })
  it('accepts a view from the instant at which it is no longer trusted', () => {
    const old = [viewOf(0, 3, 1, [1, 2, 3], 60), viewOf(0, 4, 1, [1, 2, 3], 70)]
    expect(judge('views-disjoint', ...old.slice(0, 1), leadsAt(60, 2, 160, [2, 3]))).toBe('not concerned')
    expect(judge('views-disjoint', ...old, leadsAt(60, 2, 160, [2, 3]))).not.toBe('held')
    expect(judge('views-disjoint', ...old, followsAt(1, 4, null), leadsAt(60, 2, 160, [2, 3]))).toBe(
      'not concerned',
    )
  })
  it('ignores views of a leader that gave up early, also if they arrive later', () => {
    const handed = [leadsAt(0, 1, 100, [1, 2, 3]), viewOf(10, 3, 1, [1, 2, 3], 110), gaveUp(50, 1)]
    const next = [followsAt(50, 1, null), leadsAt(60, 2, 160, [2, 4])]
    expect(judge('views-disjoint', ...handed, ...next)).toBe('held')
    expect(judge('views-disjoint', ...handed, ...next, viewOf(61, 5, 1, [1, 2, 3], 120))).toBe(
      'not concerned',
    )
    expect(judge('views-disjoint', ...handed.slice(0, 2), gaveUp(50, 1, 'expired'), ...next)).not.toBe('held')
  })
  it('ignores a view of the lease that was given up, also after its leader has led again', () => {
    const handed = [leadsAt(0, 1, 100, [1, 2, 3]), viewOf(10, 3, 1, [1, 2, 3], 110), gaveUp(50, 1)]
    const again = [leadsAt(55, 1, 65, [1, 2]), followsAt(65, 1, null)]
    const next = leadsAt(70, 2, 170, [2, 4])
    expect(judge('views-disjoint', ...handed, ...again, next)).toBe('held')
    // The view of the second lease counts.
    const renewed = viewOf(60, 3, 1, [1, 2, 3], 120)
    expect(judge('views-disjoint', ...handed, ...again, renewed, next)).not.toBe('held')
  })
  it('counts them again once it leads again', () => {
    const again = [
      leadsAt(0, 1, 100, [1, 2]),
      gaveUp(50, 1),
      followsAt(50, 1, null),
      leadsAt(60, 1, 160, [1, 2]),
    ]
    expect(judge('views-disjoint', ...again, leadsAt(70, 3, 170, [2, 3]))).not.toBe('held')
  })
  it('treats a follower view without an end as not trusted', () => {
    expect(judge('views-disjoint', viewOf(0, 3, 1, [1, 2, 3], null), leadsAt(0, 2, null, [2, 3]))).toBe(
      'not concerned',
    )
  })
  it('forgets the view of a crashed node', () => {
    const crashed = [viewOf(0, 3, 1, [1, 2, 3], 100), downAt(10, 3), upAt(11, 3)]
    expect(judge('views-disjoint', ...crashed, leadsAt(20, 2, 120, [2, 4]))).toBe('not concerned')
  })
})

describe('voter-changes', () => {
  const A = [1, 2, 3]
  const B = [2, 3, 4]
  const acts = (
    ms: number,
    node: NodeId,
    id: readonly [number, number],
    sets: readonly (readonly NodeId[])[],
    members: readonly NodeId[] = [1, 2, 3, 4],
    untilMs: number | null = ms + 100,
  ): Observation => leadsAt(ms, node, untilMs, members, id[0], { config: { id, sets } })

  it('rejects a leader without a majority of either set of voters', () => {
    expect(judge('voter-changes', acts(0, 1, [1, 0], [A], [1, 4, 5]))).toEqual({
      violated: '1 leads with the support of {1, 4, 5}, no majority of {1, 2, 3}',
    })
    expect(judge('voter-changes', acts(0, 1, [1, 0], [A, [4, 5, 1]], [1, 2, 3]))).toEqual({
      violated: '1 leads with the support of {1, 2, 3}, no majority of {4, 5, 1}',
    })
    expect(judge('voter-changes', acts(0, 1, [1, 0], [[1, 2, 3, 4]], [1, 2]))).not.toBe('held')
  })
  it('accepts a bare majority, and additional support from outside', () => {
    expect(judge('voter-changes', acts(0, 1, [1, 0], [A], [1, 2]))).toBe('held')
    expect(judge('voter-changes', acts(0, 1, [1, 0], [A], [1, 2, 5]))).toBe('held')
  })
  it('rejects voters that change at once', () => {
    expect(judge('voter-changes', acts(0, 1, [1, 0], [A]), acts(9, 1, [1, 1], [B]))).toEqual({
      violated: 'voters went from {1, 2, 3} to {2, 3, 4}, with no set in common',
    })
  })
  it('accepts a change through a joint configuration, a new stamp, and a change back', () => {
    const joint = [acts(0, 1, [1, 0], [A]), acts(9, 1, [1, 1], [A, B])]
    expect(judge('voter-changes', ...joint, acts(19, 1, [1, 2], [B]))).toBe('held')
    expect(judge('voter-changes', ...joint, acts(19, 2, [2, 0], [A, B]))).toBe('held')
    expect(judge('voter-changes', ...joint, acts(19, 1, [1, 2], [A]))).toBe('held')
    expect(judge('voter-changes', ...joint, acts(19, 1, [1, 2], [[3, 4, 5]]))).not.toBe('held')
  })
  it('rejects a leader under an older configuration: epochs first, then counters', () => {
    const renewed = (id: readonly [number, number], sets: readonly (readonly NodeId[])[]) => [
      acts(0, 1, id, sets),
      acts(50, 1, id, sets),
    ]
    expect(judge('voter-changes', ...renewed([2, 1], [A, B]), acts(200, 2, [2, 0], [A]))).toEqual({
      violated:
        'a leader acts under configuration 2.0, {1, 2, 3}, after one has renewed under 2.1, {1, 2, 3} and {2, 3, 4}',
    })
    expect(judge('voter-changes', ...renewed([2, 0], [A]), acts(200, 2, [1, 9], [A]))).not.toBe('held')
    expect(judge('voter-changes', ...renewed([1, 9], [A]), acts(200, 2, [2, 0], [A]))).toBe('held')
  })
  it('accepts a leader that knows less than a leader that never renewed, if they share a set', () => {
    expect(judge('voter-changes', acts(0, 1, [2, 1], [A, B]), acts(200, 2, [2, 0], [A]))).toBe('held')
    expect(judge('voter-changes', acts(0, 1, [2, 2], [B]), acts(200, 2, [2, 1], [A, B]))).toBe('held')
    expect(judge('voter-changes', acts(0, 1, [2, 2], [B]), acts(200, 2, [2, 0], [A]))).not.toBe('held')
    const firm = [acts(0, 1, [2, 1], [A]), acts(50, 1, [2, 1], [A])]
    const less = acts(200, 2, [2, 0], [A])
    expect(judge('voter-changes', ...firm, acts(160, 3, [3, 1], [A]), less)).not.toBe('held')
  })
  it('rejects one id for two configurations', () => {
    expect(judge('voter-changes', acts(0, 1, [1, 0], [A]), acts(9, 1, [1, 0], [A, B]))).toEqual({
      violated: 'configuration 1.0 is both {1, 2, 3} and {1, 2, 3} and {2, 3, 4}',
    })
    expect(judge('voter-changes', acts(0, 1, [1, 0], [A]), acts(9, 1, [1, 0], [[...A]]))).toBe('held')
  })
  it('is not concerned by followers, of leaders without a configuration, and of leases that have ended', () => {
    const shown = { config: { id: [1, 0], sets: [B] } }
    expect(judge('voter-changes', viewAt(0, 5, 'follower', { detail: shown }))).toBe('not concerned')
    expect(judge('voter-changes', leadsAt(0, 1, 100))).toBe('not concerned')
    expect(judge('voter-changes', acts(0, 1, [2, 0], [A]), acts(100, 2, [1, 0], [A], [2], 100))).toBe(
      'not concerned',
    )
  })
})

describe('goals', () => {
  it('renewed: a later end of the same term, before its end', () => {
    const first = leadsAt(0, 1, 100, [1], 5)
    expect(reached('renewed', first, leadsAt(60, 1, 160, [1], 5))).toBe(1)
    expect(reached('renewed', first, leadsAt(100, 1, 200, [1], 5))).toBe(0)
    expect(reached('renewed', first, leadsAt(60, 1, 160, [1], 6))).toBe(0)
    expect(reached('renewed', first, leadsAt(60, 1, 100, [1, 2], 5))).toBe(0)
    expect(reached('renewed', first, leadsAt(60, 2, 160, [2], 5))).toBe(0)
  })
  it('lost: by a crash or at the end of the lease, not by stepping down', () => {
    expect(reached('lost', leadsAt(0, 1, 100), downAt(50, 1))).toBe(1)
    expect(reached('lost', leadsAt(0, 1, 100), followsAt(100, 1, null), downAt(101, 1))).toBe(1)
    expect(reached('lost', leadsAt(0, 1, 100), leadsAt(130, 1, 230))).toBe(1)
    expect(reached('lost', leadsAt(0, 1, 100), followsAt(50, 1, null), downAt(101, 1))).toBe(0)
    expect(reached('lost', leadsAt(0, 1, 100), downAt(50, 2))).toBe(0)
  })
  it('handed-over and reconfigured: from outputs', () => {
    const elected = (cause: string): Observation => outputAt(0, 1, { type: 'elected', token: 1, cause })
    expect(reached('handed-over', elected('elected'), elected('handed over'))).toBe(1)
    expect(reached('reconfigured', elected('elected'))).toBe(0)
    expect(reached('reconfigured', outputAt(0, 1, { type: 'config', id: [1, 2], sets: [[1, 2]] }))).toBe(1)
  })
  it('split: two at once, counted when the second begins', () => {
    const two = [leadsAt(0, 1, 100), leadsAt(50, 2, 150), leadsAt(60, 1, 160), leadsAt(70, 2, 170)]
    expect(reached('split', ...two)).toBe(1)
    expect(reached('split', leadsAt(0, 1, 100), leadsAt(100, 2, 150))).toBe(0)
  })
  it('merged: one node leads all running nodes, and no other leads', () => {
    const up = [1, 2, 3].map((node) => upAt(0, node))
    const two = [...up, leadsAt(0, 1, 100, [1, 3]), leadsAt(50, 2, 150, [2])]
    expect(reached('merged', ...two, followsAt(90, 2, 1), leadsAt(99, 1, 199, [1, 2, 3]))).toBe(1)
    expect(reached('merged', ...two, leadsAt(99, 1, 199, [1, 2, 3]))).toBe(0)
    expect(reached('merged', ...two, followsAt(90, 2, 1), leadsAt(99, 1, 199, [1, 3]))).toBe(0)
    expect(reached('merged', ...two, downAt(90, 2), leadsAt(99, 1, 199, [1, 3]))).toBe(1)
    expect(reached('merged', ...up, leadsAt(99, 1, 199, [1, 2, 3]))).toBe(0)
    const again = leadsAt(180, 1, 280, [1, 2, 3])
    expect(reached('merged', ...two, leadsAt(151, 1, 199, [1, 2, 3]), again)).toBe(1)
  })
})
