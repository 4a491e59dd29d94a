/** A leader that a voter refuses because of a larger promise raises the epoch of its term, and keeps its token. */
import { describe, expect, it } from 'vitest'
import {
  Bench,
  beacon,
  election,
  FIRST,
  NODES,
  request,
  timing,
} from '../../../test/support/local-leader-alone.ts'
import type { NodeId } from '../../core/index.ts'
import type { Beacon, Election, Epoch } from './messages.ts'

const follower: Beacon = { ...beacon(-1), candidate: false }

/** A leader with token 1, at the time of its first renewal. */
function elected(): Bench {
  const leader = new Bench(1)
  leader.now = 1_000_000
  for (const peer of [2, 3]) leader.gets(peer, { kind: 'Heartbeat', beacon: follower })
  const asked = leader.timer('alive').asked as Election
  answer(leader, 2, asked, true, { number: asked.epoch, owner: 1 })
  expect(leader.view).toMatchObject({ role: 'leader', token: 1 })
  return leader
}

function answer(leader: Bench, from: NodeId, asked: Election, support: boolean, promised: Epoch): void {
  leader.gets(from, {
    kind: 'Reply',
    beacon: follower,
    candidate: 1,
    request: asked.request,
    votes: [{ node: from, support }],
    promised,
    config: FIRST,
  })
}

/**
 * Renews this many times, while 2 supports the leader and 3 has promised this epoch. Returns the epochs of the rounds.
 */
function renews(leader: Bench, times: number, promised: Epoch): readonly number[] {
  return Array.from({ length: times }, () => {
    leader.now += timing.renewalPeriod
    const asked = leader.timer('alive').asked as Election
    answer(leader, 2, asked, true, { number: asked.epoch, owner: 1 })
    answer(leader, 3, asked, asked.epoch > promised.number, promised)
    return asked.epoch
  })
}

describe('a leader that a voter refuses', () => {
  it('raises its epoch beyond the promise once the refusals last as long as a lock, and keeps its token', () => {
    const leader = elected()
    const epochs = renews(leader, 10, { number: 5, owner: 2 })
    expect([...new Set(epochs)]).toEqual([1, 6])
    expect(epochs.indexOf(6) * timing.renewalPeriod).toBeGreaterThanOrEqual(timing.expires)
    expect(leader.view).toMatchObject({ role: 'leader', token: 1, members: NODES })
  })

  it('keeps its epoch if the voter is released meanwhile', () => {
    const leader = elected()
    expect(renews(leader, 2, { number: 5, owner: 2 })).toEqual([1, 1])
    expect(new Set(renews(leader, 8, { number: 0, owner: null }))).toEqual(new Set([1]))
    expect(new Set(renews(leader, 2, { number: 5, owner: 2 }))).toEqual(new Set([1]))
  })

  it('tries again with the present epoch if it cannot store the larger one', () => {
    const leader = elected()
    renews(leader, 3, { number: 5, owner: 2 })
    // The step that raises the epoch is undone, and the timer fires again soon.
    leader.now += timing.renewalPeriod + timing.lateness + 1
    expect(leader.timer('alive').asked?.epoch).toBe(1)
  })
})

describe('a voter that has promised another node an epoch between the token and the raised epoch', () => {
  const lease = { left: timing.lease - timing.renewalPeriod, token: 1 }
  const leading: Beacon = { ...beacon(9), seen: { number: 6, owner: 1 }, lease }
  const round = (counter: number, members: readonly NodeId[] = [1, 2]): Election => ({
    ...election(request(counter), 6),
    beacon: leading,
    renew: true,
    view: { round: request(counter - 1), members },
  })
  const stored = {
    incarnation: 1,
    lockTime: timing.lockTime,
    promised: { number: 5, owner: 2 },
    config: FIRST,
  }
  const voter = (promised: Epoch = stored.promised): Bench => {
    const bench = new Bench(3, { ...stored, promised })
    bench.now = timing.silence + 1
    bench.timer('heartbeat')
    return bench
  }

  it('refuses until the leader has won a round under that epoch without it', () => {
    const bench = voter()
    expect(bench.supports(1, round(7))).toBe(false)
    bench.now += timing.renewalPeriod
    expect(bench.supports(1, round(8))).toBe(true)
    expect(bench.stored?.['promised']).toEqual({ number: 6, owner: 1 })
  })

  it('keeps refusing if that round was not won, or was too early to be of that epoch', () => {
    const bench = voter()
    expect(bench.supports(1, { ...round(7), epoch: 1 })).toBe(false)
    bench.now += timing.renewalPeriod
    expect(bench.supports(1, round(8))).toBe(false)
    bench.now += timing.renewalPeriod
    expect(bench.supports(1, { ...round(10), view: { round: request(7), members: [1, 2] } })).toBe(false)
    bench.now += timing.renewalPeriod
    expect(bench.supports(1, round(11, [1]))).toBe(false)
  })

  it('needs no such round when its promise is no larger than the token', () => {
    expect(voter({ number: 1, owner: 2 }).supports(1, round(7))).toBe(true)
  })
})
