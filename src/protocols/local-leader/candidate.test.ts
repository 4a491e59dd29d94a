/** How a candidate handles answers in any order, and how a leader handles messages. */
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
import { type NodeId, type PlainObject, present } from '../../core/index.ts'
import { type Election, NO_EPOCH, type Reply } from './messages.ts'
import type { Configuration } from './voters.ts'

const { lease, silence, collection, deference } = timing

describe('a candidate', () => {
  const vote = (node: NodeId, { request: of }: Election, promised = NO_EPOCH): Reply => ({
    kind: 'Reply',
    beacon: { ...beacon(-1), candidate: false },
    candidate: 1,
    request: of,
    votes: [{ node, support: true }],
    promised,
    config: FIRST,
  })

  /** A node that hears the others, and has asked for their support. */
  function startCandidate(now = 1_000_000): { candidate: Bench; asked: Election } {
    const candidate = new Bench(1)
    candidate.now = now
    return { candidate, asked: stands(candidate) }
  }

  function stands(candidate: Bench): Election {
    for (const peer of [2, 3]) {
      candidate.gets(peer, { kind: 'Heartbeat', beacon: { ...beacon(-1), candidate: false } })
    }
    return present(candidate.timer('alive').asked, 'a request')
  }

  function leading(): { candidate: Bench; asked: Election } {
    const { candidate, asked } = startCandidate()
    candidate.hearsItself().gets(2, vote(2, asked))
    expect(candidate.view).toMatchObject({ role: 'leader', token: asked.epoch, until: 1_000_000 + lease })
    return { candidate, asked }
  }

  it('leads with a majority that includes itself', () => {
    leading()
    // It supports another node that does not lead yet. It asks, but its own vote is missing.
    const { candidate } = startCandidate()
    const bound = new Bench(1)
    bound.now = 1_000_000
    expect(bound.supports(2, election(request(1), 1))).toBe(true)
    const asked = stands(bound)
    bound.gets(2, vote(2, asked)).gets(3, vote(3, asked))
    expect(bound.view.role).not.toBe('leader')
    expect(candidate.gets(2, vote(2, present(candidate.asked, 'a request'))).view.role).toBe('leader')
  })

  it('stores its own vote in the step in which it asks for votes', () => {
    const { candidate, asked } = startCandidate()
    const types = candidate.effects.map(({ type }) => type)
    expect(types.indexOf('persist')).toBeLessThan(types.indexOf('send'))
    expect(candidate.stored?.['promised']).toEqual({ number: asked.epoch, owner: 1 })
  })

  it('that supports a leader also writes to storage before it announces its candidacy', () => {
    const bound = new Bench(1)
    bound.now = 1_000_000
    const leads = { ...beacon(9), seen: { number: 1, owner: 2 }, lease: { left: 90_000, token: 1 } }
    expect(bound.supports(2, election(request(1), 1, { beacon: leads }))).toBe(true)
    bound.gets(3, { kind: 'Heartbeat', beacon: { ...beacon(-1), candidate: false } })
    bound.input({ type: 'command', command: { do: 'setPriority', priority: 10 } })
    const probe = present(bound.timer('alive').asked, 'a probe')
    expect(probe).toMatchObject({ epoch: 0, beacon: { candidate: false } })
    expect(bound.effects.some(({ type }) => type === 'persist')).toBe(false)
    const refusal = { ...vote(3, probe), votes: [{ node: 3, support: false }] }
    const asked = present(bound.gets(3, refusal).asked, 'a request')
    expect(asked.epoch).toBeGreaterThan(1)
    expect(asked.beacon.candidate).toBe(true)
    const types = bound.effects.map(({ type }) => type)
    expect(types.indexOf('persist')).toBeGreaterThanOrEqual(0)
    expect(types.indexOf('persist')).toBeLessThan(types.indexOf('send'))
  })

  it('that leads answers heartbeats, except those of another leader, which would answer for ever', () => {
    const { candidate } = leading()
    const heartbeat = { kind: 'Heartbeat', beacon: { ...beacon(-1), candidate: false } }
    const answered = (body: PlainObject): readonly NodeId[] =>
      candidate.gets(3, body).effects.flatMap((effect) => (effect.type === 'send' ? [effect.to] : []))
    expect(answered(heartbeat)).toEqual([3])
    const rival = { ...heartbeat.beacon, seen: { number: 7, owner: 3 }, lease: { left: 50_000, token: 7 } }
    expect(answered({ kind: 'Heartbeat', beacon: rival })).toEqual([])
  })

  it('that leads forgets nodes that it no longer hears, although it sends no heartbeats', () => {
    const { candidate } = leading()
    expect(candidate.there).toEqual([2, 3])
    for (let round = 0; round < 4; round++) {
      candidate.now += 40_000
      const asked = present(candidate.timer('alive').asked, 'a request')
      candidate.hearsItself().gets(2, vote(2, asked))
    }
    expect(candidate.view.role).toBe('leader')
    expect(candidate.there).toEqual([2])
  })

  it('stores its own promise before it announces that it leads', () => {
    const { candidate, asked } = startCandidate()
    expect(candidate.stored?.['promised']).toEqual({ number: asked.epoch, owner: 1 })
    expect(candidate.gets(2, vote(2, asked)).effects.some(({ type }) => type === 'output')).toBe(true)
  })

  it('does not lead by answers that arrive after the lease would have ended', () => {
    const { candidate, asked } = startCandidate()
    candidate.hearsItself()
    candidate.now += lease
    candidate.gets(2, vote(2, asked))
    expect(candidate.view.role).not.toBe('leader')
    expect(candidate.effects.filter(({ type }) => type === 'output')).toEqual([])
  })

  it('does not lead by answers to a request that it has abandoned', () => {
    const { candidate, asked } = startCandidate()
    candidate.hearsItself()
    candidate.now += collection
    candidate.timer('release')
    candidate.gets(2, vote(2, asked))
    expect(candidate.view.role).not.toBe('leader')
    candidate.now += 60_000
    const again = stands(candidate)
    candidate.hearsItself().gets(2, vote(2, asked))
    expect(candidate.view.role).not.toBe('leader')
    candidate.gets(2, vote(2, again))
    expect(candidate.view.role).toBe('leader')
  })

  it('does not renew a lease that has ended, and never leads twice under one epoch', () => {
    const { candidate, asked } = leading()
    candidate.now += lease - 1000
    const renewal = stands(candidate)
    expect(renewal).toMatchObject({ renew: true, epoch: asked.epoch })
    candidate.hearsItself()
    candidate.now += 1000
    candidate.gets(2, vote(2, renewal))
    expect(candidate.view.role).not.toBe('leader')
    candidate.now += 200_000
    // It has failed, so it first defers to other nodes.
    for (const peer of [2, 3]) {
      candidate.gets(peer, { kind: 'Heartbeat', beacon: { ...beacon(-1), candidate: false } })
    }
    expect(candidate.timer('alive').asked).toBeNull()
    candidate.now += deference
    expect(stands(candidate)).toMatchObject({ beacon: { candidate: false, low: 3 } })
    expect(present(candidate.asked, 'a request').epoch).toBeGreaterThan(asked.epoch)
  })

  it('needs a new epoch after it stepped down, and after it crashed', () => {
    const { candidate, asked } = leading()
    candidate.input({ type: 'command', command: { do: 'stepDown' } }).hearsItself()
    expect(candidate.view.role).not.toBe('leader')
    candidate.now += 10_000_000
    expect(stands(candidate).epoch).toBeGreaterThan(asked.epoch)
    const restarted = new Bench(1, leading().candidate.stored, 5_000_000)
    restarted.now += silence
    restarted.timer('heartbeat')
    expect(stands(restarted).epoch).toBeGreaterThan(asked.epoch)
  })

  it('may reuse an epoch under which it never led, unless another node owns it', () => {
    const { candidate, asked } = startCandidate()
    candidate.hearsItself()
    candidate.now += collection
    candidate.timer('release').hearsItself()
    candidate.now += 60_000
    const again = stands(candidate)
    expect(again.epoch).toBe(asked.epoch)
    const refused: Reply = {
      ...vote(2, again, { number: again.epoch, owner: 3 }),
      votes: [{ node: 2, support: false }],
    }
    candidate.hearsItself().gets(2, refused)
    candidate.now += collection
    candidate.timer('release').hearsItself()
    candidate.now += 60_000
    expect(stands(candidate).epoch).toBe(again.epoch + 1)
  })

  it('forgets its request and its lease when its clock has stopped', () => {
    const { candidate, asked } = startCandidate()
    const own = candidate.effects
    candidate.input({ type: 'suspended', by: 1 })
    candidate.effects = own
    candidate.hearsItself().gets(2, vote(2, asked)).gets(3, vote(3, asked))
    expect(candidate.view.role).not.toBe('leader')
    const leader = leading().candidate
    leader.input({ type: 'suspended', by: 1 })
    expect(leader.view.role).not.toBe('leader')
  })

  it('releases nothing while it leads, even when a renewal fails', () => {
    const { candidate } = leading()
    candidate.now += 40_000
    stands(candidate)
    candidate.now += collection
    candidate.timer('release')
    expect(candidate.view.role).toBe('leader')
    expect(candidate.effects.filter(({ type }) => type === 'send')).toEqual([])
  })

  it('counts a late vote for the request by which it leads, and for no other', () => {
    const { candidate, asked } = leading()
    candidate.now += 40_000
    const renewal = stands(candidate)
    candidate.now += collection
    candidate.timer('release')
    candidate.gets(3, vote(3, renewal))
    expect(candidate.view.members).toEqual([1, 2])
    candidate.gets(3, vote(3, asked))
    expect(candidate.view.members).toEqual([1, 2, 3])
  })

  it('changes its voters step by step, each after the previous one is in force', () => {
    const { candidate, asked } = leading()
    const { epoch } = asked
    candidate.input({ type: 'command', command: { do: 'removeVoter', voter: 3 } })
    const steps: Configuration[] = [
      { id: [epoch, 1], sets: [NODES] },
      { id: [epoch, 2], sets: [NODES, [1, 2]] },
      { id: [epoch, 3], sets: [[1, 2]] },
    ]
    for (const config of steps) {
      candidate.now += 30_000
      expect(stands(candidate)).toMatchObject({ renew: true, config })
      // It has stored the configuration before another node can hear of it.
      const types = candidate.effects.map(({ type }) => type)
      expect(types.indexOf('persist')).toBeLessThan(types.indexOf('send'))
      expect(candidate.stored?.['config']).toEqual(config)
      // That try fails, and the wanted voters change: the next try still carries the same configuration.
      candidate.now += collection
      candidate.timer('release')
      const wanted = config === steps[0] ? 'addVoter' : 'removeVoter'
      candidate.input({ type: 'command', command: { do: wanted, voter: 3 } })
      const again = stands(candidate)
      expect(again.config).toEqual(config)
      candidate.input({ type: 'command', command: { do: 'removeVoter', voter: 3 } })
      candidate.effects = []
      candidate.gets(1, again).gets(2, vote(2, again))
      expect(candidate.view).toMatchObject({ role: 'leader', detail: { config } })
    }
  })
})
