import { describe, expect, it } from 'vitest'
import type { Effect, Message, Protocol } from './contract.ts'
import { NOTHING, output, persist, send, setTimer, stopTimer } from './effects.ts'
import { type Layer, stack } from './stack.ts'

/** Counts what passes through it, both ways, and marks what it sends on. */
const counting: Layer<{ readonly up: number; readonly down: number }> = {
  name: 'count',
  start: (stable) => ({
    state: { up: typeof stable === 'number' ? stable : 0, down: 0 },
    effects: [setTimer('count/tick', 5)],
    inputs: NOTHING,
  }),
  below(state, input) {
    if (input.type === 'timer')
      return { state, effects: [stopTimer('count/tick'), persist(state.up)], inputs: NOTHING }
    if (input.type === 'message' && input.body.kind === 'own')
      return { state, effects: NOTHING, inputs: NOTHING }
    return { state: { ...state, up: state.up + 1 }, effects: NOTHING, inputs: [input, input] }
  },
  above: (state, message) => ({
    state: { ...state, down: state.down + 1 },
    effects: [send(message.to, { ...message.body, marked: true })],
    inputs: NOTHING,
  }),
  shift: (state) => state,
}

/** Answers every message, remembers how many it got, and keeps that number. */
const echo: Protocol = {
  start: (stable) => ({ state: stable ?? 0, effects: [setTimer('wake', 9)] }),
  step(state, input) {
    if (input.type !== 'message') return { state, effects: [output({ type: input.type })] }
    const next = (state as number) + 1
    return { state: next, effects: [persist(next), send(input.from, { kind: 'echo', number: next })] }
  },
  view: (state) => ({
    role: 'follower',
    leader: null,
    token: state as number,
    until: null,
    members: null,
    detail: null,
  }),
  shift: (state) => state,
}

const stacked = stack(counting, echo)
const message = (body: Message) => ({ type: 'message', from: 2, body, receipt: null }) as const

describe('a stack of a layer and a protocol', () => {
  it('starts both, and keeps their timers apart', () => {
    const { state, effects } = stacked.start(null, 0)
    expect(state).toEqual({ layer: { up: 0, down: 0 }, upper: 0, kept: { layer: null, upper: null } })
    expect(effects).toEqual([
      { type: 'setTimer', name: 'count/tick', at: 5 },
      { type: 'setTimer', name: 'wake', at: 9 },
    ])
  })

  it('hands messages up as often as the layer says, and sends down through it, in order', () => {
    const { state } = stacked.start(null, 0)
    const next = stacked.step(state, message({ kind: 'hello' }), 1)
    const kept = (upper: number): Effect => ({ type: 'persist', stable: { layer: null, upper } })
    expect(next.effects).toEqual([
      kept(1),
      { type: 'send', to: 2, body: { kind: 'echo', number: 1, marked: true } },
      kept(2),
      { type: 'send', to: 2, body: { kind: 'echo', number: 2, marked: true } },
    ])
    expect(next.state).toMatchObject({ layer: { up: 1, down: 2 }, upper: 2 })
  })

  it('keeps stable data of both, side by side, through a restart', () => {
    let { state } = stacked.start(null, 0)
    ;({ state } = stacked.step(state, message({ kind: 'hello' }), 1))
    const tick = stacked.step(state, { type: 'timer', name: 'count/tick' }, 5)
    expect(tick.effects).toEqual([
      { type: 'stopTimer', name: 'count/tick' },
      { type: 'persist', stable: { layer: 1, upper: 2 } },
    ])
    const reborn = stacked.start({ layer: 1, upper: 2 }, 9)
    expect(reborn.state).toMatchObject({ layer: { up: 1, down: 0 }, upper: 2 })
  })

  it("gives the protocol its own timers and commands, and keeps the layer's messages from it", () => {
    const { state } = stacked.start(null, 0)
    expect(stacked.step(state, { type: 'timer', name: 'wake' }, 9).effects).toEqual([
      output({ type: 'timer' }),
    ])
    expect(stacked.step(state, { type: 'command', command: { do: 'x' } }, 9).effects).toEqual([
      output({ type: 'command' }),
    ])
    const own = stacked.step(state, message({ kind: 'own' }), 1)
    expect(own.effects).toEqual([])
    expect(own.state).toBe(state)
  })

  it('shows what the protocol shows', () => {
    const { state } = stacked.start({ layer: 0, upper: 7 }, 0)
    expect(stacked.view(state, 0).token).toBe(7)
  })
})
