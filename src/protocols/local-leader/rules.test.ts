/** The rules on which safety rests, one by one: how a voter and a follower handle messages in any order. */
import { describe, expect, it } from 'vitest'
import {
  Bench,
  beacon,
  election,
  FIRST,
  NODES,
  release,
  request,
  timing,
} from '../../../test/support/local-leader-alone.ts'
import { type NodeId } from '../../core/index.ts'
import { timingOf } from './constants.ts'
import { type Election, type Reply, type Request } from './messages.ts'
import { givenBy, localLeaderOptions } from './options.ts'
import type { Configuration } from './voters.ts'

const { lockTime, silence } = timing

describe('a voter', () => {
  it('is bound for exactly a lock time from the arrival of the request', () => {
    const voter = new Bench(3)
    voter.now = 1000
    expect(voter.supports(1, election(request(1), 1))).toBe(true)
    voter.now = 1000 + lockTime
    expect(voter.supports(2, election(request(1), 2, { priority: 10 }))).toBe(false)
    voter.now += 1
    expect(voter.supports(2, election(request(1), 2, { priority: 10 }))).toBe(true)
  })

  it('is bound longer by a later request, and no shorter by an earlier request that arrives late', () => {
    const voter = new Bench(3)
    voter.supports(1, election(request(2), 1))
    expect(voter.supports(1, election(request(1), 1))).toBe(false)
    // The earlier request failed and is released: that frees no voter that supports the later one.
    voter.gets(1, release(request(1)))
    expect(voter.supports(2, election(request(1), 2))).toBe(false)
  })

  it('is freed only by the release of the request that binds it', () => {
    const voter = new Bench(3)
    voter.supports(1, election(request(1), 1))
    voter.supports(1, election(request(2), 1))
    expect(voter.gets(1, release(request(1))).supports(2, election(request(1), 2))).toBe(false)
    expect(voter.gets(1, release(request(1), true)).supports(2, election(request(1), 2))).toBe(false)
    // A node that does not lead by the third request may lead by the second.
    expect(voter.gets(1, release(request(3))).supports(2, election(request(1), 2))).toBe(false)
    expect(voter.gets(1, release(request(3), true)).supports(2, election(request(1), 2))).toBe(true)
  })

  it('does not support a request that was released before it arrived, nor an earlier one', () => {
    const voter = new Bench(3)
    voter.gets(1, release(request(5)))
    expect(voter.supports(1, election(request(5), 1))).toBe(false)
    expect(voter.supports(1, election(request(4), 1))).toBe(false)
    expect(voter.supports(1, election(request(6), 1))).toBe(true)
  })

  it('is freed by a certificate of its owner, up to the request that it names, in that incarnation', () => {
    const shown = (owner: NodeId, of: Request): boolean | null => {
      const voter = new Bench(3)
      voter.supports(1, election(request(4, 2), 1))
      return voter.supports(2, election(request(1), 2, { certificate: { owner, request: of } }))
    }
    expect(shown(1, request(4, 2))).toBe(true)
    expect(shown(1, request(1, 3))).toBe(true)
    expect(shown(1, request(3, 2))).toBe(false)
    expect(shown(1, request(99, 1))).toBe(false)
    // No node shows a certificate of its own: that cannot be true, and is not answered.
    expect(shown(2, request(99, 9))).toBeNull()
  })

  it('promises an epoch to one node only, regardless of its locks', () => {
    const voter = new Bench(3)
    voter.supports(1, election(request(1), 5))
    voter.now += 2 * lockTime
    expect(voter.supports(2, election(request(1), 5))).toBe(false)
    expect(voter.supports(2, election(request(2), 4))).toBe(false)
    expect(voter.supports(1, election(request(2), 5))).toBe(true)
    voter.now += 2 * lockTime
    expect(voter.supports(2, election(request(3), 6))).toBe(true)
  })

  describe('revokes a promise', () => {
    /** The voter has promised 5 to node 1, and then 6 to node 2. */
    function promised(): Bench {
      const voter = new Bench(3)
      voter.supports(1, election(request(1), 5))
      voter.now += 2 * lockTime
      expect(voter.supports(2, election(request(1), 6))).toBe(true)
      return voter
    }

    it('when its request has failed, and then supports the node that it promised before', () => {
      const voter = promised().gets(2, release(request(1)))
      expect(voter.supports(1, election(request(2), 5, { renew: true }))).toBe(true)
    })

    it('and restores the promise before that', () => {
      const voter = promised().gets(2, release(request(1)))
      expect(voter.supports(2, election(request(2), 4))).toBe(false)
      expect(voter.supports(2, election(request(3), 5))).toBe(false)
      expect(voter.supports(2, election(request(4), 6))).toBe(true)
    })

    it('but not with an earlier request of the same epoch that arrived later, because the last may have won', () => {
      const voter = new Bench(3)
      expect(voter.supports(1, election(request(2), 5))).toBe(true)
      voter.now += 2 * lockTime
      voter.gets(1, election(request(1), 5)).gets(1, release(request(1)))
      voter.now += 2 * lockTime
      expect(voter.supports(2, election(request(1), 4))).toBe(false)
      expect(voter.supports(2, election(request(2), 5))).toBe(false)
      expect(voter.supports(2, election(request(3), 6))).toBe(true)
    })

    it('after several requests for the same epoch only with the last of them', () => {
      const voter = promised()
      voter.supports(2, election(request(2), 6))
      voter.gets(2, release(request(1)))
      voter.now += 2 * lockTime
      expect(voter.supports(1, election(request(2), 5, { renew: true }))).toBe(false)
      voter.gets(2, release(request(2)))
      expect(voter.supports(1, election(request(3), 5, { renew: true }))).toBe(true)
    })

    it('but not if a node led by it: when that node yields, or its renewal has failed', () => {
      const afterYield = promised().gets(2, release(request(1), true))
      expect(afterYield.supports(1, election(request(2), 5, { renew: true }))).toBe(false)
      const renewed = promised()
      renewed.supports(2, election(request(2), 6, { renew: true }))
      renewed.gets(2, release(request(2)))
      expect(renewed.supports(1, election(request(2), 5, { renew: true }))).toBe(false)
    })

    it('but not for a release from another node, nor after a crash, when it no longer knows the request', () => {
      const other = promised().gets(1, release(request(1)))
      other.now += 2 * lockTime
      expect(other.supports(1, election(request(2), 5, { renew: true }))).toBe(false)
      const crashed = new Bench(3, promised().stored, 1_000_000)
      crashed.now += silence
      crashed.timer('heartbeat').gets(2, release(request(1)))
      expect(crashed.supports(1, election(request(2), 5, { renew: true }))).toBe(false)
    })
  })

  it('remembers its promise and the voters through a crash, and is silent for a lock time', () => {
    const before = new Bench(3)
    const next: Configuration = { id: [5, 1], sets: [NODES] }
    before.supports(1, election(request(1), 5))
    before.supports(1, election(request(2), 5, { renew: true, config: next }))
    const voter = new Bench(3, before.stored, 1_000_000)
    voter.now += silence - 1
    voter.timer('heartbeat')
    expect(voter.supports(2, election(request(1), 6, { config: next }))).toBeNull()
    voter.now += 1
    voter.timer('heartbeat')
    expect(voter.supports(2, election(request(2), 5, { config: next }))).toBe(false)
    expect(voter.supports(2, election(request(3), 6))).toBe(false)
    expect(voter.supports(2, election(request(4), 6, { config: next }))).toBe(true)
  })

  it('adopts later voters only from a renewal, and supports no node that knows only earlier ones', () => {
    const voter = new Bench(3)
    const later: Configuration = { id: [1, 1], sets: [NODES] }
    const both: Configuration = { id: [1, 2], sets: [NODES, [1, 2]] }
    voter.supports(1, election(request(1), 1, { config: later }))
    expect(voter.stored?.['config']).toEqual(FIRST)
    voter.supports(1, election(request(2), 1, { config: both, renew: true }))
    expect(voter.stored?.['config']).toEqual(both)
    voter.gets(1, release(request(2), true))
    expect(voter.supports(2, election(request(1), 2, { config: later }))).toBe(false)
    expect(voter.supports(2, election(request(2), 2, { config: both }))).toBe(true)
  })

  it('reports other voters under the same configuration id, and does not vote', () => {
    const voter = new Bench(3)
    const config: Configuration = { id: [0, 0], sets: [[1, 3]] }
    expect(voter.supports(1, election(request(1), 1, { config }))).toBe(false)
    expect(voter.effects).toMatchObject([
      { type: 'output', event: { type: 'mismatch', field: 'voters' } },
      { type: 'send', to: 1 },
    ])
  })

  it('reports a difference once, and again when it changes or returns', () => {
    const voter = new Bench(3)
    const said = (counter: number, config: Configuration): number => {
      voter.supports(1, election(request(counter), counter, { config }))
      return voter.effects.filter(({ type }) => type === 'output').length
    }
    const one: Configuration = { id: [0, 0], sets: [[1, 3]] }
    const other: Configuration = { id: [0, 0], sets: [[1, 2]] }
    expect([said(1, one), said(2, one), said(3, one)]).toEqual([1, 0, 0])
    expect([said(4, other), said(5, other)]).toEqual([1, 0])
    expect([said(6, FIRST), said(7, other), said(8, other)]).toEqual([0, 1, 0])
  })

  it('answers with its voters, so that the other node reports the difference too', () => {
    const voter = new Bench(3)
    const config: Configuration = { id: [0, 0], sets: [[1, 3]] }
    voter.gets(1, election(request(1), 1, { config }))
    const answer = voter.effects.find((effect) => effect.type === 'send')
    expect(answer).toMatchObject({ to: 1, body: { kind: 'Reply', votes: [{ node: 3, support: false }] } })
    const odd = new Bench(1)
    const reply = { ...(answer?.body as Reply), request: request(0), config }
    const voters = { ours: FIRST.sets, theirs: config.sets }
    expect(odd.gets(3, reply).effects).toEqual([
      { type: 'output', event: { type: 'mismatch', peer: 3, field: 'voters', ...voters } },
    ])
    expect(odd.gets(3, reply).effects).toEqual([])
  })

  it('supports no node while a candidate ranks before it', () => {
    const voter = new Bench(3)
    voter.gets(1, { kind: 'Heartbeat', beacon: { ...beacon(0) } })
    expect(voter.supports(2, election(request(1), 1, { priority: 0 }))).toBe(false)
    voter.gets(1, { kind: 'Heartbeat', beacon: { ...beacon(0), candidate: false } })
    expect(voter.supports(2, election(request(2), 1, { priority: 0 }))).toBe(true)
  })
})

describe('a follower', () => {
  it('trusts the report of a round from the start of the round, even after a second request', () => {
    const options = { treeFrom: 2, treeFanout: 2 }
    const chosen = localLeaderOptions(NODES).parse(options)
    const { lockTime: locked } = timingOf(givenBy(chosen, 3))
    const follower = new Bench(3, null, 0, options)
    const leads = { ...beacon(9), seen: { number: 1, owner: 1 }, lease: { left: 90_000, token: 1 } }
    const round = (counter: number, more: Partial<Election>): Election =>
      election(request(counter), 1, { beacon: leads, renew: true, tree: NODES, ...more })
    follower.gets(1, round(1, {}))
    follower.now = 20_000
    follower.gets(1, round(1, { tree: null }))
    follower.now = 40_000
    follower.gets(1, round(2, { view: { round: request(1), members: NODES } }))
    expect(follower.view).toMatchObject({ leader: 1, members: NODES })
    expect(follower.view.until).toBeGreaterThan(locked - 12_000)
    expect(follower.view.until).toBeLessThan(locked - 10_000)
  })
})

describe('an inner node of the tree', () => {
  const nodes = [1, 2, 3, 4, 5]
  const config: Configuration = { id: [0, 0], sets: [nodes] }
  const reply = (node: NodeId): Reply => ({
    kind: 'Reply',
    beacon: beacon(1),
    candidate: 1,
    request: request(1),
    votes: [{ node, support: true }],
    promised: { number: 1, owner: 1 },
    config,
  })

  it('adds the votes of each child once, and forwards a repeated reply as it is', () => {
    const inner = new Bench(2, null, 0, { treeFrom: 2, treeFanout: 2 }, nodes)
    inner.gets(1, election(request(1), 1, { tree: nodes, config }))
    const votesSent = () =>
      inner.effects.flatMap((effect) =>
        effect.type === 'send' ? [(effect.body as unknown as Reply).votes.map(({ node }) => node)] : [],
      )
    expect(votesSent()).toEqual([])
    inner.gets(4, reply(4))
    expect(votesSent()).toEqual([])
    inner.gets(4, reply(4))
    expect(votesSent()).toEqual([[4]])
    inner.gets(5, reply(5))
    expect(votesSent()).toEqual([[2, 4, 5]])
  })
})
