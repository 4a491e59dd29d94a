/**
 * One node in the untimed world: its part of each step. Its clock always shows 0, and its timers are a set of
 * names.
 *
 * Registers: a write takes place within the step. Its acknowledgement follows at once as a second input of
 * the same step, unless the register model makes it a separate step. A read is always a separate step, except
 * for a node's read of its own register when it boots.
 */
import {
  assert,
  type Effect,
  equalPlain,
  type Identity,
  type Input,
  type Message,
  type Micros,
  type NodeId,
  type Outcome,
  type Plain,
  type Protocol,
  type RegisterCall,
  type RegisterModel,
  type Step,
  unreachable,
  type View,
} from '../../core/index.ts'
import type { Observation } from '../trace/index.ts'
import { acknowledgesLater } from './registers.ts'

/** The state of one node. `timers` are sorted names. If the node is down, only `stable` is meaningful. */
export type Slot = {
  readonly up: boolean
  readonly state: Plain
  readonly stable: Plain
  readonly timers: readonly string[]
  /** Pending reads, and the write that took place but is not acknowledged. */
  readonly calls: readonly RegisterCall[]
}

/** The result of a step: the node's new state, its messages and the observations. */
export type SlotStep = {
  readonly slot: Slot
  readonly sends: readonly { readonly to: NodeId; readonly body: Message }[]
  readonly writes: readonly RegisterWrite[]
  readonly seen: readonly Observation[]
  /** All effects, and how many of them were carried out before a crash (null: all). */
  readonly effects: readonly Effect[]
  readonly cutAfter: number | null
  /** The node's view after the step, if it has changed. */
  readonly view: View | null
  /** Further inputs within the same step: acknowledgements of writes. */
  readonly later: readonly FollowUp[]
}

export type RegisterWrite = { readonly of: NodeId; readonly value: Plain }

/** One run of protocol code within a step. */
export type FollowUp = {
  readonly input: Input
  readonly effects: readonly Effect[]
  readonly view: View | null
}

/** A node's part of a step: its input (null for a boot) and the result. */
export type NodeStep = {
  readonly node: NodeId
  readonly input: Input | null
  readonly stable: Plain
  readonly settledOn: Outcome | null
  readonly result: SlotStep
}

export const DOWN = { up: false, state: null, timers: [], calls: [] } as const

/** The time that every step sees. */
export const NO_TIME = 0

/** `crashAfter`: the node crashes after this many effects. */
export class UntimedNode {
  readonly identity: Identity
  readonly #protocol: Protocol
  readonly #model: RegisterModel | null

  constructor(identity: Identity, protocol: Protocol, model: RegisterModel | null) {
    this.identity = identity
    this.#protocol = protocol
    this.#model = model
  }

  /** `own`: the value that a read of its own register returns. */
  boot(stable: Plain, settledOn: Outcome | null, crashAfter: number | null, own: Plain): SlotStep {
    const { settled } = this.#protocol
    const step =
      settledOn === null || settled === undefined
        ? this.#protocol.start(stable, NO_TIME)
        : settled(settledOn, NO_TIME)
    const up: Observation = { type: 'up', at: NO_TIME, node: this.identity.self }
    const from = { up: true, state: null, stable, timers: [], calls: [] }
    let did = this.#carryOut(from, null, step, crashAfter, [up])
    for (;;) {
      const call = did.slot.calls.find((each) => each.op !== 'read' || each.of === this.identity.self)
      if (call === undefined) return did
      did = this.#then(did, { type: 'register', call, outcome: 'ok', value: call.op === 'read' ? own : null })
    }
  }

  step(slot: Slot, input: Input, crashAfter: number | null): SlotStep {
    const view = this.#protocol.view(slot.state, NO_TIME)
    const next = this.#protocol.step(slot.state, input, NO_TIME)
    let did = this.#carryOut(withoutCall(slot, input), view, next, crashAfter, [])
    if (this.#isAcknowledgedApart(input)) return did
    for (;;) {
      const call = did.slot.calls.find(({ op }) => op !== 'read')
      if (call === undefined) return did
      did = this.#then(did, { type: 'register', call, outcome: 'ok', value: null })
    }
  }

  /** The node starts a write and crashes before it takes place. Null if the step writes nothing. */
  stepLate(slot: Slot, input: Input): { readonly did: SlotStep; readonly late: Plain } | null {
    const { effects } = this.#protocol.step(slot.state, input, NO_TIME)
    const index = effects.findIndex((effect) => effect.type === 'register' && effect.call.op === 'write')
    const effect = effects[index]
    if (effect?.type !== 'register' || effect.call.op !== 'write') return null
    const did = this.step(slot, input, index)
    return { did: { ...did, effects }, late: effect.call.value }
  }

  crash(slot: Slot): SlotStep {
    return { ...NOTHING_DONE, slot: { ...DOWN, stable: slot.stable }, seen: [this.#down()] }
  }

  /** Time passes: all deadlines in the state move nearer. */
  tick(slot: Slot, by: Micros): SlotStep {
    const was = this.view(slot)
    const next = { ...slot, state: this.#protocol.shift(slot.state, -by) }
    const view = this.view(next)
    // A lease whose end has only come nearer is still the same lease.
    const nearer = was.until === null ? was : { ...was, until: was.until - by }
    const seen = equalPlain(nearer, view) ? [] : [this.#seen(view)]
    return { ...NOTHING_DONE, slot: next, seen, view: seen.length === 0 ? null : view }
  }

  view(slot: Slot): View {
    return this.#protocol.view(slot.state, NO_TIME)
  }

  #isAcknowledgedApart(input: Input): boolean {
    if (this.#model === null) return false
    return (
      acknowledgesLater(this.#model) || (input.type === 'command' && this.#model.acknowledged === 'apart')
    )
  }

  /** Feeds one more input within the same step. */
  #then(first: SlotStep, input: Input): SlotStep {
    const { slot } = first
    const was = this.#protocol.view(slot.state, NO_TIME)
    const next = this.#protocol.step(slot.state, input, NO_TIME)
    const did = this.#carryOut(withoutCall(slot, input), was, next, null, [])
    return {
      ...first,
      slot: did.slot,
      sends: [...first.sends, ...did.sends],
      writes: [...first.writes, ...did.writes],
      seen: [...first.seen, ...did.seen],
      later: [...first.later, { input, effects: did.effects, view: did.view }],
    }
  }

  #carryOut(
    from: Slot,
    was: View | null,
    { state, effects }: Step<Plain>,
    crashAfter: number | null,
    before: readonly Observation[],
  ): SlotStep {
    const { self: node } = this.identity
    const crashes = crashAfter !== null && crashAfter < effects.length
    const done = crashes ? effects.slice(0, crashAfter) : effects
    const timers = new Set(from.timers)
    const sends: { to: NodeId; body: Message }[] = []
    const writes: RegisterWrite[] = []
    const called: RegisterCall[] = []
    const seen = [...before]
    let { stable } = from
    for (const effect of done) {
      switch (effect.type) {
        case 'persist':
          stable = effect.stable
          break
        case 'send':
          sends.push({ to: effect.to, body: effect.body })
          break
        case 'setTimer':
          timers.add(effect.name)
          break
        case 'stopTimer':
          timers.delete(effect.name)
          break
        case 'output':
          seen.push({ type: 'output', at: NO_TIME, node, event: effect.event })
          break
        case 'register': {
          const { call } = effect
          assert(this.#model !== null, 'this protocol does not say that it uses registers')
          called.push(call)
          if (call.op !== 'read') {
            writes.push({ of: call.op === 'write' ? node : call.of, value: call.value })
          }
          break
        }
        default:
          unreachable(effect)
      }
    }
    if (crashes) {
      seen.push(this.#down())
      return {
        ...NOTHING_DONE,
        slot: { ...DOWN, stable },
        sends,
        writes,
        seen,
        effects,
        cutAfter: crashAfter,
      }
    }
    assert(
      called.length === 0 || from.calls.every(({ op }) => op === 'read'),
      'a register is called while a write is in progress',
    )
    const calls = called.length === 0 ? from.calls : called
    const view = this.#protocol.view(state, NO_TIME)
    const isNew = was === null || !equalPlain(was, view)
    if (isNew) seen.push(this.#seen(view))
    const slot = { up: true, state, stable, timers: [...timers].sort(), calls }
    return { slot, sends, writes, seen, effects, cutAfter: null, view: isNew ? view : null, later: [] }
  }

  #seen(view: View): Observation {
    return { type: 'view', at: NO_TIME, node: this.identity.self, view, until: null }
  }

  #down(): Observation {
    return { type: 'down', at: NO_TIME, node: this.identity.self }
  }
}

const NOTHING_DONE = { sends: [], writes: [], seen: [], effects: [], cutAfter: null, view: null, later: [] }

/** The slot without the timer that fires or the call that is answered by this input. */
function withoutCall(slot: Slot, input: Input): Slot {
  if (input.type === 'timer') return { ...slot, timers: slot.timers.filter((name) => name !== input.name) }
  if (input.type !== 'register') return slot
  return { ...slot, calls: slot.calls.filter((call) => call !== input.call) }
}
