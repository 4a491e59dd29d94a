/** The crash-tolerant ring, step by step, for node 2 of three. */
import { describe, expect, it } from 'vitest'
import { type Effect, type Input, type NodeId, persist, send, setTimer, stopTimer } from '../../core/index.ts'
import type { Key } from './messages.ts'
import { type TolerantMessage, type TolerantState, tolerantRing } from './tolerant.ts'

const TIMING = { hopTimeout: 100, electionTimeout: 1000, probeEvery: 500 }
const node = tolerantRing({ self: 2, nodes: [1, 2, 3] }, 0, TIMING)
const FRESH = node.start(null, 0).state
const key = (of: NodeId, load = 0): Key => ({ load, node: of })
const hop = (
  kind: 'election' | 'elected',
  of: NodeId,
  more: { readonly epoch?: number; readonly hops?: number; readonly seq?: number } = {},
): TolerantMessage => ({ kind, epoch: 1, key: key(of), hops: 1, seq: 7, ...more })
const give = (state: TolerantState, input: Input, now = 0) => node.step(state, input as never, now)
const hears = (state: TolerantState, from: NodeId, body: TolerantMessage, now = 0) =>
  give(state, { type: 'message', from, body, receipt: null } as never, now)
const fires = (state: TolerantState, name: string, now = 0) => give(state, { type: 'timer', name }, now)
const outputs = (effects: readonly Effect[]): readonly unknown[] =>
  effects.flatMap((effect) => (effect.type === 'output' ? [effect.event.type] : []))
const settledOn = (leader: NodeId): TolerantState => {
  const { settled } = node
  if (settled === undefined) throw new Error('the ring can start settled')
  return settled({ leader, members: [1, 2, 3] }, 0).state
}
/** In epoch 1, in which it has sent its own identifier to 3. */
const started = give(FRESH, { type: 'command', command: { do: 'start' } }).state

describe('a start', () => {
  it('of a new node only sets the probe timer', () => {
    expect(node.start(null, 50)).toEqual({ state: FRESH, effects: [setTimer('probe', 550)] })
  })
  it('of a restarted node greets the others, and starts an election in the next epoch', () => {
    const { state, effects } = node.start({ epoch: 4 }, 0)
    expect(state).toMatchObject({ epoch: 5, participant: true })
    expect(effects).toEqual([
      setTimer('probe', 500),
      send(3, { kind: 'hello', epoch: 4, leader: null }),
      send(1, { kind: 'hello', epoch: 4, leader: null }),
      persist({ epoch: 5 }),
      setTimer('election', 1000),
      send(3, { kind: 'election', epoch: 5, key: key(2), hops: 1, seq: 0 }),
      setTimer('hop 0', 100),
    ])
  })
})

describe('an election message', () => {
  it('of a larger identifier is acknowledged and sent on', () => {
    const { state, effects } = hears(FRESH, 1, hop('election', 3, { epoch: 0, hops: 1 }))
    expect(state).toMatchObject({ participant: true, sentOn: { election: [3], elected: [] } })
    expect(effects).toEqual([
      send(1, { kind: 'ack', seq: 7 }),
      setTimer('election', 1000),
      send(3, { kind: 'election', epoch: 0, key: key(3), hops: 2, seq: 0 }),
      setTimer('hop 0', 100),
    ])
  })
  it('of a smaller identifier is replaced by the own one', () => {
    const { effects } = hears(FRESH, 1, hop('election', 1, { epoch: 0, hops: 1 }))
    expect(effects).toContainEqual(send(3, { kind: 'election', epoch: 0, key: key(2), hops: 1, seq: 0 }))
  })
  it('of a smaller identifier is discarded by a participant', () => {
    const { state, effects } = hears(started, 1, hop('election', 1))
    expect(effects).toEqual([send(1, { kind: 'ack', seq: 7 })])
    expect(state.pending).toEqual(started.pending)
  })
  it('with the own identifier makes the node leader', () => {
    const { state, effects } = hears(started, 1, hop('election', 2, { hops: 3 }))
    expect(state).toMatchObject({ participant: false, leader: key(2), frozen: null })
    expect(effects).toContainEqual(send(3, { kind: 'elected', epoch: 1, key: key(2), hops: 1, seq: 1 }))
    expect(outputs(effects)).toEqual(['elected'])
  })
  it('that was sent on before is not sent on again', () => {
    const first = hears(FRESH, 1, hop('election', 3, { epoch: 0 })).state
    expect(hears(first, 1, hop('election', 3, { epoch: 0, seq: 8 })).effects).toEqual([
      send(1, { kind: 'ack', seq: 8 }),
    ])
  })
  it('that has made more hops than there are nodes is dropped', () => {
    expect(hears(FRESH, 1, hop('election', 3, { epoch: 0, hops: 4 })).effects).toEqual([
      send(1, { kind: 'ack', seq: 7 }),
    ])
  })
  it('of a lower epoch is refused with the current epoch', () => {
    expect(hears(started, 1, hop('election', 3, { epoch: 0 })).effects).toEqual([
      send(1, { kind: 'nack', seq: 7, epoch: 1 }),
    ])
  })
  it('of a higher epoch moves the node into that epoch first', () => {
    const { state, effects } = hears(started, 1, hop('election', 3, { epoch: 5 }))
    expect(state).toMatchObject({ epoch: 5, participant: true })
    expect(state.pending.map(({ message }) => message.epoch)).toEqual([5])
    expect(effects.slice(0, 2)).toEqual([send(1, { kind: 'ack', seq: 7 }), persist({ epoch: 5 })])
  })
})

describe('a result', () => {
  it('is followed and sent on', () => {
    const { state, effects } = hears(FRESH, 1, hop('elected', 3, { epoch: 0, hops: 1 }))
    expect(state).toMatchObject({ leader: key(3), participant: false })
    expect(effects).toContainEqual(send(3, { kind: 'elected', epoch: 0, key: key(3), hops: 2, seq: 0 }))
    expect(outputs(effects)).toEqual(['following'])
  })
  it('for a node with a smaller identifier starts another election', () => {
    const { state } = hears(FRESH, 1, hop('elected', 1, { epoch: 0 }))
    expect(state).toMatchObject({ epoch: 1, participant: true })
  })
  it('for the node itself ends its way around', () => {
    expect(hears(settledOn(2), 1, hop('elected', 2)).effects).toEqual([send(1, { kind: 'ack', seq: 7 })])
  })
})

describe('a hop', () => {
  it('that is acknowledged is done', () => {
    const { state, effects } = hears(started, 3, { kind: 'ack', seq: 0 })
    expect([state.pending, effects]).toEqual([[], [stopTimer('hop 0')]])
  })
  it('that is not answered makes the node skip its successor', () => {
    const { state, effects } = fires(started, 'hop 0', 100)
    expect(state.suspected).toEqual([3])
    expect(effects).toEqual([
      send(1, { kind: 'election', epoch: 1, key: key(2), hops: 1, seq: 1 }),
      setTimer('hop 1', 200),
    ])
  })
  it('that no node answers makes the node leader', () => {
    const alone = fires(fires(started, 'hop 0').state, 'hop 1')
    expect(alone.state).toMatchObject({ leader: key(2), suspected: [1, 3] })
    expect(outputs(alone.effects)).toEqual(['elected'])
  })
  it('that was answered before its timer changes nothing', () => {
    const { state } = hears(started, 3, { kind: 'ack', seq: 0 })
    expect(fires(state, 'hop 0')).toEqual({ state, effects: [] })
  })
  it('that is refused moves the node into the epoch of the others', () => {
    const { state, effects } = hears(started, 3, { kind: 'nack', seq: 0, epoch: 6 })
    expect(state).toMatchObject({ epoch: 6, participant: false, pending: [] })
    expect(effects).toEqual([stopTimer('hop 0'), persist({ epoch: 6 }), setTimer('election', 1000)])
  })
  it('of an earlier epoch is not repeated', () => {
    const behind = { ...started, epoch: 2 }
    const { state, effects } = fires(behind, 'hop 0')
    expect([state.suspected, effects]).toEqual([[3], []])
  })
})

describe('a sign of life', () => {
  it.each<[string, TolerantMessage]>([
    ['a ping', { kind: 'ping' }],
    ['an acknowledgement', { kind: 'ack', seq: 99 }],
    ['a greeting', { kind: 'hello', epoch: 0, leader: null }],
    ['its own identifier', hop('election', 3)],
  ])('clears a suspicion: %s', (_what, body) => {
    const suspecting = { ...started, suspected: [3] }
    expect(hears(suspecting, 3, body).state.suspected).toEqual([])
  })
})

describe('a probe', () => {
  it('of a leader greets all others', () => {
    const hello = { kind: 'hello', epoch: 1, leader: key(2) } as const
    expect(fires(settledOn(2), 'probe', 500).effects).toEqual([
      send(3, hello),
      send(1, hello),
      setTimer('probe', 1000),
    ])
  })
  it('of a follower asks the leader, and starts an election if it has not answered the last time', () => {
    const asked = fires(settledOn(3), 'probe', 500)
    expect(asked.effects).toEqual([send(3, { kind: 'ping' }), setTimer('probe', 1000)])
    const again = fires(asked.state, 'probe', 1000)
    expect(again.state).toMatchObject({ epoch: 2, participant: true })
    const answered = hears(asked.state, 3, { kind: 'pong', epoch: 1, leader: key(3) }).state
    expect(fires(answered, 'probe', 1000).state.participant).toBe(false)
  })
  it('without a leader only sets the timer again', () => {
    expect(fires(FRESH, 'probe', 500)).toEqual({ state: FRESH, effects: [setTimer('probe', 1000)] })
  })
})

describe('the report of a peer', () => {
  const report = (state: TolerantState, epoch: number, leader: Key | null) =>
    hears(state, 1, { kind: 'hello', epoch, leader })

  it('of an earlier epoch is ignored', () => {
    expect(report(started, 0, key(3))).toEqual({ state: started, effects: [] })
  })
  it('names a leader to follow', () => {
    expect(report(FRESH, 0, key(3)).state.leader).toEqual(key(3))
  })
  it('of another leader in the same epoch starts an election', () => {
    expect(report(settledOn(3), 1, key(3, -1)).state).toMatchObject({ epoch: 2, participant: true })
  })
  it('of a leader with a smaller identifier starts an election', () => {
    expect(report(FRESH, 0, key(1)).state).toMatchObject({ epoch: 1, participant: true })
  })
  it('of its own leader that it does not lead starts an election', () => {
    const { state, effects } = hears(settledOn(3), 3, { kind: 'pong', epoch: 1, leader: null })
    expect(state).toMatchObject({ epoch: 2, participant: true, leader: null })
    expect(effects).toContainEqual(persist({ epoch: 2 }))
  })
  it('of a higher epoch ends the election of this node', () => {
    expect(report(started, 4, null).state).toMatchObject({ epoch: 4, participant: false, pending: [] })
  })
})

describe('the load', () => {
  it('makes a node less eligible, and is frozen in an election', () => {
    const loaded = give(FRESH, { type: 'command', command: { do: 'setLoad', load: 5 } }).state
    expect(hears(loaded, 1, hop('election', 1, { epoch: 0 })).effects).toContainEqual(
      send(3, { kind: 'election', epoch: 0, key: key(1), hops: 2, seq: 0 }),
    )
    const later = give(started, { type: 'command', command: { do: 'setLoad', load: 5 } }).state
    expect(later).toMatchObject({ load: 5, frozen: key(2) })
  })
})
