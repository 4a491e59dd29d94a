/** The Invitation Algorithm, step by step, for node 2 of three. */
import { describe, expect, it } from 'vitest'
import { type Effect, type NodeId, persist, send, setTimer } from '../../core/index.ts'
import { type InvitationTiming, invitation } from './invitation.ts'
import type { Group, InvitationMessage } from './messages.ts'
import { change, clearPending, createState, type InvitationState, leaderOf, withSeen } from './state.ts'

const TIMING: InvitationTiming = {
  policy: 'strict',
  checkPeriod: 1000,
  timeoutPeriod: 700,
  queryTimeout: 50,
  acceptWindow: 60,
  acceptTimeout: 70,
  readyTimeout: 80,
  priorityDelay: 10,
  resends: 1,
  jitter: 0,
  checkPhase: null,
  stableCounter: true,
}
const nodeWith = (change_: Partial<InvitationTiming> = {}) =>
  invitation({ self: 2, nodes: [1, 2, 3] }, { ...TIMING, ...change_ })
const node = nodeWith()
type Node = typeof node
const hears = (state: InvitationState, from: NodeId, body: InvitationMessage, now = 0, of: Node = node) =>
  of.step(state, { type: 'message', from, body, receipt: null }, now)
const fires = (state: InvitationState, name: string, now = 0, of: Node = node) =>
  of.step(state, { type: 'timer', name }, now)
const sends = (
  effects: readonly Effect<InvitationMessage, never>[] | readonly Effect[],
): readonly unknown[] =>
  (effects as readonly Effect[]).flatMap((effect) =>
    effect.type === 'send' ? [[effect.to, effect.body.kind]] : [],
  )
const group = (coordinator: NodeId, counter: number): Group => ({ coordinator, counter })
const invite = (given: Group): InvitationMessage => ({ kind: 'invitation', group: given })
const alone = node.start(null, 0).state

/** A coordinator that has found these coordinators. */
const asked = node.step(alone, { type: 'command', command: { do: 'check' } }, 0)
const found = (of: readonly NodeId[], by: Node = node) =>
  fires(
    of.reduce(
      (state, from) => hears(state, from, { kind: 'reply', query: 1, yes: true }, 0, by).state,
      asked.state,
    ),
    'query',
    50,
    by,
  )
const merging = found([1])
const OWN = group(2, 2)
const accepted = hears(merging.state, 1, { kind: 'accept', group: OWN })
const reorganizing = fires(accepted.state, 'accept window', 110)

describe('a start', () => {
  it('forms a group of one, under a counter that was never used', () => {
    expect(alone).toMatchObject({ status: 'Normal', group: group(2, 1), counter: 1, up: [] })
    const again = node.start({ counter: 4 }, 0)
    expect(again.state.group).toEqual(group(2, 5))
    expect(again.effects).toContainEqual(persist({ counter: 5 }))
    expect(again.effects).toContainEqual(setTimer('check', 1000))
  })
  it('forgets its counter if it is volatile', () => {
    const forgetful = nodeWith({ stableCounter: false }).start({ counter: 4 }, 0)
    expect(forgetful.state.group).toEqual(group(2, 1))
    expect(forgetful.effects.some(({ type }) => type === 'persist')).toBe(false)
  })
  it('draws its first check and each later one within the jitter', () => {
    const jittery = nodeWith({ jitter: 0.1 })
    expect(jittery.start(null, 0).effects).toContainEqual(setTimer('check', [0, 1000]))
    expect(fires(alone, 'check', 100, jittery).effects[0]).toEqual(setTimer('check', [1000, 1200]))
    expect(nodeWith({ checkPhase: 30 }).start(null, 0).effects).toContainEqual(setTimer('check', 30))
  })
})

describe('a check', () => {
  it('asks all other nodes, one check at a time', () => {
    expect(sends(asked.effects)).toEqual([
      [1, 'areYouCoordinator'],
      [3, 'areYouCoordinator'],
    ])
    expect(node.step(asked.state, { type: 'command', command: { do: 'check' } }, 0).effects).toEqual([])
  })
  it('counts answers to this check only', () => {
    const late = hears(asked.state, 1, { kind: 'reply', query: 9, yes: true }).state
    const no = hears(late, 3, { kind: 'reply', query: 1, yes: false }).state
    expect(no.query).toEqual({ yes: [] })
    expect(fires(no, 'query').state).toEqual({ ...asked.state, query: null })
  })
  it('invites the lower coordinators that it found', () => {
    expect(merging.state).toMatchObject({ status: 'Election', group: OWN, up: [] })
    expect(sends(merging.effects)).toEqual([[1, 'invitation']])
    expect(merging.effects.at(-2)).toEqual(setTimer('accept window', 110))
  })
  it('leaves the invitation to a higher coordinator, with the strict policy', () => {
    expect(found([1, 3]).state).toMatchObject({ status: 'Normal', group: group(2, 1) })
  })
  it('waits for a higher coordinator, and then invites anyway, with the soft policy', () => {
    const soft = nodeWith({ policy: 'soft' })
    const waiting = found([1, 3], soft)
    expect(waiting.effects).toEqual([setTimer('priority', 60)])
    expect(sends(fires(waiting.state, 'priority', 60, soft).effects)).toEqual([
      [1, 'invitation'],
      [3, 'invitation'],
    ])
  })
})

describe('a coordinator that invites', () => {
  it('accepts members until its window ends', () => {
    expect(accepted.state.up).toEqual([1])
    expect(accepted.effects).toEqual([send(1, { kind: 'answer', to: 'accept', group: OWN, yes: true })])
    const late = hears(reorganizing.state, 3, { kind: 'accept', group: OWN })
    expect(late.effects).toEqual([send(3, { kind: 'answer', to: 'accept', group: OWN, yes: false })])
    const again = hears(reorganizing.state, 1, { kind: 'accept', group: OWN })
    expect(again.effects).toEqual([send(1, { kind: 'answer', to: 'accept', group: OWN, yes: true })])
  })
  it('refuses members of another group', () => {
    const wrong = hears(merging.state, 1, { kind: 'accept', group: group(2, 1) })
    expect(wrong.effects).toEqual([send(1, { kind: 'answer', to: 'accept', group: group(2, 1), yes: false })])
  })
  it('is Normal at once if no node accepted', () => {
    expect(fires(merging.state, 'accept window').state).toMatchObject({ status: 'Normal', up: [] })
  })
  it('distributes the task, and is Normal when all are ready', () => {
    expect(reorganizing.effects).toEqual([
      send(1, { kind: 'ready', group: OWN, d: 2 }),
      setTimer('ready', 190),
    ])
    const done = hears(reorganizing.state, 1, { kind: 'answer', to: 'ready', group: OWN, yes: true })
    expect(done.state).toMatchObject({ status: 'Normal', up: [1], unready: [] })
  })
  it('sends the task again, and then leaves out members that are silent', () => {
    const again = fires(reorganizing.state, 'ready', 190)
    expect(sends(again.effects)).toEqual([[1, 'ready']])
    expect(fires(again.state, 'ready', 270).state).toMatchObject({ status: 'Normal', up: [] })
  })
  it('disbands its group if one member is silent and nothing is sent again', () => {
    const once = nodeWith({ resends: 0 })
    expect(fires(reorganizing.state, 'ready', 190, once).state).toMatchObject({
      status: 'Normal',
      group: group(2, 3),
    })
  })
})

describe('an invitation', () => {
  const THEIRS = group(3, 8)
  const joining = hears(alone, 3, invite(THEIRS), 10)

  it('of a higher coordinator is accepted, and forwarded to the members', () => {
    expect(joining.state).toMatchObject({ status: 'Election', group: THEIRS, seen: [[3, 8]] })
    expect(sends(joining.effects)).toEqual([[3, 'accept']])
    const leading = change(alone, { up: [1] })
    expect(sends(hears(leading, 3, invite(THEIRS)).effects)).toEqual([
      [1, 'invitation'],
      [3, 'accept'],
    ])
  })
  it.each([
    ['a lower coordinator', alone, 1, group(1, 8)],
    ['the node itself', alone, 3, group(2, 8)],
    ['a group that is not newer', change(alone, { seen: [[3, 8]] }), 3, THEIRS],
    ['any node during an election', merging.state, 3, THEIRS],
  ])('of %s is ignored', (_what, state, from, given) => {
    expect(hears(state, from, invite(given))).toEqual({ state, effects: [] })
  })
  it('of a lower coordinator is accepted with the soft policy', () => {
    const soft = nodeWith({ policy: 'soft' })
    expect(hears(alone, 1, invite(group(1, 8)), 0, soft).state.group).toEqual(group(1, 8))
  })
  it('leads into the group when the coordinator confirms, and ends alone when it refuses', () => {
    const yes = hears(joining.state, 3, { kind: 'answer', to: 'accept', group: THEIRS, yes: true })
    expect(yes.state.status).toBe('Reorganization')
    const ready = hears(yes.state, 3, { kind: 'ready', group: THEIRS, d: 3 })
    expect(ready.state).toMatchObject({ status: 'Normal', d: 3 })
    expect(ready.effects[0]).toEqual(send(3, { kind: 'answer', to: 'ready', group: THEIRS, yes: true }))
    const no = hears(joining.state, 3, { kind: 'answer', to: 'accept', group: THEIRS, yes: false })
    expect(no.state).toMatchObject({ status: 'Normal', group: group(2, 2) })
  })
  it('is accepted again if the answer is late, and then given up', () => {
    const again = fires(joining.state, 'accept', 80)
    expect(sends(again.effects)).toEqual([[3, 'accept']])
    expect(fires(again.state, 'accept', 150).state.group).toEqual(group(2, 2))
  })
})

describe('a member', () => {
  const THEIRS = group(3, 8)
  const member = change(alone, { group: THEIRS, d: 3 })
  const asking = fires(member, 'timeout', 700)

  it('asks its coordinator whether it is still in the group', () => {
    expect(asking.state.misses).toBe(0)
    expect(sends(asking.effects)).toEqual([[3, 'areYouThere']])
    const yes = hears(asking.state, 3, { kind: 'replyThere', group: THEIRS, yes: true })
    expect(yes.state.misses).toBeNull()
  })
  it('forms its own group after no, or after silence', () => {
    const no = hears(asking.state, 3, { kind: 'replyThere', group: THEIRS, yes: false })
    expect(no.state.group).toEqual(group(2, 2))
    const silent = fires(asking.state, 'there', 750)
    expect(silent.state.misses).toBe(1)
    expect(fires(silent.state, 'there', 800).state.group).toEqual(group(2, 2))
  })
  it('is in the group if its coordinator lists it', () => {
    const leader = change(alone, { up: [1] })
    const there = (from: NodeId, given: Group) =>
      hears(leader, from, { kind: 'areYouThere', group: given }).effects
    expect(there(1, group(2, 1))).toEqual([send(1, { kind: 'replyThere', group: group(2, 1), yes: true })])
    expect(there(3, group(2, 1))).toEqual([send(3, { kind: 'replyThere', group: group(2, 1), yes: false })])
    expect(there(1, group(2, 9))).toEqual([send(1, { kind: 'replyThere', group: group(2, 9), yes: false })])
  })
})

describe('the state', () => {
  it('keeps the last counter of each coordinator, sorted', () => {
    expect(
      withSeen(
        [
          [1, 4],
          [3, 2],
        ],
        group(3, 5),
      ),
    ).toEqual([
      [1, 4],
      [3, 5],
    ])
    expect(withSeen([[3, 2]], group(1, 1))).toEqual([
      [1, 1],
      [3, 2],
    ])
  })
  it('has a leader only while it is Normal', () => {
    expect([leaderOf(alone), leaderOf(merging.state)]).toEqual([2, null])
  })
  it('ends all operations in progress together', () => {
    const busy = change(createState(2), {
      query: { yes: [1] },
      found: [3],
      repeats: 2,
      unready: [1],
      misses: 1,
    })
    expect(clearPending(busy)).toEqual(createState(2))
  })
})
