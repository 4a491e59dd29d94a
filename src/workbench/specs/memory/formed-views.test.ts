/** Installed views, and which nodes must form the next one. */
import { describe, expect, it } from 'vitest'
import { downAt, outputAt, viewAt } from '../../../../test/support/traces.ts'
import type { NodeId, PlainObject } from '../../../core/index.ts'
import type { Observation } from '../../trace/index.ts'
import type { RunFacts } from '../spec.ts'
import { type FormedViews, formedViews, mayForm } from './formed-views.ts'
import {
  compareSeen,
  holdsMajority,
  isAlive,
  type SeenViewId,
  sameSeen,
  viewStateOf,
  viewStates,
  viewText,
} from './view-states.ts'

const NODES = [1, 2, 3, 4]
const RUN: RunFacts = { nodes: NODES, prefers: 'lowest', constants: {} }
const withConstants = (constants: RunFacts['constants']): RunFacts => ({ ...RUN, constants })
const DYNAMIC = withConstants({ dynamicQuorum: 1 })

const viewOf = (id: SeenViewId, ...members: readonly NodeId[]): PlainObject => ({
  id,
  members,
  lives: members.map(() => 1),
})
const installs = (
  node: NodeId,
  view: PlainObject | null,
  role: 'follower' | 'dead' = 'follower',
  attempts: readonly PlainObject[] = [],
): Observation => viewAt(0, node, role, { detail: { life: 1, view, attempts } })
const promises = (node: NodeId, id: SeenViewId, members: readonly NodeId[]): Observation =>
  outputAt(0, node, { type: 'promise', id, members })
const after = (...seen: readonly Observation[]): FormedViews =>
  seen.reduce((memory, each) => formedViews.next(memory, each), formedViews.begin(RUN))
const mayFormIn = (memory: FormedViews, part: readonly NodeId[], run: RunFacts): boolean =>
  mayForm(
    memory,
    memory.viewStates.filter(({ node }) => part.includes(node)),
    part,
    run,
  )

describe('the state of a node in its view', () => {
  it('takes defaults for details that are not shown', () => {
    const seen = viewAt(0, 1, 'candidate') as Observation & { readonly type: 'view' }
    expect(viewStateOf(seen)).toEqual({
      node: 1,
      up: true,
      role: 'candidate',
      life: 0,
      view: null,
      attempts: [],
      willing: true,
    })
  })

  it('is unwilling only if it says so', () => {
    const seen = viewAt(0, 1, 'leader', { detail: { willing: false } }) as Observation & {
      readonly type: 'view'
    }
    expect(viewStateOf(seen).willing).toBe(false)
  })

  it('is forgotten in a crash, and does not change by a repeated view', () => {
    const memory = viewStates.next(viewStates.begin(RUN), installs(1, viewOf([1, 1], 1)))
    expect(memory.map(isAlive)).toEqual([true, false, false, false])
    expect(viewStates.next(memory, installs(1, viewOf([1, 1], 1)))).toBe(memory)
    expect(viewStates.next(memory, downAt(0, 1))).toEqual(viewStates.begin(RUN))
    expect(viewStates.next(memory, installs(1, null, 'dead')).map(isAlive)).toEqual([
      false,
      false,
      false,
      false,
    ])
  })
})

describe('view ids', () => {
  it.each([
    [[1, 1], [1, 1], 0],
    [[2, 1], [1, 9], 1],
    [[1, 1], [1, 2], -1],
  ] as const)('orders %j against %j by number, then leader', (a, b, sign) => {
    expect(Math.sign(compareSeen(a, b))).toBe(sign)
    expect(sameSeen(a, b)).toBe(sign === 0)
  })

  it('prints a view, with incarnations other than the first', () => {
    expect(viewText({ id: [3, 2], members: [1, 2], lives: [1, 4] })).toBe('view 3.2 of 1, 2 (life 4)')
  })
})

describe('a majority', () => {
  it.each([
    [[1, 2, 3], [1, 2, 3, 4], false, true],
    [[1, 2], [1, 2, 3, 4], false, false],
    [[1, 2], [1, 2, 3, 4], true, true],
    [[3, 4], [1, 2, 3, 4], true, false],
    [[1, 5, 6], [1, 2, 3], true, false],
  ] as const)('of %j in %j, with the tie-breaker %j, is %j', (part, whole, tie, holds) => {
    expect(holdsMajority(part, whole, tie)).toBe(holds)
  })
})

describe('formed views', () => {
  it('keep the newest view that any node installed, also after its crash', () => {
    const memory = after(
      installs(1, viewOf([2, 1], 1, 2)),
      installs(2, viewOf([3, 2], 2, 3)),
      installs(3, viewOf([1, 3], 3)),
      downAt(1, 2),
    )
    expect(memory.last?.id).toEqual([3, 2])
    expect(memory.installed).toEqual([[2, 1], [3, 2], [1, 3], null])
  })

  it('collect promises by view, in id order, each node once', () => {
    const memory = after(
      promises(2, [3, 1], [1, 2]),
      promises(1, [2, 1], [1, 2]),
      promises(1, [3, 1], [1, 2]),
      promises(1, [3, 1], [1, 2]),
    )
    expect(memory.promised).toEqual([
      { id: [2, 1], members: [1, 2], by: [1] },
      { id: [3, 1], members: [1, 2], by: [1, 2] },
    ])
  })

  it('drop promises once every node has installed as new a view', () => {
    const promised = promises(1, [2, 1], NODES)
    const some = NODES.slice(0, 3).map((node) => installs(node, viewOf([2, 1], ...NODES)))
    expect(after(promised, ...some).promised).toHaveLength(1)
    expect(after(promised, ...some, installs(4, viewOf([2, 1], ...NODES))).promised).toEqual([])
  })

  it('stay the same object if nothing changes', () => {
    const memory = after(installs(1, viewOf([2, 1], 1, 2)))
    expect(formedViews.next(memory, installs(1, viewOf([2, 1], 1, 2)))).toBe(memory)
    expect(formedViews.next(memory, outputAt(0, 1, { type: 'elected' }))).toBe(memory)
  })
})

describe('nodes that must form a view', () => {
  const alive = after(installs(1, viewOf([1, 1], ...NODES)), installs(2, viewOf([1, 1], ...NODES)))

  it('include a living node, unless the protocol lets all or a quorum begin again', () => {
    const dead = after(installs(1, null, 'dead'), installs(2, null, 'dead'))
    expect(mayFormIn(alive, [1, 2], RUN)).toBe(true)
    expect(mayFormIn(dead, [1, 2], RUN)).toBe(false)
    expect(mayFormIn(dead, [1, 2], withConstants({ reinitQuorum: 1 }))).toBe(true)
    expect(mayFormIn(dead, [1, 2], withConstants({ reinitAll: 1 }))).toBe(false)
    expect(mayFormIn(dead, NODES, withConstants({ reinitAll: 1 }))).toBe(true)
  })

  it('are a majority of all nodes with a static quorum', () => {
    const run = withConstants({ staticQuorum: 1 })
    expect(mayFormIn(alive, [1, 2, 3], run)).toBe(true)
    expect(mayFormIn(alive, [1, 2], run)).toBe(false)
  })

  it('are a majority of the last view with a dynamic quorum', () => {
    const small = after(installs(1, viewOf([2, 1], 1, 2, 3)), installs(2, viewOf([2, 1], 1, 2, 3)))
    expect(mayFormIn(small, [1, 2], DYNAMIC)).toBe(true)
    expect(mayFormIn(small, [1], DYNAMIC)).toBe(false)
    expect(mayFormIn(alive, [1, 2], DYNAMIC)).toBe(false)
    expect(mayFormIn(alive, [1, 2], withConstants({ dynamicQuorum: 1, tie: 1 }))).toBe(true)
  })

  it('are excused if none of them knows the last view, and they lack a majority of the one they know', () => {
    const memory = after(
      installs(1, viewOf([1, 1], ...NODES)),
      installs(2, viewOf([1, 1], ...NODES)),
      installs(3, viewOf([2, 3], 1, 2, 3)),
    )
    expect(mayFormIn(memory, [1, 2], DYNAMIC)).toBe(false)
    expect(mayFormIn(memory, [1, 2, 3], DYNAMIC)).toBe(true)
  })

  it('are excused by an attempt that an absent proposer may have installed', () => {
    const attempt = { id: [2, 4], members: [3, 4] }
    const known = viewOf([1, 1], 3, 4)
    const both = (three: readonly PlainObject[], ...promised: readonly Observation[]): boolean => {
      const memory = after(installs(3, known, 'follower', three), ...promised)
      return mayFormIn(memory, [1, 2, 3], withConstants({ dynamicQuorum: 1, tie: 1 }))
    }
    const all = [promises(3, [2, 4], [3, 4]), promises(4, [2, 4], [3, 4])]
    expect(both([])).toBe(true)
    const blocking = { id: [2, 4], members: [4, 5, 3] }
    const open = [promises(3, [2, 4], [3]), promises(4, [2, 4], [3])]
    expect(both([blocking], ...open)).toBe(false)
    expect(both([blocking])).toBe(true)
    expect(both([attempt], ...all)).toBe(true)
  })
})
