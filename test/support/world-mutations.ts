/**
 * Broken worlds for the conformance suite: a mutation is a layer between a protocol and an honest world that makes the
 * world look to the protocol as if it broke one promise.
 */
import {
  type Effect,
  type Input,
  type Micros,
  type Plain,
  type Protocol,
  setTimer,
} from '../../src/core/index.ts'
import { say } from './world-puppet.ts'

const MS: Micros = 1000

/** A protocol as it appears to a puppet in a world that breaks a promise. */
export type Mutation = (protocol: Protocol) => Protocol
export const HONEST: Mutation = (protocol) => protocol

type Effects = readonly Effect[]

/** Changes what the protocol asks of the world, what the node receives, or both. */
const between =
  (change: { effects?: (effects: Effects) => Effects; input?: (input: Input) => Input }): Mutation =>
  (protocol) => ({
    ...protocol,
    step(state, input, now) {
      const step = protocol.step(state, change.input?.(input) ?? input, now)
      return { state: step.state, effects: change.effects?.(step.effects) ?? step.effects }
    },
  })

const isPersist = ({ type }: Effect): boolean => type === 'persist'

function storesLate(): Mutation {
  let late: Effects = []
  return between({
    effects(effects) {
      const all = [...late, ...effects.filter((effect) => !isPersist(effect))]
      late = effects.filter(isPersist)
      return all
    },
  })
}

/** The state survives a crash. */
const remembers: Mutation = (protocol) => {
  let last: Plain = null
  return {
    ...protocol,
    start: (stable, now) => {
      const step = protocol.start(stable, now)
      return { ...step, state: last ?? step.state }
    },
    step(state, input, now) {
      const step = protocol.step(state, input, now)
      last = step.state
      return step
    },
  }
}

/** Each setting of a timer creates a separate timer. */
function keepsOldTimers(): Mutation {
  let count = 0
  return between({
    effects: (effects) =>
      effects.map((effect) => {
        count += 1
        return effect.type === 'setTimer' ? setTimer(`${effect.name}#${count}`, effect.at) : effect
      }),
    input: (input) =>
      input.type === 'timer' ? { type: 'timer', name: input.name.split('#')[0] ?? '' } : input,
  })
}

const firesEarly = between({
  effects: (effects) =>
    effects.map((effect) => {
      if (effect.type !== 'setTimer') return effect
      const { name, at } = effect
      return setTimer(name, typeof at === 'number' ? at - 8 * MS : [at[0] - 18 * MS, at[0] - 18 * MS])
    }),
})

const firesWithin: Mutation = (protocol) => ({
  ...protocol,
  step(state, input, now) {
    const step = protocol.step(state, input, now)
    const due = step.effects.find((effect) => effect.type === 'setTimer' && effect.name === 'now')
    return due === undefined ? step : protocol.step(step.state, { type: 'timer', name: 'now' }, now)
  },
})

/** `suspended` arrives after the input that it should precede. */
const tellsLate: Mutation = (protocol) => {
  let late: Input | null = null
  return {
    ...protocol,
    step(state, input, now) {
      if (input.type === 'suspended') {
        late = input
        return { state, effects: [] }
      }
      const step = protocol.step(state, input, now)
      if (late === null) return step
      const more = protocol.step(step.state, late, now)
      late = null
      return { state: more.state, effects: [...step.effects, ...more.effects] }
    },
  }
}

const swallowsErrors: Mutation = (protocol) => ({
  ...protocol,
  step(state, input, now) {
    try {
      return protocol.step(state, input, now)
    } catch {
      return { state, effects: [say('half a step')] }
    }
  },
})

/** By promise: what a broken world does, and a function that creates the mutation for each world. */
export const MUTATIONS: { readonly [promise: string]: { readonly broken: string; mutation(): Mutation } } = {
  '1 order': {
    broken: 'carries effects out in reverse',
    mutation: () => between({ effects: (effects) => effects.toReversed() }),
  },
  '2 barrier': { broken: 'stores data one step late', mutation: storesLate },
  '3 rollback': {
    broken: 'carries out a step whose data is not stored',
    mutation: () => between({ effects: (effects) => effects.filter((effect) => !isPersist(effect)) }),
  },
  '4 crash': { broken: 'keeps the state over a crash', mutation: () => remembers },
  '5 replacement': { broken: 'keeps a timer that was replaced', mutation: keepsOldTimers },
  '6 cancellation': {
    broken: 'fires a timer that was stopped',
    mutation: () => between({ effects: (effects) => effects.filter(({ type }) => type !== 'stopTimer') }),
  },
  '7 deadline': { broken: 'fires timers early', mutation: () => firesEarly },
  '8 own step': { broken: 'fires a timer within a step', mutation: () => firesWithin },
  '9 delivery': {
    broken: 'names another sender',
    mutation: () =>
      between({ input: (input) => (input.type === 'message' ? { ...input, from: 'a' } : input) }),
  },
  '10 registers': {
    broken: 'answers another call',
    mutation: () =>
      between({
        input: (input) =>
          input.type === 'register' ? { ...input, call: { ...input.call, id: input.call.id + 1 } } : input,
      }),
  },
  '11 suspension': { broken: 'reports a suspension late', mutation: () => tellsLate },
  '12 failure': { broken: 'carries out half a step that throws', mutation: () => swallowsErrors },
}
