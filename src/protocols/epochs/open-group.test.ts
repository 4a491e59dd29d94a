import { describe, expect, it } from 'vitest'
import type { Effect, Input, NodeId, Plain, RegisterCall } from '../../core/index.ts'
import { type OpenCommand, type OpenState, openEpochs, openInsight } from './open-group.ts'
import { type EpochsOptions, epochsOptions } from './options.ts'

const OPTIONS: EpochsOptions = epochsOptions().parse({ periodMs: 200, accessMs: 5 })

/** A node whose register calls the test answers. */
class Hand {
  readonly #protocol
  state: OpenState
  now = 1_000_000
  calls: RegisterCall[] = []
  outputs: string[] = []
  timers = new Map<string, number>()

  constructor(members: readonly NodeId[]) {
    this.#protocol = openEpochs('b', members, OPTIONS)
    const { state, effects } = this.#protocol.start(null, this.now)
    this.state = state
    this.#carryOut(effects)
  }

  #carryOut(effects: readonly Effect[]): void {
    for (const effect of effects) {
      if (effect.type === 'register') this.calls.push(effect.call)
      if (effect.type === 'output') this.outputs.push(effect.event.type)
      if (effect.type === 'stopTimer') this.timers.delete(effect.name)
      if (effect.type === 'setTimer')
        this.timers.set(effect.name, typeof effect.at === 'number' ? effect.at : effect.at[1])
    }
  }

  take(input: Input<never, OpenCommand>): void {
    const { state, effects } = this.#protocol.step(this.state, input, this.now)
    this.state = state
    this.#carryOut(effects)
  }

  members(...nodes: readonly NodeId[]): void {
    this.take({ type: 'command', command: { do: 'members', nodes } })
  }

  /** Answers all calls, each with the content of its register. */
  answer(holds: { readonly [of: string]: Plain } = {}): void {
    const asked = this.calls
    this.calls = []
    for (const call of asked) {
      const value = call.op === 'read' ? (holds[String(call.of)] ?? null) : null
      this.take({ type: 'register', call, outcome: 'ok', value })
    }
  }

  fire(): void {
    const [next] = [...this.timers].sort(([, a], [, b]) => a - b)
    if (next === undefined) throw new Error('no timer is set')
    this.timers.delete(next[0])
    this.now = Math.max(this.now, next[1])
    this.take({ type: 'timer', name: next[0] })
  }

  /** Answers calls and fires timers until the condition holds. */
  until(isReached: () => boolean): void {
    for (let steps = 0; !isReached() && steps < 100; steps++) {
      if (this.calls.length > 0) this.answer()
      else this.fire()
    }
    if (!isReached()) throw new Error('the condition was never reached')
  }

  asked(): readonly NodeId[] {
    return this.calls.flatMap((call) => (call.op === 'read' ? [call.of] : []))
  }
}

const ZEROS = { inc: 1, lctr: 0, lbal: 0, led: 0, term: 0, gone: false }

describe('a group of all nodes that have a register', () => {
  it('makes a node that is alone read a round before it leads, so that it notices nodes that join', () => {
    const node = new Hand(['b'])
    node.until(() => node.state.inner.phase === 2 && node.state.inner.diskWritten)
    expect(node.asked()).toEqual([''])
    expect(node.outputs).not.toContain('elected')
    node.answer()
    expect(node.outputs).toContain('elected')
  })

  it('reads a node that joins during a round before the round is complete', () => {
    const node = new Hand(['b'])
    node.until(() => node.state.inner.phase === 2 && node.state.inner.diskWritten)
    const late = node.calls
    node.calls = []
    node.members('b', 'c')
    expect(node.asked()).toEqual(['c'])
    // The earlier calls belong to an earlier round.
    for (const call of late) node.take({ type: 'register', call, outcome: 'ok', value: null })
    expect(node.outputs).not.toContain('elected')
    node.answer({ c: { ctr: 7, pbal: 1, bal: 0, val: null, more: ZEROS } })
    expect(node.state.inner.status).toBe('Suspended')
  })

  it('keeps the leader while nodes join and leave, and forgets nodes that left', () => {
    const node = new Hand(['a', 'b'])
    node.until(() => node.state.inner.time?.lease?.acting === true)
    const { lease } = node.state.inner.time ?? {}
    node.members('a', 'b', 'c')
    node.members('b', 'c')
    expect(node.state.inner.time?.lease).toEqual(lease)
    expect(node.state.inner.time?.seen.map(({ of }) => of)).not.toContain('a')
    node.members('c', 'b')
    expect(node.calls.filter(({ op }) => op === 'read')).toEqual([])
  })

  it('tells a follower until when the leader leads, and with which token', () => {
    const node = new Hand(['a', 'b'])
    node.take({ type: 'command', command: { do: 'campaign', willing: false, lapse: false } })
    node.until(() => node.asked().includes('a'))
    node.answer({
      a: { ctr: 6, pbal: 1, bal: 1, val: 'a', more: { ...ZEROS, lctr: 6, lbal: 1, led: 5, term: 3 } },
    })
    const { token, leadUntil } = openInsight(node.state, OPTIONS)
    expect([token, leadUntil !== null && leadUntil > node.now]).toEqual([3, true])
    // It does not become a candidate, even if no counter ever advances.
    const { ctr } = node.state.inner
    for (let steps = 0; steps < 60; steps++) {
      if (node.calls.length > 0)
        node.answer({
          a: { ctr: 6, pbal: 1, bal: 1, val: 'a', more: { ...ZEROS, lctr: 6, lbal: 1, led: 5, term: 3 } },
        })
      else node.fire()
    }
    expect(node.state.inner.ctr).toBe(ctr)
  })

  it('ends the term at once when a leader steps down during a renewal, and then releases the lease in the register', () => {
    const node = new Hand(['a', 'b'])
    node.until(() => node.state.inner.writing === 'renewal')
    node.take({ type: 'command', command: { do: 'stepDown' } })
    expect(node.outputs.at(-1)).toBe('demoted')
    expect(node.state.inner.writing).toBe('renewal')
    node.answer()
    expect([node.state.inner.status, node.state.inner.ctr]).toEqual(['Suspended', 2])
    expect(node.calls).toEqual([
      expect.objectContaining({
        op: 'write',
        value: expect.objectContaining({
          ctr: 2,
          val: 'b',
          more: expect.objectContaining({ led: 1, term: 1, lctr: 0, lbal: 0 }) as object,
        }) as object,
      }),
    ])
    node.answer()
    expect([node.calls, node.state.inner.writing]).toEqual([[], null])
  })

  it('does not count a reply to a call from a larger group in the current round', () => {
    const node = new Hand(['a', 'b', 'c', 'd'])
    node.until(() => node.calls.length === 3)
    const asked = node.calls
    node.calls = []
    node.members('a', 'b', 'c')
    expect(node.calls.map((call) => call.op === 'read' && call.of)).toEqual(['a', 'c'])
    const before = node.state
    for (const call of asked) node.take({ type: 'register', call, outcome: 'ok', value: null })
    expect(node.state).toBe(before)
  })
})
