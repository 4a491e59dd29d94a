/** A node with the right key that sends what cannot be true, or what it may not claim. */
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
import type { Output, PlainObject } from '../../core/index.ts'
import { MOST_NUMBER } from './bounds.ts'
import type { Beacon, Election, Epoch, Reply } from './messages.ts'
import { CLOCK_EPOCHS, EPOCH_STEP } from './plausible.ts'
import type { Configuration } from './voters.ts'

const implausible = ({ effects }: Bench): readonly Output[] =>
  effects.flatMap((effect) =>
    effect.type === 'output' && effect.event.type === 'implausible' ? [effect.event] : [],
  )

const fieldsOf = (bench: Bench): readonly unknown[] => implausible(bench).map(({ field }) => field)

const beat = (change: Partial<Beacon>): PlainObject => ({
  kind: 'Heartbeat',
  beacon: { ...beacon(0), ...change },
})

const reply = (change: Partial<Reply>): Reply => ({
  kind: 'Reply',
  beacon: beacon(0),
  candidate: 1,
  request: request(0),
  votes: [],
  promised: { number: 0, owner: null },
  config: FIRST,
  ...change,
})

/** A node that hears the others, so that it may be a candidate. */
function createReachability(bench: Bench): Bench {
  bench.now += 10 * timing.expires
  for (const id of [2, 3]) bench.gets(id, beat({ candidate: false }))
  return bench
}

describe('an epoch that runs ahead', () => {
  it('is refused, the event names its sender, and the next epoch grows by a bounded step', () => {
    const node = new Bench(1)
    node.gets(2, beat({ seen: { number: MOST_NUMBER, owner: 2 } }))
    expect(implausible(node)).toEqual([
      {
        type: 'implausible',
        peer: 2,
        field: 'Heartbeat.beacon.seen.number',
        problem: `is ${MOST_NUMBER}, more than ${EPOCH_STEP} ahead of what is known`,
      },
    ])
    // At first up to the limit of the wall clock; from there by one step per message.
    const largest = (): number => {
      createReachability(node)
      return node.timer('alive').asked?.epoch ?? 0
    }
    expect(largest()).toBe(CLOCK_EPOCHS + 1)
    node.gets(2, beat({ seen: { number: MOST_NUMBER, owner: 2 } }))
    node.timer('release')
    // Its own request, which it has promised itself, is one further, and the next one after the step another.
    expect(largest()).toBeLessThanOrEqual(CLOCK_EPOCHS + 2 + EPOCH_STEP)
  })

  it('of the wall clock is believed at once, because a node without data starts there', () => {
    const node = new Bench(1)
    const number = 1_790_000_000_000
    node.gets(2, beat({ seen: { number, owner: 2 } }))
    expect(fieldsOf(node)).toEqual([])
    createReachability(node)
    expect(node.timer('alive').asked?.epoch).toBe(number + 1)
  })

  it('receives no promise, in a request or a reply', () => {
    const voter = new Bench(3)
    expect(voter.supports(1, election(request(1), MOST_NUMBER))).toBeNull()
    expect(fieldsOf(voter)).toEqual(['Election.epoch'])
    expect(voter.stored).toMatchObject({ promised: { number: 0 } })
    voter.gets(2, reply({ candidate: 3, promised: { number: MOST_NUMBER, owner: 2 } }))
    expect(fieldsOf(voter)).toEqual(['Reply.promised.number'])
  })

  it('is reached step by step by a node that was away', () => {
    const far = CLOCK_EPOCHS + 10 * EPOCH_STEP
    const seen: Epoch = { number: far, owner: 2 }
    const node = new Bench(1)
    let messages = 0
    do {
      node.now += timing.expires
      node.gets(2, beat({ seen }))
      messages += 1
    } while (fieldsOf(node).length > 0 && messages < 100)
    expect(messages).toBe(11)
  })

  it('grows by one step per `expires`, regardless of the number of messages', () => {
    const node = new Bench(1)
    const flood = (): void => {
      for (let left = 1000; left > 0; left--) node.gets(2, beat({ seen: { number: MOST_NUMBER, owner: 2 } }))
    }
    flood()
    for (let round = 0; round < 3; round++) {
      flood()
      node.now += timing.expires
    }
    createReachability(node)
    const asked = node.timer('alive').asked?.epoch ?? 0
    expect(asked).toBeGreaterThan(CLOCK_EPOCHS)
    expect(asked).toBeLessThanOrEqual(CLOCK_EPOCHS + 1 + 4 * EPOCH_STEP)
  })
})

describe('a node refuses', () => {
  it('a lease that is too long, or a token larger than the largest epoch that its leader has seen', () => {
    const node = new Bench(1)
    const seen = { number: 4, owner: 2 }
    node.gets(2, beat({ seen, lease: { left: timing.lease + 1, token: 4 } }))
    expect(fieldsOf(node)).toEqual(['Heartbeat.beacon.lease.left'])
    node.gets(2, beat({ seen, lease: { left: timing.lease, token: 5 } }))
    expect(fieldsOf(node)).toEqual(['Heartbeat.beacon.lease.token'])
    expect(node.view.leader).toBeNull()
    node.gets(2, beat({ seen, lease: { left: timing.lease, token: 4 } }))
    expect(node.view.leader).toBe(2)
  })

  it('the vote of another node, and a vote for a request that was never made', () => {
    const node = createReachability(new Bench(1))
    const asked = node.timer('alive').asked as Election
    node.hearsItself()
    node.gets(2, reply({ request: asked.request, votes: [{ node: 3, support: true }] }))
    expect(fieldsOf(node)).toEqual(['Reply.votes'])
    node.gets(2, reply({ request: request(99), votes: [{ node: 2, support: true }] }))
    expect(fieldsOf(node)).toEqual(['Reply.request'])
    expect(node.view.role).toBe('candidate')
    node.gets(2, reply({ request: asked.request, votes: [{ node: 2, support: true }] }))
    expect(node.view.role).toBe('leader')
  })

  it('new voters, unless the sender leads a term that this node supports or follows', () => {
    const own: Configuration = { id: [5, 1], sets: [[3]] }
    const renewal = (counter: number): Election => election(request(counter), 5, { renew: true, config: own })
    const voter = new Bench(1)
    expect(voter.supports(3, renewal(1))).toBe(false)
    expect(voter.stored).toMatchObject({ config: FIRST })
    // A leader that this node supports may change the voters: an operator may have asked for it.
    const led = new Bench(1)
    expect(led.supports(3, election(request(1), 5))).toBe(true)
    expect(led.supports(3, renewal(2))).toBe(true)
    expect(led.stored).toMatchObject({ config: own })
  })

  it('voters under a later epoch than that of the sender, and a majority of unknown voters', () => {
    const voter = new Bench(1)
    expect(voter.supports(3, election(request(1), 5, { config: { id: [6, 1], sets: [NODES] } }))).toBeNull()
    expect(fieldsOf(voter)).toEqual(['Election.config.id'])
    expect(
      voter.supports(3, election(request(1), 5, { config: { id: [1, 1], sets: [[3, 8, 9]] } })),
    ).toBeNull()
    expect(fieldsOf(voter)).toEqual(['Election.config.sets'])
  })

  it('but not a probe, which has no epoch, even if its sender has other voters', () => {
    const voters: Configuration = { id: [6, 1], sets: [NODES] }
    const stable = { incarnation: 1, lockTime: 1, promised: { number: 6, owner: 2 }, config: voters }
    const voter = new Bench(3, stable)
    voter.now += 10 * timing.expires
    voter.timer('heartbeat')
    const probe = election(request(1), 0, { config: voters })
    expect(voter.supports(1, probe)).toBe(false)
    expect(fieldsOf(voter)).toEqual([])
    voter.gets(1, { ...probe, renew: true })
    expect(fieldsOf(voter)).toEqual(['Election.epoch'])
  })

  it('other voters that a node which does not lead reports only once', () => {
    const config: Configuration = { id: [4, 1], sets: [[3]] }
    const said = reply({ config, votes: [{ node: 3, support: false }] })
    const one = new Bench(1)
    one.gets(3, said).gets(3, said)
    expect(one.stored).toMatchObject({ config: FIRST })
    one.gets(3, said)
    expect(one.stored).toMatchObject({ config })
    const two = new Bench(1)
    two.gets(3, said)
    two.gets(2, reply({ config, votes: [{ node: 2, support: false }] }))
    expect(two.stored).toMatchObject({ config })
  })

  it('a release of requests that the other node never made', () => {
    const leader = createReachability(new Bench(1))
    leader.timer('alive').hearsItself()
    const certificate = { owner: 1, request: request(MOST_NUMBER) }
    const { effects } = leader.gets(2, election(request(1), 9, { certificate, priority: -9 }))
    // Perhaps its sender received it: the rest of the message counts.
    expect(effects).toMatchObject([{ type: 'send', to: 2, body: { votes: [{ node: 1, support: false }] } }])
    leader.gets(2, election(request(1), 9, { certificate: { owner: 2, request: request(9) } }))
    expect(fieldsOf(leader)).toEqual(['Election.certificate'])
  })
})

describe('a number of requests that is too large', () => {
  const fast = { fast: true, bound: 10, overtaken: false }
  const asks = (voter: Bench, body: PlainObject, overtaken = false): boolean => {
    voter.input({ type: 'message', from: 2, body, receipt: { ...fast, overtaken } })
    // A released voter may also ask for votes itself.
    return voter.effects.some(
      (effect) => effect.type === 'send' && (effect.body as Partial<Reply>).votes?.[0]?.support === true,
    )
  }

  it.each([
    [
      'by itself',
      (voter: Bench) => asks(voter, release(request(MOST_NUMBER), true) as unknown as PlainObject),
    ],
    [
      'in a certificate from another node',
      (voter: Bench) =>
        voter.gets(1, election(request(1), 1, { certificate: { owner: 2, request: request(MOST_NUMBER) } })),
    ],
    ['in a request from the node', (voter: Bench) => asks(voter, election(request(MOST_NUMBER), 1))],
  ])('does not silence a node for longer than a lock: %s', (_, sendTooLarge) => {
    const voter = new Bench(3)
    sendTooLarge(voter)
    voter.now += 2 * timing.lockTime
    expect(asks(voter, election(request(4), 7))).toBe(true)
  })

  it('still identifies a released request that arrives late', () => {
    const voter = new Bench(3)
    asks(voter, release(request(5), false))
    expect(asks(voter, election(request(5), 7), true)).toBe(false)
    expect(asks(voter, election(request(6), 7), true)).toBe(true)
  })
})

describe('commands', () => {
  it.each([undefined, null, '', 1.5, {}])('refuse %j as a voter', (voter) => {
    const leader = createReachability(new Bench(1))
    const asked = leader.timer('alive').asked as Election
    leader.hearsItself().gets(2, reply({ request: asked.request, votes: [{ node: 2, support: true }] }))
    expect(leader.view.role).toBe('leader')
    leader.input({ type: 'command', command: { do: 'addVoter', voter } as unknown as PlainObject })
    expect(leader.effects).toMatchObject([
      { type: 'output', event: { type: 'refused', command: 'addVoter' } },
    ])
    leader.timer('alive')
    expect(leader.asked?.wanted).toBeNull()
  })
})

it('asks with a larger epoch than that of its voters', () => {
  const stable = {
    incarnation: 1,
    lockTime: 1,
    promised: { number: 2, owner: 2 },
    config: { id: [9, 1], sets: [NODES] },
  }
  const node = new Bench(1, stable)
  node.now += 10 * timing.expires
  node.timer('heartbeat')
  for (const id of [2, 3]) node.gets(id, beat({ candidate: false }))
  expect(node.timer('alive').asked?.epoch).toBe(10)
})

describe('a probe', () => {
  const CHANGED: Configuration = { id: [7, 1], sets: [NODES] }
  const stable = { incarnation: 1, lockTime: 1, promised: { number: 7, owner: 2 }, config: CHANGED }
  const probe = (change: Partial<Election>): Election =>
    election(request(1), 0, { config: CHANGED, ...change })

  it('is answered but never supported, also after a change of voters', () => {
    const voter = new Bench(3, stable)
    voter.now += 2 * timing.silence
    voter.timer('heartbeat')
    expect(voter.supports(1, probe({}))).toBe(false)
    expect(fieldsOf(voter)).toEqual([])
  })

  it('cannot lead: a renewal without an epoch is refused', () => {
    const voter = new Bench(3, stable)
    voter.now += 2 * timing.silence
    voter.timer('heartbeat')
    voter.gets(1, probe({ renew: true }))
    expect(fieldsOf(voter)).toEqual(['Election.epoch'])
  })
})
