/** One node in the untimed world, with a protocol that does what its input lists. */
import { describe, expect, it } from 'vitest'
import {
  callRegister,
  type Effect,
  type Input,
  output,
  type PlainObject,
  type Protocol,
  persist,
  type RegisterModel,
  send,
  setTimer,
  stopTimer,
} from '../../core/index.ts'
import { type Slot, UntimedNode } from './node.ts'

/** Its state counts its inputs; `until` is an instant. */
const puppet = (onStart: readonly Effect[] = [], onReply: readonly Effect[] = []): Protocol => ({
  start: (stable) => ({ state: { stable, inputs: 0 }, effects: onStart }),
  step(before, input) {
    const state = before as PlainObject
    const effects =
      input.type === 'command' ? (input.command['effects'] as unknown as readonly Effect[]) : onReply
    return { state: { ...state, inputs: (state['inputs'] as number) + 1 }, effects }
  },
  view: (state) => {
    const { inputs, until = null } = state as { inputs: number; until?: number | null }
    return {
      role: until !== null && until > 0 ? 'leader' : 'follower',
      leader: null,
      token: null,
      until: until !== null && until > 0 ? until : null,
      members: null,
      detail: { rounds: Math.floor(inputs / 2) },
    }
  },
  shift: (state, by) => {
    const { until } = state as { until?: number }
    return until === undefined ? state : { ...(state as PlainObject), until: until + by }
  },
})
const MODEL: RegisterModel = {
  semantics: 'atomic',
  compare: true,
  acknowledged: 'at once',
  forgets: false,
  burials: 'none',
}
const nodeOf = (protocol: Protocol = puppet(), model: RegisterModel | null = null): UntimedNode =>
  new UntimedNode({ self: 1, nodes: [1, 2] }, protocol, model)
const act = (...effects: readonly Effect[]): Input => ({
  type: 'command',
  command: { do: 'act', effects: effects },
})
const UP: Slot = { up: true, state: { stable: null, inputs: 0 }, stable: null, timers: ['t'], calls: [] }
const write = callRegister({ id: 1, op: 'write', value: 'w' })
const read = (of: number) => callRegister({ id: 2, op: 'read', of })

describe('the effects of a step', () => {
  it('are carried out in order', () => {
    const did = nodeOf().step(
      UP,
      act(persist('p'), send(2, { kind: 'm' }), setTimer('a', 5), stopTimer('t'), output({ type: 'o' })),
      null,
    )
    expect(did).toMatchObject({
      slot: { up: true, stable: 'p', timers: ['a'], state: { inputs: 1 } },
      sends: [{ to: 2, body: { kind: 'm' } }],
      seen: [{ type: 'output', at: 0, node: 1, event: { type: 'o' } }],
      cutAfter: null,
      view: null,
    })
  })

  it('keep timers as sorted names', () => {
    expect(nodeOf().step(UP, act(setTimer('z', 1), setTimer('b', 9)), null).slot.timers).toEqual([
      'b',
      't',
      'z',
    ])
  })

  it('show a view only if it has changed', () => {
    const once = nodeOf().step(UP, act(), null)
    expect([once.view, once.seen]).toEqual([null, []])
    const twice = nodeOf().step(once.slot, act(), null)
    expect(twice.view?.detail).toEqual({ rounds: 1 })
    expect(twice.seen).toMatchObject([{ type: 'view', node: 1, until: null }])
  })

  it('remove the timer that fires', () => {
    expect(nodeOf().step(UP, { type: 'timer', name: 't' }, null).slot.timers).toEqual([])
  })
})

describe('a crash', () => {
  const effects = [send(2, { kind: 'm' }), persist('p'), send(2, { kind: 'n' })]

  it('after some effects keeps only these, and the stable data', () => {
    const did = nodeOf().step(UP, act(...effects), 2)
    expect(did.slot).toEqual({ up: false, state: null, stable: 'p', timers: [], calls: [] })
    expect(did.sends).toHaveLength(1)
    expect([did.cutAfter, did.effects.length]).toEqual([2, 3])
    expect(did.seen).toEqual([{ type: 'down', at: 0, node: 1 }])
  })
  it('before the first effect keeps nothing', () => {
    const did = nodeOf().step(UP, act(...effects), 0)
    expect([did.slot.stable, did.sends]).toEqual([null, []])
  })
  it('after the last effect is none', () => {
    expect(nodeOf().step(UP, act(...effects), 3)).toMatchObject({ slot: { up: true }, cutAfter: null })
  })
  it('between steps keeps the stable data', () => {
    expect(nodeOf().crash({ ...UP, stable: 's' })).toMatchObject({
      slot: { up: false, stable: 's' },
      seen: [{ type: 'down' }],
    })
  })
})

describe('a boot', () => {
  it('starts from the stable data, and is seen before anything else', () => {
    const did = nodeOf(puppet([output({ type: 'o' })])).boot('s', null, null, null)
    expect(did.slot.state).toEqual({ stable: 's', inputs: 0 })
    expect(did.seen.map(({ type }) => type)).toEqual(['up', 'output', 'view'])
  })

  it('reads the own register within the step, and others later', () => {
    const replied: Effect[] = [output({ type: 'read' })]
    const did = nodeOf(puppet([read(1)], replied), MODEL).boot(null, null, null, 'own')
    expect(did.slot.calls).toEqual([])
    expect(did.later).toMatchObject([
      { input: { type: 'register', outcome: 'ok', value: 'own' }, effects: replied },
    ])
    const other = nodeOf(puppet([read(2)]), MODEL).boot(null, null, null, 'own')
    expect(other.slot.calls).toHaveLength(1)
  })

  it('starts settled if the protocol can', () => {
    const settled: Protocol = {
      ...puppet(),
      settled: ({ leader }) => ({ state: { stable: leader, inputs: 0 }, effects: [] }),
    }
    const outcome = { leader: 2, members: [1, 2] }
    expect(nodeOf(settled).boot(null, outcome, null, null).slot.state).toMatchObject({ stable: 2 })
    expect(nodeOf().boot('s', outcome, null, null).slot.state).toMatchObject({ stable: 's' })
  })
})

describe('a register', () => {
  it('is written within the step, and acknowledged in the same step', () => {
    const did = nodeOf(puppet([], [output({ type: 'done' })]), MODEL).step(UP, act(write), null)
    expect(did.writes).toEqual([{ of: 1, value: 'w' }])
    expect(did.slot.calls).toEqual([])
    expect(did.later.map(({ input }) => input.type)).toEqual(['register'])
  })

  it('is acknowledged in a step of its own if the model says so', () => {
    const apart = nodeOf(puppet(), { ...MODEL, acknowledged: 'apart' })
    const did = apart.step(UP, act(write), null)
    expect([did.slot.calls, did.later]).toEqual([[{ id: 1, op: 'write', value: 'w' }], []])
  })

  it('of another node is written by a burial', () => {
    const bury = callRegister({ id: 3, op: 'bury', of: 2, value: 'tombstone' })
    expect(nodeOf(puppet(), MODEL).step(UP, act(bury), null).writes).toEqual([{ of: 2, value: 'tombstone' }])
  })

  it('gives up the reads of earlier steps when it is called again', () => {
    const reading = nodeOf(puppet(), MODEL).step(UP, act(read(2)), null).slot
    const again = nodeOf(puppet(), MODEL).step(reading, act(callRegister({ id: 9, op: 'read', of: 2 })), null)
    expect(again.slot.calls).toEqual([{ id: 9, op: 'read', of: 2 }])
  })

  it('may not be called while a write is in progress, nor without a model', () => {
    const apart = nodeOf(puppet(), { ...MODEL, acknowledged: 'apart' })
    const writing = apart.step(UP, act(write), null).slot
    expect(() => apart.step(writing, act(read(2)), null)).toThrow(
      'a register is called while a write is in progress',
    )
    expect(() => nodeOf().step(UP, act(write), null)).toThrow('does not say that it uses registers')
  })

  it('may receive a write after its node has crashed', () => {
    const late = nodeOf(puppet(), MODEL).stepLate(UP, act(output({ type: 'o' }), write, persist('p')))
    expect(late).toMatchObject({ late: 'w', did: { cutAfter: 1, slot: { up: false, stable: null } } })
    expect(nodeOf(puppet(), MODEL).stepLate(UP, act(read(2)))).toBeNull()
  })
})

describe('a tick', () => {
  const leading: Slot = { ...UP, state: { stable: null, inputs: 0, until: 100 } }

  it('moves the instants of the state nearer, and a nearer end is the same lease', () => {
    const did = nodeOf().tick(leading, 60)
    expect(did.slot.state).toMatchObject({ until: 40 })
    expect([did.seen, did.view]).toEqual([[], null])
  })
  it('shows the end of a lease', () => {
    const did = nodeOf().tick(leading, 100)
    expect(did.view?.role).toBe('follower')
    expect(did.seen).toHaveLength(1)
  })
  it('changes nothing in a state without instants', () => {
    expect(nodeOf().tick(UP, 100).seen).toEqual([])
  })
})
