import { describe, expect, it } from 'vitest'
import type { Picture } from '../engine/picture.ts'
import {
  act,
  actingInstant,
  extendBranch,
  firstBranch,
  scenarioOf,
  undone,
  whyFixed,
  withBranch,
  withoutBranch,
} from './branches.ts'
import type { Branch } from './types.ts'

const BASE = { protocol: 'bully', nodes: [1, 2, 3], events: [{ atMs: 50, crash: 3 }], untilMs: 300 }
const first = firstBranch(1, { name: 'first run', base: BASE, module: null })

function acted(branch: Branch, atMs: number, seenToMs: number, event: Parameters<typeof act>[1]) {
  return act(branch, event, { at: atMs * 1000, seenTo: seenToMs * 1000, freshId: 9 })
}

describe('acting', () => {
  it('at the latest instant that was seen continues the branch', () => {
    const { branch, isFork } = acted(first, 100, 100, { crash: 1 })
    expect(isFork).toBe(false)
    expect(branch.id).toBe(1)
    expect(scenarioOf(branch)['events']).toEqual([
      { atMs: 50, crash: 3 },
      { atMs: 100, crash: 1 },
    ])
  })

  it('earlier than what was seen forks, and leaves the branch as it was', () => {
    const { branch, isFork } = acted(first, 20, 250, { crash: 1 })
    expect(isFork).toBe(true)
    expect(branch).toMatchObject({ id: 9, parent: 1, forkedAt: 20_000, name: 'crash 1 at 20 ms' })
    expect(first.made).toEqual([])
  })

  it('drops later events made by hand, and keeps those of the scenario', () => {
    const before = acted(acted(first, 10, 0, { crash: 1 }).branch, 100, 10, { recover: 1 }).branch
    const { branch, isFork } = acted(before, 30, 100, { cut: [[1, 2]] })
    expect(isFork).toBe(true)
    expect(scenarioOf(branch)['events']).toEqual([
      { atMs: 10, crash: 1 },
      { atMs: 30, cut: [[1, 2]] },
      { atMs: 50, crash: 3 },
    ])
    expect(before.made).toHaveLength(2)
  })

  it('that is taken back no longer names the fork', () => {
    const { branch } = acted(first, 20, 250, { crash: 1 })
    expect(undone(branch)).toMatchObject({ name: 'before crash 1 at 20 ms', made: [] })
    expect(undone({ ...branch, name: 'mine' })).toMatchObject({ name: 'mine' })
  })

  it('late in the run prolongs it, so that the consequences are seen', () => {
    expect(scenarioOf(acted(first, 290, 290, { crash: 1 }).branch)['untilMs']).toBe(390)
    expect(scenarioOf(acted(first, 100, 100, { crash: 1 }).branch)['untilMs']).toBe(300)
  })

  it('takes place right after the moment at which the reader stands', () => {
    const picture = { moments: [{ at: 0 }, { at: 1000 }] } as unknown as Picture
    expect(actingInstant(picture, { at: 1000, moment: 1 })).toBe(1001)
    expect(actingInstant(picture, { at: 1500.7, moment: 1 })).toBe(1500)
  })

  it('is impossible in a schedule and in a recorded run', () => {
    expect(whyFixed(first)).toBeNull()
    expect(whyFixed({ ...first, source: 'trace' })).toMatch(/recorded run/)
    expect(whyFixed({ ...first, base: { ...BASE, schedule: [] } })).toMatch(/schedule/)
  })
})

describe('a branch', () => {
  it('can be taken back event by event', () => {
    const { branch } = acted(first, 100, 100, { crash: 1 })
    expect(undone(branch)?.made).toEqual([])
    expect(undone(first)).toBeNull()
  })

  it('can be made longer', () => {
    expect(scenarioOf(extendBranch(first, 200))['untilMs']).toBe(500)
    expect(scenarioOf(extendBranch(extendBranch(first, 200), 100))['untilMs']).toBe(600)
  })

  it('without events leaves the scenario as it was written', () => {
    const base = { protocol: 'gamma', nodes: [1, 2], untilMs: 10 }
    expect(scenarioOf(firstBranch(1, { name: '', base, module: null }))).toEqual(base)
  })
})

describe('the tree of branches', () => {
  const child = { ...first, id: 2, parent: 1 }
  const grandchild = { ...first, id: 3, parent: 2 }

  it('gives the children of a removed branch to its parent', () => {
    expect(withoutBranch([first, child, grandchild], 2)).toEqual([first, { ...grandchild, parent: 1 }])
    expect(withoutBranch([first], 7)).toEqual([first])
  })

  it('keeps the pictures of the newest branches only', () => {
    const picture = {} as Picture
    let branches: readonly Branch[] = []
    for (let id = 1; id <= 12; id++) branches = withBranch(branches, { ...first, id, picture })
    expect(branches).toHaveLength(12)
    expect(branches.filter((branch) => branch.picture !== null).map(({ id }) => id)).toEqual([
      7, 8, 9, 10, 11, 12,
    ])
  })
})
