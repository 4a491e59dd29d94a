import { describe, expect, it } from 'vitest'
import type { Protocol } from '../../core/index.ts'
import {
  changeTenant,
  findTenant,
  shiftTenant,
  type Tenant,
  type Timer,
  withoutTimer,
  withTimer,
} from './tenant.ts'

const tenant = (name: string, change: Partial<Tenant> = {}): Tenant => ({
  name,
  spec: {},
  state: 0,
  timers: [],
  due: null,
  term: null,
  draws: 0,
  strangers: [],
  heldUntil: null,
  ...change,
})

describe('the timers of a group', () => {
  const set = (...timers: readonly (readonly [string, number])[]): readonly Timer[] =>
    timers.reduce<readonly Timer[]>((all, [name, at]) => withTimer(all, name, at), [])
  const shown = (timers: readonly Timer[]): string => timers.map(({ name, at }) => `${name}${at}`).join(' ')

  it('are sorted by deadline, then by name, in any order of setting', () => {
    expect(shown(set(['b', 5], ['a', 5], ['c', 1], ['d', 9]))).toBe('c1 a5 b5 d9')
    expect(shown(set(['d', 9], ['c', 1], ['b', 5], ['a', 5]))).toBe('c1 a5 b5 d9')
  })

  it('have one deadline per name: the last one', () => {
    expect(shown(set(['a', 5], ['b', 6], ['a', 7]))).toBe('b6 a7')
  })

  it('are the same list if the timer that is stopped was not set', () => {
    const timers = set(['a', 5], ['b', 6])
    expect(shown(withoutTimer(timers, 'a'))).toBe('b6')
    expect(withoutTimer(timers, 'z')).toBe(timers)
  })
})

describe('a group', () => {
  it('is found by name among any number of groups', () => {
    for (let size = 0; size <= 9; size++) {
      const names = Array.from({ length: size }, (_, place) => `g${place}`)
      const all = names.map((name) => tenant(name))
      expect(names.map((name) => findTenant(all, name))).toEqual(names.map((_, place) => place))
      expect([findTenant(all, 'a'), findTenant(all, 'g00'), findTenant(all, 'z')]).toEqual([-1, -1, -1])
    }
  })

  it('keeps what a change does not name, and takes null where it says null', () => {
    const before = tenant('g', { state: 4, due: 7, heldUntil: 9, draws: 2, timers: [{ name: 't', at: 7 }] })
    expect(changeTenant(before, {})).toEqual(before)
    expect(changeTenant(before, { state: null, due: null, heldUntil: null, timers: [] })).toEqual({
      ...before,
      state: null,
      due: null,
      heldUntil: null,
      timers: [],
    })
  })

  it('moves every instant that it holds when time is shifted, and nothing else', () => {
    const protocol = { shift: (state: number, by: number) => state + by } as unknown as Protocol
    const stranger = { peer: 2, config: 5, notifiedAt: 100, isReported: true }
    const before = tenant('g', {
      state: 1000,
      timers: [{ name: 't', at: 50 }],
      due: 60,
      heldUntil: 70,
      draws: 3,
      strangers: [stranger],
    })
    expect(shiftTenant(before, protocol, 5)).toEqual({
      ...before,
      state: 1005,
      timers: [{ name: 't', at: 55 }],
      due: 65,
      heldUntil: 75,
      strangers: [{ ...stranger, notifiedAt: 105 }],
    })
    expect(shiftTenant(tenant('g'), protocol, 5)).toEqual(tenant('g', { state: 5 }))
  })
})
