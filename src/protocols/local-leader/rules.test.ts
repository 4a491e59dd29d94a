/** The rules on which safety rests, one by one: what a voter does with messages in any order, and a candidate with answers. */
import { describe, expect, it } from 'vitest'
import type { Effect, NodeId, PlainObject } from '../../core/index.ts'
import { present } from '../../core/index.ts'
import { checkedOptions } from '../../sim/index.ts'
import { timingOf } from './constants.ts'
import { localLeaderDefinition } from './index.ts'
import { insightOf } from './insight.ts'
import { type Election, type Herald, NO_EPOCH, type Release, type Reply, type Request } from './messages.ts'
import { givenBy, localLeaderOptions } from './options.ts'
import type { Configuration } from './voters.ts'

const NODES = [1, 2, 3]
const { lockTime, lease, silence, collection } = timingOf(givenBy(localLeaderOptions(NODES).parse({}), 3))
const FIRST: Configuration = { id: [0, 0], sets: [NODES] }

const herald = (priority: number): Herald => ({
  candidate: true,
  low: 0,
  priority,
  incumbent: false,
  heard: true,
  seen: NO_EPOCH,
  lease: null,
})

const request = (counter: number, incarnation = 1): Request => ({ incarnation, counter })

/** Of a rank before all others, so that rank decides nothing. */
function election(
  asked: Request,
  epoch: number,
  more: Partial<Election> & { priority?: number } = {},
): Election {
  const { priority = 9, ...rest } = more
  return {
    kind: 'Election',
    herald: herald(priority),
    request: asked,
    epoch,
    renew: false,
    config: FIRST,
    certificate: null,
    view: null,
    wanted: null,
    tree: null,
    ...rest,
  }
}

const release = (of: Request, yields = false): Release => ({
  kind: 'Release',
  herald: { ...herald(9), candidate: false },
  request: of,
  yields,
})

/** A process alone with a test, without a layer below: every message is what the test says, and fast. */
class Bench {
  readonly self: NodeId
  readonly #protocol: ReturnType<typeof localLeaderDefinition.create>
  #state: unknown
  now: number
  stored: PlainObject | null = null
  effects: readonly Effect[] = []

  constructor(self: NodeId, stable: PlainObject | null = null, now = 0, more: PlainObject = {}) {
    this.self = self
    this.now = now
    const options = checkedOptions(localLeaderDefinition, NODES, { link: 'none', ...more })
    this.#protocol = localLeaderDefinition.create({ self, nodes: NODES }, options)
    const { state, effects } = this.#protocol.start(stable, now)
    this.#state = state
    this.#keep(effects)
  }

  input(input: PlainObject): this {
    const { state, effects } = this.#protocol.step(this.#state as never, input as never, this.now)
    this.#state = state
    this.#keep(effects)
    return this
  }

  #keep(effects: readonly Effect[]): void {
    this.effects = effects
    for (const effect of effects) if (effect.type === 'persist') this.stored = effect.stable as PlainObject
  }

  gets(from: NodeId, body: Election | Release | Reply | PlainObject): this {
    return this.input({ type: 'message', from, body, receipt: null })
  }

  /** Whether it supports this; null when it does not answer. What it must remember is stored before it answers. */
  supports(from: NodeId, asked: Election): boolean | null {
    this.gets(from, asked)
    const place = this.effects.findIndex(({ type }) => type === 'send')
    const answer = this.effects[place]
    if (answer?.type !== 'send') return null
    if (this.effects.slice(place).some(({ type }) => type === 'persist')) {
      throw new Error('a vote was given before the promise was safe')
    }
    return (answer.body as unknown as Reply).votes[0]?.support ?? null
  }

  /** Delivers to itself what it has sent to itself. */
  hearsItself(): this {
    const own = this.effects.flatMap((effect) =>
      effect.type === 'send' && effect.to === this.self ? [effect.body] : [],
    )
    for (const body of own) this.gets(this.self, body)
    return this
  }

  /** The request that it has just made. */
  get asked(): Election | null {
    const sent = this.effects.find((effect) => effect.type === 'send' && effect.body.kind === 'Election')
    return sent?.type === 'send' ? (sent.body as unknown as Election) : null
  }

  timer(name: string): this {
    return this.input({ type: 'timer', name })
  }

  /** Whom an operator is shown as being there. */
  get there(): readonly NodeId[] {
    return insightOf(this.#state as never, NODES, this.now).heard
  }

  get view() {
    return this.#protocol.view(this.#state as never, this.now)
  }
}

describe('a voter', () => {
  it('is bound for just a lock time, from when the request came', () => {
    const voter = new Bench(3)
    voter.now = 1000
    expect(voter.supports(1, election(request(1), 1))).toBe(true)
    voter.now = 1000 + lockTime
    expect(voter.supports(2, election(request(1), 2, { priority: 10 }))).toBe(false)
    voter.now += 1
    expect(voter.supports(2, election(request(1), 2, { priority: 10 }))).toBe(true)
  })

  it('is bound longer by a later request, and no less by an earlier one that comes late', () => {
    const voter = new Bench(3)
    voter.supports(1, election(request(2), 1))
    expect(voter.supports(1, election(request(1), 1))).toBe(false)
    // The earlier one failed and is released: that frees nobody who supports the later one.
    voter.gets(1, release(request(1)))
    expect(voter.supports(2, election(request(1), 2))).toBe(false)
  })

  it('is freed by the release of the request that binds it, and of no other', () => {
    const voter = new Bench(3)
    voter.supports(1, election(request(1), 1))
    voter.supports(1, election(request(2), 1))
    expect(voter.gets(1, release(request(1))).supports(2, election(request(1), 2))).toBe(false)
    expect(voter.gets(1, release(request(1), true)).supports(2, election(request(1), 2))).toBe(false)
    // Not leading by the third does not mean not leading by the second.
    expect(voter.gets(1, release(request(3))).supports(2, election(request(1), 2))).toBe(false)
    expect(voter.gets(1, release(request(3), true)).supports(2, election(request(1), 2))).toBe(true)
  })

  it('does not support what was released before it came, nor anything earlier', () => {
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
    expect(shown(2, request(99, 9))).toBe(false)
  })

  it('promises an epoch to one, whatever happens to its locks', () => {
    const voter = new Bench(3)
    voter.supports(1, election(request(1), 5))
    voter.now += 2 * lockTime
    expect(voter.supports(2, election(request(1), 5))).toBe(false)
    expect(voter.supports(2, election(request(2), 4))).toBe(false)
    expect(voter.supports(1, election(request(2), 5))).toBe(true)
    voter.now += 2 * lockTime
    expect(voter.supports(2, election(request(3), 6))).toBe(true)
  })

  describe('takes a promise back', () => {
    /** It has promised 5 to process 1, and then 6 to process 2. */
    function promised(): Bench {
      const voter = new Bench(3)
      voter.supports(1, election(request(1), 5))
      voter.now += 2 * lockTime
      expect(voter.supports(2, election(request(1), 6))).toBe(true)
      return voter
    }

    it('when the request has failed for which it was given: then it supports whom it promised before', () => {
      const voter = promised().gets(2, release(request(1)))
      expect(voter.supports(1, election(request(2), 5, { renew: true }))).toBe(true)
    })

    it('and keeps what it had promised before that', () => {
      const voter = promised().gets(2, release(request(1)))
      expect(voter.supports(2, election(request(2), 4))).toBe(false)
      expect(voter.supports(2, election(request(3), 5))).toBe(false)
      expect(voter.supports(2, election(request(4), 6))).toBe(true)
    })

    it('also after several requests for the same epoch, with the last of them, and not with an earlier one', () => {
      const voter = promised()
      voter.supports(2, election(request(2), 6))
      voter.gets(2, release(request(1)))
      voter.now += 2 * lockTime
      expect(voter.supports(1, election(request(2), 5, { renew: true }))).toBe(false)
      voter.gets(2, release(request(2)))
      expect(voter.supports(1, election(request(3), 5, { renew: true }))).toBe(true)
    })

    it('but not from one that led by it: when it yields, or a renewal of it has failed', () => {
      const yielded = promised().gets(2, release(request(1), true))
      expect(yielded.supports(1, election(request(2), 5, { renew: true }))).toBe(false)
      const renewed = promised()
      renewed.supports(2, election(request(2), 6, { renew: true }))
      renewed.gets(2, release(request(2)))
      expect(renewed.supports(1, election(request(2), 5, { renew: true }))).toBe(false)
    })

    it('but not on the word of another, nor after a crash, when it no longer knows for what it was given', () => {
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

  it('takes over later voters from a renewal alone, and supports nobody who knows only earlier ones', () => {
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

  it('reports voters that differ under one name, and does not vote', () => {
    const voter = new Bench(3)
    const config: Configuration = { id: [0, 0], sets: [[1, 3]] }
    expect(voter.supports(1, election(request(1), 1, { config }))).toBe(false)
    expect(voter.effects).toMatchObject([
      { type: 'output', event: { type: 'mismatch', field: 'voters' } },
      { type: 'send', to: 1 },
    ])
  })

  it('says so once, and again when it has changed or come back', () => {
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

  it('tells whoever asked, who reports it too: the voters show on both sides', () => {
    const voter = new Bench(3)
    const config: Configuration = { id: [0, 0], sets: [[1, 3]] }
    voter.gets(1, election(request(1), 1, { config }))
    const answer = voter.effects.find((effect) => effect.type === 'send')
    expect(answer).toMatchObject({ to: 1, body: { kind: 'Reply', votes: [{ node: 3, support: false }] } })
    const odd = new Bench(1)
    const reply = { ...(answer?.body as Reply), config }
    const voters = { ours: FIRST.sets, theirs: config.sets }
    expect(odd.gets(3, reply).effects).toEqual([
      { type: 'output', event: { type: 'mismatch', peer: 3, field: 'voters', ...voters } },
    ])
    expect(odd.gets(3, reply).effects).toEqual([])
  })

  it('supports nobody while one that ranks before it stands', () => {
    const voter = new Bench(3)
    voter.gets(1, { kind: 'Heartbeat', herald: { ...herald(0) } })
    expect(voter.supports(2, election(request(1), 1, { priority: 0 }))).toBe(false)
    voter.gets(1, { kind: 'Heartbeat', herald: { ...herald(0), candidate: false } })
    expect(voter.supports(2, election(request(2), 1, { priority: 0 }))).toBe(true)
  })
})

describe('a follower', () => {
  it('trusts what it is told of a round from when the round began, even if it was asked once more', () => {
    const options = { treeFrom: 2, treeFanout: 2 }
    const chosen = localLeaderOptions(NODES).parse(options)
    const { lockTime: locked } = timingOf(givenBy(chosen, 3))
    const follower = new Bench(3, null, 0, options)
    const leads = { ...herald(9), lease: { left: 90_000, token: 1 } }
    const round = (counter: number, more: Partial<Election>): Election =>
      election(request(counter), 1, { herald: leads, renew: true, tree: NODES, ...more })
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

describe('a candidate', () => {
  const vote = (node: NodeId, { request: of }: Election, promised = NO_EPOCH): Reply => ({
    kind: 'Reply',
    herald: { ...herald(-1), candidate: false },
    candidate: 1,
    request: of,
    votes: [{ node, support: true }],
    promised,
    config: FIRST,
  })

  /** It hears the others, and has asked for their support. */
  function standing(now = 1_000_000): { candidate: Bench; asked: Election } {
    const candidate = new Bench(1)
    candidate.now = now
    return { candidate, asked: stands(candidate) }
  }

  function stands(candidate: Bench): Election {
    for (const peer of [2, 3]) {
      candidate.gets(peer, { kind: 'Heartbeat', herald: { ...herald(-1), candidate: false } })
    }
    return present(candidate.timer('alive').asked, 'a request')
  }

  function leading(): { candidate: Bench; asked: Election } {
    const { candidate, asked } = standing()
    candidate.hearsItself().gets(2, vote(2, asked))
    expect(candidate.view).toMatchObject({ role: 'leader', token: asked.epoch, until: 1_000_000 + lease })
    return { candidate, asked }
  }

  it('leads with a majority, which must hold itself', () => {
    leading()
    const { candidate, asked } = standing()
    const own = candidate.effects
    candidate.gets(2, vote(2, asked)).gets(3, vote(3, asked))
    expect(candidate.view.role).not.toBe('leader')
    candidate.effects = own
    candidate.hearsItself()
    expect(candidate.view.role).toBe('leader')
  })

  it('that leads answers whoever beats for it, but nobody who says that it leads, too: that would never end', () => {
    const { candidate } = leading()
    const heartbeat = { kind: 'Heartbeat', herald: { ...herald(-1), candidate: false } }
    const answered = (body: PlainObject): readonly NodeId[] =>
      candidate.gets(3, body).effects.flatMap((effect) => (effect.type === 'send' ? [effect.to] : []))
    expect(answered(heartbeat)).toEqual([3])
    const rival = { ...heartbeat.herald, lease: { left: 50_000, token: 7 } }
    expect(answered({ kind: 'Heartbeat', herald: rival })).toEqual([])
  })

  it('that leads forgets whom it no longer hears, though it never beats', () => {
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

  it('stores its own promise before it tells anybody that it leads', () => {
    const { candidate, asked } = standing()
    const own = candidate.effects
    candidate.gets(2, vote(2, asked))
    candidate.effects = own
    candidate.hearsItself()
    const types = candidate.effects.map(({ type }) => type)
    expect(types.indexOf('persist')).toBeGreaterThanOrEqual(0)
    expect(types.indexOf('persist')).toBeLessThan(types.indexOf('output'))
    expect(candidate.stored?.['promised']).toEqual({ number: asked.epoch, owner: 1 })
  })

  it('does not lead by answers that come when the lease would be over', () => {
    const { candidate, asked } = standing()
    candidate.hearsItself()
    candidate.now += lease
    candidate.gets(2, vote(2, asked))
    expect(candidate.view.role).not.toBe('leader')
    expect(candidate.effects.filter(({ type }) => type === 'output')).toEqual([])
  })

  it('does not lead by answers to a request that it has given up', () => {
    const { candidate, asked } = standing()
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
    expect(stands(candidate).epoch).toBeGreaterThan(asked.epoch)
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

  it('may use an epoch again under which it never led, unless another holds it', () => {
    const { candidate, asked } = standing()
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

  it('forgets its request and its lease when its clock stood still', () => {
    const { candidate, asked } = standing()
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

  it('changes its voters step by step, and takes no step before the last one is in force', () => {
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
      // What it writes it has stored before anybody can hear of it.
      const types = candidate.effects.map(({ type }) => type)
      expect(types.indexOf('persist')).toBeLessThan(types.indexOf('send'))
      expect(candidate.stored?.['config']).toEqual(config)
      // That try fails, and what was wanted changes: the next one still carries the same.
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
