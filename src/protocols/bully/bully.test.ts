/** The lecture sentence by sentence, its message counts, and what is wrong with it. */
import { describe, expect, it } from 'vitest'
import { exploring, ids, simulate } from '../../../test/support/run.ts'
import type { Definition, NodeId, PlainObject } from '../../core/index.ts'
import { bully } from './bully.ts'
import { bullyDefinition } from './index.ts'
import { ANSWER, type BullyMessage, coordinator, ELECTION } from './messages.ts'
import { type BullyState, FRESH } from './state.ts'

const TIMING = { answerTimeout: 10, coordinatorTimeout: 30 }

function literal(self: NodeId) {
  return bully({ self, nodes: [1, 2, 3, 4] }, { ...TIMING, repaired: false })
}
function repaired(self: NodeId) {
  return bully({ self, nodes: [1, 2, 3, 4] }, { ...TIMING, repaired: true })
}
const from = (sender: NodeId, body: BullyMessage) =>
  ({ type: 'message', from: sender, body, receipt: null }) as const
const detect = (of: NodeId) => ({ type: 'command', command: { do: 'detect', of } }) as const
const following = (leader: NodeId): BullyState => ({ ...FRESH, elected: leader })

describe('the lecture, sentence by sentence', () => {
  it('whoever detects the failure and is the highest left announces itself, without an election', () => {
    const { state, effects } = literal(3).step(following(4), detect(4), 0)
    expect(state.elected).toBe(3)
    expect(effects).toEqual([
      { type: 'send', to: 1, body: coordinator(3) },
      { type: 'send', to: 2, body: coordinator(3) },
      { type: 'output', event: { type: 'elected' } },
    ])
  })

  it('a lower process asks all higher ones and sets a timeout T', () => {
    const { state, effects } = literal(2).step(following(4), detect(4), 100)
    expect(state).toEqual({ mode: 'waitAnswer', elected: null, dead: [4], told: false })
    expect(effects).toEqual([
      { type: 'send', to: 3, body: ELECTION },
      { type: 'send', to: 4, body: ELECTION },
      { type: 'setTimer', name: 'answer', at: 110 },
    ])
  })

  it('no response within T: it takes the lead and tells all lower processes', () => {
    const waiting: BullyState = { ...FRESH, mode: 'waitAnswer' }
    const { state, effects } = literal(2).step(waiting, { type: 'timer', name: 'answer' }, 110)
    expect(state).toEqual({ ...FRESH, elected: 2 })
    expect(effects).toContainEqual({ type: 'send', to: 1, body: coordinator(2) })
  })

  it("an answer: it sets a second timeout T'", () => {
    const waiting: BullyState = { ...FRESH, mode: 'waitAnswer' }
    const { state, effects } = literal(2).step(waiting, from(3, ANSWER), 105)
    expect(state.mode).toBe('waitCoordinator')
    expect(effects).toEqual([
      { type: 'stopTimer', name: 'answer' },
      { type: 'setTimer', name: 'coordinator', at: 135 },
    ])
    expect(literal(2).step(state, from(4, ANSWER), 106)).toEqual({ state, effects: [] })
  })

  it("no coordinator within T': it begins another election", () => {
    const waiting: BullyState = { ...FRESH, mode: 'waitCoordinator', dead: [4] }
    const { state, effects } = literal(2).step(waiting, { type: 'timer', name: 'coordinator' }, 200)
    expect(state).toEqual({ ...FRESH, mode: 'waitAnswer' })
    expect(effects.filter(({ type }) => type === 'send')).toHaveLength(2)
  })

  it('an election message is answered, and begins another election if none is under way', () => {
    const { state, effects } = literal(2).step(following(4), from(1, ELECTION), 0)
    expect(state.mode).toBe('waitAnswer')
    expect(effects[0]).toEqual({ type: 'send', to: 1, body: ANSWER })
    expect(literal(2).step(state, from(1, ELECTION), 1).effects).toEqual([
      { type: 'send', to: 1, body: ANSWER },
    ])
  })

  it('a coordinator message sets electd', () => {
    const waiting: BullyState = { ...FRESH, mode: 'waitCoordinator' }
    const { state, effects } = literal(2).step(waiting, from(4, coordinator(4)), 0)
    expect(state).toEqual(following(4))
    expect(effects).toEqual([
      { type: 'stopTimer', name: 'coordinator' },
      { type: 'output', event: { type: 'following', leader: 4 } },
    ])
  })

  it('a process that is inserted starts an election; the highest announces itself', () => {
    expect(
      literal(2)
        .start(null, 0)
        .effects.map(({ type }) => type),
    ).toEqual(['send', 'send', 'setTimer'])
    expect(literal(4).start(null, 0).state.elected).toBe(4)
  })
})

describe('the repairs', () => {
  it('R1: a sitting coordinator answers whoever asks, and nobody else', () => {
    const leading: BullyState = { ...following(4), told: true }
    const { state, effects } = repaired(4).step(leading, from(2, ELECTION), 0)
    expect(state).toBe(leading)
    expect(effects).toEqual([
      { type: 'send', to: 2, body: ANSWER },
      { type: 'send', to: 2, body: coordinator(4) },
    ])
  })

  it('R2: a lower process that thinks it leads is corrected, not followed', () => {
    const { state, effects } = repaired(3).step(following(4), from(2, coordinator(2)), 0)
    expect(state.elected).toBe(4)
    expect(effects).toEqual([{ type: 'send', to: 2, body: coordinator(4) }])
  })

  it('R3: second-hand news of a dead coordinator is ignored; news from itself is not', () => {
    const state: BullyState = { ...FRESH, mode: 'waitAnswer', dead: [4] }
    expect(repaired(1).step(state, from(3, coordinator(4)), 0).state.elected).toBeNull()
    expect(repaired(1).step(state, from(4, coordinator(4)), 0).state).toEqual(following(4))
  })

  it('R4: whoever has told others passes changes on, and remembers so before it tells', () => {
    const announced = repaired(3).step({ ...following(4) }, detect(4), 0)
    expect(announced.effects[0]).toEqual({ type: 'persist', stable: { told: true } })
    const deposed = repaired(3).step(announced.state, from(4, coordinator(4)), 0)
    expect(deposed.effects).toContainEqual({ type: 'send', to: 1, body: coordinator(4) })
    const reborn = repaired(3).start({ told: true }, 0)
    expect(repaired(3).step(reborn.state, from(4, coordinator(4)), 0).effects).toContainEqual({
      type: 'send',
      to: 2,
      body: coordinator(4),
    })
  })

  it('R5: a coordinator that was wrong about a death tells a lower peer, and yields to a higher one', () => {
    const leading: BullyState = { ...following(3), dead: [2, 4], told: true }
    const lower = repaired(3).step(leading, { type: 'link', peer: 2, up: true }, 0)
    expect(lower.effects).toEqual([{ type: 'send', to: 2, body: coordinator(3) }])
    const higher = repaired(3).step(leading, { type: 'link', peer: 4, up: true }, 0)
    expect(higher.effects).toContainEqual({ type: 'send', to: 4, body: ELECTION })
  })
})

function crashOfHighest(n: number, detectors: readonly NodeId[], options: PlainObject) {
  return simulate({
    protocol: 'bully',
    nodes: ids(n),
    initial: { leader: n },
    options: { detector: 'none', ...options },
    network: { delayMs: 10 },
    events: [
      { atMs: 0, crash: n },
      ...detectors.map((node) => ({ atMs: 10, command: { node, do: 'detect', of: n } })),
    ],
    untilMs: 5000,
  })
}

describe('message counts, N counting the crashed one', () => {
  it.each([3, 4, 5, 6, 7, 8])('N = %i: best N-2, lowest detects N^2-N-1, all detect 2N^2-5N+2', (n) => {
    for (const form of [{ repaired: false }, { repaired: true }]) {
      const best = crashOfHighest(n, [n - 1], form)
      expect(best.messages).toEqual({ total: n - 2, byKind: { coordinator: n - 2 } })
      expect(best.leaders).toEqual([n - 1])
      const lowest = crashOfHighest(n, [1], form)
      expect(lowest.messages.total).toBe(n * n - n - 1)
      expect(lowest.leaders).toEqual([n - 1])
    }
    const all = crashOfHighest(n, ids(n - 1), { repaired: false })
    expect(all.messages.total).toBe(2 * n * n - 5 * n + 2)
  })

  it('a sitting coordinator that does not repeat itself (R1) needs fewer when all detect at once', () => {
    const all = crashOfHighest(6, ids(5), { repaired: true })
    expect(all.messages.total).toBeLessThan(2 * 36 - 30 + 2)
    expect(all.leaders).toEqual([5])
  })
})

describe('what the explorer finds, with three processes, a crash and a recovery', () => {
  it('to the letter: permanent disagreement after six events', () => {
    const { counterexample, complete } = exploring('bully', 3, { options: { repaired: false } })
    expect(complete).toBe(false)
    expect(counterexample).toMatchObject({ spec: 'agreement', why: '1 follows 2 but 2 follows 3' })
    expect(counterexample?.steps).toEqual([
      { node: 3, do: 'crash' },
      { node: 2, do: 'command', command: { do: 'detect', of: 3 } },
      { node: 3, do: 'recover' },
      { node: 1, do: 'deliver', from: 3 },
      { node: 1, do: 'deliver', from: 2 },
      { node: 2, do: 'deliver', from: 3 },
    ])
  })

  it('repaired: nothing, completely searched, and a settled state stays within reach', () => {
    const report = exploring('bully', 3)
    expect(report).toMatchObject({
      complete: true,
      counterexample: null,
      states: 477,
      transitions: 1186,
      progress: { verdict: 'held' },
    })
    expect(report.specs.every(({ verdict }) => verdict === 'held')).toBe(true)
    expect(report.goals.every(({ reached }) => reached)).toBe(true)
  })

  it('repaired, two crashes and two recoveries: nothing', () => {
    const budget = { crashes: 2, recoveries: 2, flips: 0, ticks: 0 }
    expect(exploring('bully', 3, { budget })).toMatchObject({
      complete: true,
      counterexample: null,
      states: 116_804,
      transitions: 425_606,
      progress: { verdict: 'held' },
    })
  })

  it('repaired, but on links that do not keep their order: the passed-on news may be overtaken', () => {
    expect(exploring('bully', 3, { order: 'any' }).counterexample?.spec).toBe('agreement')
  })

  it('R4 must survive a crash: a process that forgets that it told others brings the disagreement back', () => {
    const forgetful: Definition = {
      ...bullyDefinition,
      create(identity, options) {
        const protocol = bullyDefinition.create(identity, options)
        return { ...protocol, start: (_stable, now) => protocol.start(null, now) }
      },
    }
    const budget = { crashes: 2, recoveries: 2, flips: 0, ticks: 0 }
    expect(exploring('bully', 3, { budget, definition: forgetful }).counterexample?.spec).toBe('agreement')
  })
})
