/** The lecture sentence by sentence, its message counts, and its errors. */
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
  it('announces itself without an election if it detects the failure and is the highest node left', () => {
    const { state, effects } = literal(3).step(following(4), detect(4), 0)
    expect(state.elected).toBe(3)
    expect(effects).toEqual([
      { type: 'send', to: 1, body: coordinator(3) },
      { type: 'send', to: 2, body: coordinator(3) },
      { type: 'output', event: { type: 'elected' } },
    ])
  })

  it('asks all higher nodes and sets a timeout T if it is not the highest', () => {
    const { state, effects } = literal(2).step(following(4), detect(4), 100)
    expect(state).toEqual({ mode: 'waitAnswer', elected: null, dead: [4], hasAnnounced: false })
    expect(effects).toEqual([
      { type: 'send', to: 3, body: ELECTION },
      { type: 'send', to: 4, body: ELECTION },
      { type: 'setTimer', name: 'answer', at: 110 },
    ])
  })

  it('becomes coordinator and notifies all lower nodes without an answer within T', () => {
    const waiting: BullyState = { ...FRESH, mode: 'waitAnswer' }
    const { state, effects } = literal(2).step(waiting, { type: 'timer', name: 'answer' }, 110)
    expect(state).toEqual({ ...FRESH, elected: 2 })
    expect(effects).toContainEqual({ type: 'send', to: 1, body: coordinator(2) })
  })

  it("sets a second timeout T' after an answer", () => {
    const waiting: BullyState = { ...FRESH, mode: 'waitAnswer' }
    const { state, effects } = literal(2).step(waiting, from(3, ANSWER), 105)
    expect(state.mode).toBe('waitCoordinator')
    expect(effects).toEqual([
      { type: 'stopTimer', name: 'answer' },
      { type: 'setTimer', name: 'coordinator', at: 135 },
    ])
    expect(literal(2).step(state, from(4, ANSWER), 106)).toEqual({ state, effects: [] })
  })

  it("starts another election without a coordinator within T'", () => {
    const waiting: BullyState = { ...FRESH, mode: 'waitCoordinator', dead: [4] }
    const { state, effects } = literal(2).step(waiting, { type: 'timer', name: 'coordinator' }, 200)
    expect(state).toEqual({ ...FRESH, mode: 'waitAnswer' })
    expect(effects.filter(({ type }) => type === 'send')).toHaveLength(2)
  })

  it('answers an election message, and starts an election if none is in progress', () => {
    const { state, effects } = literal(2).step(following(4), from(1, ELECTION), 0)
    expect(state.mode).toBe('waitAnswer')
    expect(effects[0]).toEqual({ type: 'send', to: 1, body: ANSWER })
    expect(literal(2).step(state, from(1, ELECTION), 1).effects).toEqual([
      { type: 'send', to: 1, body: ANSWER },
    ])
  })

  it('sets electd on a coordinator message', () => {
    const waiting: BullyState = { ...FRESH, mode: 'waitCoordinator' }
    const { state, effects } = literal(2).step(waiting, from(4, coordinator(4)), 0)
    expect(state).toEqual(following(4))
    expect(effects).toEqual([
      { type: 'stopTimer', name: 'coordinator' },
      { type: 'output', event: { type: 'following', leader: 4 } },
    ])
  })

  it('starts an election when it is inserted; the highest node announces itself', () => {
    expect(
      literal(2)
        .start(null, 0)
        .effects.map(({ type }) => type),
    ).toEqual(['send', 'send', 'setTimer'])
    expect(literal(4).start(null, 0).state.elected).toBe(4)
  })
})

describe('the repairs', () => {
  it('R1: a coordinator answers only the node that asks', () => {
    const leading: BullyState = { ...following(4), hasAnnounced: true }
    const { state, effects } = repaired(4).step(leading, from(2, ELECTION), 0)
    expect(state).toBe(leading)
    expect(effects).toEqual([
      { type: 'send', to: 2, body: ANSWER },
      { type: 'send', to: 2, body: coordinator(4) },
    ])
  })

  it('R2: a lower node that believes it leads is corrected, not followed', () => {
    const { state, effects } = repaired(3).step(following(4), from(2, coordinator(2)), 0)
    expect(state.elected).toBe(4)
    expect(effects).toEqual([{ type: 'send', to: 2, body: coordinator(4) }])
  })

  it('R3: ignores second-hand news about a dead coordinator, but not news from itself', () => {
    const state: BullyState = { ...FRESH, mode: 'waitAnswer', dead: [4] }
    expect(repaired(1).step(state, from(3, coordinator(4)), 0).state.elected).toBeNull()
    expect(repaired(1).step(state, from(4, coordinator(4)), 0).state).toEqual(following(4))
  })

  it('R4: a node that has announced a leader announces changes, and persists that before it announces', () => {
    const announced = repaired(3).step({ ...following(4) }, detect(4), 0)
    expect(announced.effects[0]).toEqual({ type: 'persist', stable: { hasAnnounced: true } })
    const deposed = repaired(3).step(announced.state, from(4, coordinator(4)), 0)
    expect(deposed.effects).toContainEqual({ type: 'send', to: 1, body: coordinator(4) })
    const reborn = repaired(3).start({ hasAnnounced: true }, 0)
    expect(repaired(3).step(reborn.state, from(4, coordinator(4)), 0).effects).toContainEqual({
      type: 'send',
      to: 2,
      body: coordinator(4),
    })
  })

  it('R5: a coordinator that was wrong about a failure corrects a lower peer, and yields to a higher one', () => {
    const leading: BullyState = { ...following(3), dead: [2, 4], hasAnnounced: true }
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

describe('message counts, where N includes the crashed node', () => {
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

  it('needs fewer messages when all detect at once, because a coordinator does not announce itself again (R1)', () => {
    const all = crashOfHighest(6, ids(5), { repaired: true })
    expect(all.messages.total).toBeLessThan(2 * 36 - 30 + 2)
    expect(all.leaders).toEqual([5])
  })
})

describe('what the explorer finds with three nodes, a crash and a recovery', () => {
  it('literal: permanent disagreement after six events', () => {
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

  it('repaired: no violation in a complete search, and a settled state stays reachable', () => {
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

  it('repaired, two crashes and two recoveries: no violation', () => {
    const budget = { crashes: 2, recoveries: 2, flips: 0, ticks: 0 }
    expect(exploring('bully', 3, { budget })).toMatchObject({
      complete: true,
      counterexample: null,
      states: 116_804,
      transitions: 425_606,
      progress: { verdict: 'held' },
    })
  })

  it('repaired, but on unordered links: another message may overtake the correction', () => {
    expect(exploring('bully', 3, { order: 'any' }).counterexample?.spec).toBe('agreement')
  })

  it('R4 must survive a crash: without stable data the disagreement returns', () => {
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
