import { describe, expect, it } from 'vitest'
import {
  type Input,
  type LayerStep,
  type Output,
  output,
  present,
  send,
  setTimer,
  stopTimer,
} from '../../core/index.ts'
import type { Estimator } from './estimator.ts'
import { type LeaderWatch, leaderWatch } from './leader-watch.ts'

/** Trusts for 250 after the last heartbeat, and remembers its number and time. */
const estimator: Estimator<readonly [seq: number, at: number]> = {
  begin: (known, now) => ({ estimate: known ?? [-1, now], trustedUntil: now + 400 }),
  arrival: (_known, seq, now) => ({ estimate: [seq, now], trustedUntil: now + 250 }),
  shift: ([seq, at], by) => [seq, at + by],
}
type State = LeaderWatch<readonly [number, number]>
const layer = leaderWatch({ self: 1, nodes: [1, 2, 3] }, 100, estimator)
const notice = present(layer.notice, 'notice')
const EMPTY: State = { leadsSince: null, leader: null, estimate: null, suspected: [] }
const follow = (leader: number): Output => ({ type: 'following', leader })
const heartbeat = (from: number, seq: number): Input => ({
  type: 'message',
  from,
  body: { kind: 'heartbeat', seq },
  receipt: null,
})
const silence: Input = { type: 'timer', name: 'detector/silence' }
const beat: Input = { type: 'timer', name: 'detector/beat' }
const says = (type: string, peer: number) => output({ type, peer })
const up = (peer: number): Input => ({ type: 'link', peer, up: true })

/** The state after these outputs and inputs, all at their instants. */
function after(...done: readonly (readonly [what: Output | Input, now: number])[]): State {
  return last(...done).state
}
function last(...done: readonly (readonly [what: Output | Input, now: number])[]): LayerStep<State> {
  let step: LayerStep<State> = { state: EMPTY, effects: [], inputs: [] }
  for (const [what, now] of done) {
    const isInput = ['message', 'timer', 'link', 'suspended'].includes(what.type)
    step = isInput ? layer.below(step.state, what as Input, now) : notice(step.state, what, now)
  }
  return step
}

describe('a leader', () => {
  const elected: Output = { type: 'elected', token: 1 }

  it('sends heartbeat 0 at once, and the next one a period later', () => {
    expect(last([elected, 1000])).toEqual({
      state: { ...EMPTY, leadsSince: 1000 },
      effects: [
        stopTimer('detector/silence'),
        send(2, { kind: 'heartbeat', seq: 0 }),
        send(3, { kind: 'heartbeat', seq: 0 }),
        setTimer('detector/beat', 1100),
      ],
      inputs: [],
    })
  })

  it('numbers heartbeats by its clock, and skips periods in which it did not run', () => {
    const { state, effects } = last([elected, 1000], [beat, 1350])
    expect(effects).toEqual([
      send(2, { kind: 'heartbeat', seq: 3 }),
      send(3, { kind: 'heartbeat', seq: 3 }),
      setTimer('detector/beat', 1400),
    ])
    expect(state).toBe(layer.below(state, beat, 1400).state)
  })

  it('stops with its term', () => {
    const { state, effects } = last([elected, 1000], [{ type: 'demoted', token: 1 }, 1200])
    expect([state, effects]).toEqual([EMPTY, [stopTimer('detector/beat')]])
    expect(layer.below(state, beat, 1300).effects).toEqual([])
  })

  it('no longer watches the leader before it', () => {
    expect(last([follow(2), 0], [elected, 50]).effects[0]).toEqual(says('unwatch', 2))
    expect(last([follow(2), 0], [silence, 400], [elected, 450]).effects[0]).toEqual(
      stopTimer('detector/silence'),
    )
  })
})

describe('a follower', () => {
  it('trusts a leader that it starts to follow', () => {
    expect(last([follow(2), 1000])).toEqual({
      state: { ...EMPTY, leader: 2, estimate: [-1, 1000] },
      effects: [says('trust', 2), setTimer('detector/silence', 1400)],
      inputs: [],
    })
  })

  it('does not restart the watch of the same leader', () => {
    const state = after([follow(2), 1000])
    expect(notice(state, follow(2), 1100)).toEqual({ state, effects: [], inputs: [] })
  })

  it('unwatches the leader before it, unless that one is suspected', () => {
    expect(last([follow(2), 0], [follow(3), 100]).effects).toEqual([
      says('unwatch', 2),
      says('trust', 3),
      setTimer('detector/silence', 500),
    ])
    const changed = last([follow(2), 0], [silence, 400], [follow(3), 500])
    expect(changed.effects).toEqual([says('trust', 3), setTimer('detector/silence', 900)])
    expect(changed.state.suspected).toEqual([2])
  })

  it('moves the end of its trust with every heartbeat', () => {
    expect(last([follow(2), 1000], [heartbeat(2, 0), 1100])).toEqual({
      state: { ...EMPTY, leader: 2, estimate: [0, 1100] },
      effects: [setTimer('detector/silence', 1350)],
      inputs: [],
    })
  })

  it('suspects a silent leader, and tells the protocol that the link is down', () => {
    expect(last([follow(2), 0], [silence, 400])).toEqual({
      state: { ...EMPTY, leader: 2, estimate: [-1, 0], suspected: [2] },
      effects: [says('suspect', 2)],
      inputs: [{ type: 'link', peer: 2, up: false }],
    })
    expect(layer.below(EMPTY, silence, 400)).toEqual({ state: EMPTY, effects: [], inputs: [] })
  })

  it('withdraws a suspicion when a heartbeat arrives', () => {
    expect(last([follow(2), 0], [silence, 400], [heartbeat(2, 4), 450])).toEqual({
      state: { ...EMPTY, leader: 2, estimate: [4, 450] },
      effects: [says('trust', 2), setTimer('detector/silence', 700)],
      inputs: [up(2)],
    })
  })

  it('keeps what it learnt of a leader that it follows again after a suspicion', () => {
    const state = after([follow(2), 0], [heartbeat(2, 3), 100], [silence, 350])
    expect(notice(state, follow(2), 500).state).toEqual({
      ...EMPTY,
      leader: 2,
      estimate: [3, 100],
    })
  })

  it('passes a heartbeat of another node up, and ends the suspicion of that node', () => {
    const state = after([follow(2), 0])
    expect(layer.below(state, heartbeat(3, 0), 10)).toEqual({ state, effects: [], inputs: [up(3)] })
    const suspected = after([follow(3), 0], [silence, 400], [follow(2), 410])
    expect(layer.below(suspected, heartbeat(3, 9), 500)).toEqual({
      state: { ...suspected, suspected: [] },
      effects: [says('trust', 3), says('unwatch', 3)],
      inputs: [up(3)],
    })
  })
})

describe('the layer', () => {
  it('passes other messages up, and messages of the protocol down, unchanged', () => {
    const message: Input = { type: 'message', from: 2, body: { kind: 'vote' }, receipt: null }
    expect(layer.below(EMPTY, message, 0).inputs).toEqual([message])
    const out = send(2, { kind: 'vote' })
    expect(layer.above(EMPTY, out, 0)).toEqual({ state: EMPTY, effects: [out], inputs: [] })
  })

  it('ignores outputs that say nothing about leaders', () => {
    expect(notice(EMPTY, { type: 'config' }, 0)).toEqual({ state: EMPTY, effects: [], inputs: [] })
  })

  it('moves its instants when time is shifted', () => {
    const following = after([follow(2), 1000], [heartbeat(2, 0), 1100])
    expect(layer.shift(following, 50).estimate).toEqual([0, 1150])
    expect(layer.shift({ ...EMPTY, leadsSince: 1000 }, 50)).toEqual({ ...EMPTY, leadsSince: 1050 })
  })
})
