/** Garcia-Molina's bully, phase by phase, for node 2 of three. */
import { describe, expect, it } from 'vitest'
import { type Effect, type NodeId, send, setTimer, stopTimer } from '../../core/index.ts'
import { bullyGm, type GmMessage, type GmState } from './bully-gm.ts'
import { rulesWith } from './defects.ts'

const TIMING = { timeout: 100, period: 500 }
const nodeOf = (self: NodeId) => bullyGm({ self, nodes: [1, 2, 3] }, TIMING, rulesWith('none'))
const node = nodeOf(2)
const hears = (state: GmState, from: NodeId, body: GmMessage, now = 0, of = node) =>
  of.step(state, { type: 'message', from, body, receipt: null }, now)
const fires = (state: GmState, name: string, now = 0, of = node) =>
  of.step(state, { type: 'timer', name }, now)
const answer = (
  to: 'areYouUp' | 'areYouNormal' | 'halt' | 'newCoordinator' | 'ready',
  yes = true,
): GmMessage => ({
  kind: 'answer',
  to,
  yes,
})
const outputs = (effects: readonly Effect<GmMessage>[]): readonly unknown[] =>
  effects.flatMap((effect) => (effect.type === 'output' ? [effect.event.type] : []))
const phase1 = node.start(null, 0).state
const phase2 = fires(phase1, 'phase', 100)
const phase3 = hears(phase2.state, 1, answer('halt'), 120)
const phase4 = hears(phase3.state, 1, answer('newCoordinator'), 140)
const normal = hears(phase4.state, 1, answer('ready'), 160)
const settled = (leader: NodeId): GmState => {
  const start = node.settled?.({ leader, members: [1, 2, 3] }, 0)
  if (start === undefined) throw new Error('bully-gm can start settled')
  return start.state
}

describe('an election', () => {
  it('asks all higher nodes first', () => {
    expect(node.start(null, 0)).toEqual({
      state: { ...phase1, phase: 1 },
      effects: [setTimer('period', 500), send(3, { kind: 'areYouUp' }), setTimer('phase', 100)],
    })
  })
  it('ends when a higher node answers', () => {
    const { state, effects } = hears(phase1, 3, answer('areYouUp'))
    expect([state.phase, effects]).toEqual([0, [stopTimer('phase')]])
  })
  it('halts all lower nodes if no higher node answers', () => {
    expect(phase2.state).toMatchObject({ status: 'Election', halted: 2, phase: 2 })
    expect(phase2.effects).toEqual([send(1, { kind: 'halt' }), setTimer('phase', 200)])
  })
  it('makes the node coordinator of the nodes that answered', () => {
    expect(phase3.state).toMatchObject({ status: 'Reorganization', coordinator: 2, up: [1], phase: 3 })
    expect(phase3.effects).toEqual([
      stopTimer('phase'),
      send(1, { kind: 'newCoordinator' }),
      setTimer('phase', 220),
    ])
  })
  it('distributes the task, and then leads', () => {
    expect(phase4.effects).toContainEqual(send(1, { kind: 'ready', d: 2 }))
    expect(phase4.state).toMatchObject({ d: 2, phase: 4, status: 'Reorganization' })
    expect(normal.state).toMatchObject({ status: 'Normal', coordinator: 2, phase: 0 })
    expect(outputs(normal.effects)).toEqual(['elected'])
  })
  it('needs no answers if all lower nodes are silent', () => {
    const { state, effects } = fires(phase2.state, 'phase', 200)
    expect(state).toMatchObject({ status: 'Normal', coordinator: 2, up: [] })
    expect(outputs(effects)).toEqual(['elected'])
  })
  it.each([
    ['newCoordinator', phase3.state],
    ['ready', phase4.state],
  ])('starts again if a node does not answer %s', (_what, state) => {
    expect(fires(state, 'phase', 300).state.phase).toBe(1)
  })
  it('ignores answers of another phase', () => {
    expect(hears(phase3.state, 1, answer('halt'))).toEqual({ state: phase3.state, effects: [] })
  })
  it('of the highest node halts the others at once, and of a single node ends at once', () => {
    expect(nodeOf(3).start(null, 0).state.phase).toBe(2)
    const alone = bullyGm({ self: 1, nodes: [1] }, TIMING, rulesWith('none'))
    expect(alone.start(null, 0).state).toMatchObject({ status: 'Normal', coordinator: 1 })
  })
})

describe('a halt', () => {
  const halted = hears(phase1, 3, { kind: 'halt' }, 50)

  it("ends the node's own election, and is answered", () => {
    expect(halted.state).toMatchObject({ status: 'Election', halted: 3, isBound: true, phase: 0, up: [] })
    expect(halted.effects).toEqual([
      stopTimer('phase'),
      stopTimer('silence'),
      setTimer('bound', 150),
      send(3, answer('halt')),
    ])
  })
  it('deposes a leader', () => {
    expect(outputs(hears(settled(2), 3, { kind: 'halt' }).effects)).toEqual(['demoted'])
  })
  it('of a lower node does not replace that of a higher node while it is binding', () => {
    expect(hears(halted.state, 1, { kind: 'halt' })).toEqual({ state: halted.state, effects: [] })
    const free = fires(halted.state, 'bound', 150).state
    expect(hears(free, 1, { kind: 'halt' }).state.halted).toBe(1)
    const defective = bullyGm({ self: 2, nodes: [1, 2, 3] }, TIMING, rulesWith('obey-last-halt'))
    expect(hears(halted.state, 1, { kind: 'halt' }, 0, defective).state.halted).toBe(1)
  })
  it('is followed by the coordinator and its task, in this order and from this node only', () => {
    expect(hears(halted.state, 1, { kind: 'newCoordinator' }).effects).toEqual([])
    expect(hears(halted.state, 3, { kind: 'ready', d: 3 }).effects).toEqual([])
    const led = hears(halted.state, 3, { kind: 'newCoordinator' })
    expect(led.state).toMatchObject({ status: 'Reorganization', coordinator: 3 })
    expect(led.effects).toEqual([send(3, answer('newCoordinator'))])
    const ready = hears(led.state, 3, { kind: 'ready', d: 3 })
    expect(ready.state).toMatchObject({ status: 'Normal', d: 3 })
    expect(outputs(ready.effects)).toEqual(['following'])
  })
})

describe('questions', () => {
  it('are answered in every state', () => {
    expect(hears(phase1, 1, { kind: 'areYouUp' }).effects).toEqual([send(1, answer('areYouUp'))])
    expect(hears(phase1, 1, { kind: 'areYouNormal' }).effects).toEqual([
      send(1, answer('areYouNormal', false)),
    ])
    expect(hears(settled(3), 1, { kind: 'areYouNormal' }).effects).toEqual([send(1, answer('areYouNormal'))])
  })
})

describe('the check of every period', () => {
  it('of the coordinator asks whether all are Normal, and starts an election if one is not', () => {
    expect(fires(settled(2), 'period', 500).effects).toEqual([
      setTimer('period', 1000),
      send(1, { kind: 'areYouNormal' }),
      send(3, { kind: 'areYouNormal' }),
    ])
    expect(hears(settled(2), 1, answer('areYouNormal', false)).state.phase).toBe(1)
    expect(hears(settled(2), 1, answer('areYouNormal')).state.phase).toBe(0)
  })
  it('of another node asks the coordinator, and starts an election if it is silent', () => {
    const asked = fires(settled(3), 'period', 500)
    expect(asked.effects).toEqual([
      setTimer('period', 1000),
      send(3, { kind: 'areYouUp' }),
      setTimer('silence', 600),
    ])
    expect(hears(asked.state, 3, answer('areYouUp')).effects).toEqual([stopTimer('silence')])
    expect(fires(asked.state, 'silence', 600).state.phase).toBe(1)
  })
  it('of a node without a coordinator starts an election', () => {
    const waiting = hears(phase1, 3, answer('areYouUp')).state
    expect(fires(waiting, 'period', 500).state.phase).toBe(1)
  })
  it('does not disturb an election in progress', () => {
    expect(fires(phase3.state, 'period', 500)).toEqual({
      state: phase3.state,
      effects: [setTimer('period', 1000)],
    })
    expect(fires(phase3.state, 'silence', 500).effects).toEqual([])
    expect(node.step(phase3.state, { type: 'command', command: { do: 'election' } }, 0).effects).toEqual([])
  })
})

it('a node shows a leader only while it is Normal', () => {
  expect(node.view(phase3.state, 0)).toMatchObject({
    role: 'candidate',
    leader: null,
    detail: { coordinator: 2 },
  })
  expect(node.view(normal.state, 0)).toMatchObject({ role: 'leader', leader: 2 })
  expect(node.view(settled(3), 0)).toMatchObject({ role: 'follower', leader: 3 })
})
