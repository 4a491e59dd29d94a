import { describe, expect, it } from 'vitest'
import type { Plain, Protocol, Step } from './index.ts'
import { setTimer, strict } from './index.ts'

const follower = {
  role: 'follower',
  leader: null,
  token: null,
  until: null,
  members: null,
  detail: null,
} as const

function breaking(step: (state: Plain, now: number) => Step<Plain>): Protocol {
  return {
    start: () => ({ state: { n: 0 }, effects: [] }),
    step: (state, _input, now) => step(state, now),
    view: () => follower,
    shift: (state) => state,
  }
}

function stepOnce(protocol: Protocol): void {
  const checked = strict(protocol)
  const { state } = checked.start(null, 0)
  checked.step(state, { type: 'timer', name: 't' }, 1000)
}

describe('a strict protocol', () => {
  it('passes what keeps the contract', () => {
    const good = breaking((state, now) => ({
      state,
      effects: [setTimer('t', now + 5), setTimer('u', [now, now + 9])],
    }))
    expect(() => stepOnce(good)).not.toThrow()
  })

  it.each<[string, Protocol]>([
    ['state.n is NaN', breaking(() => ({ state: { n: Number.NaN }, effects: [] }))],
    ['state.n is undefined', breaking(() => ({ state: { n: undefined } as unknown as Plain, effects: [] }))],
    ['state.n[0] is undefined', breaking(() => ({ state: { n: listWithHole() }, effects: [] }))],
    ['state.n is not a plain object', breaking(() => ({ state: { n: new Map() as never }, effects: [] }))],
    ['changed nothing but returned a new state', breaking(() => ({ state: { n: 0 }, effects: [] }))],
    ['depends on the absolute time', breaking((_state, now) => ({ state: { n: now }, effects: [] }))],
    ['not deterministic', breaking(counting())],
    ['read only', breaking((state) => mutating(state))],
  ])('catches: %s', (why, protocol) => {
    expect(() => stepOnce(protocol)).toThrow(why)
  })

  it('catches a change deep inside a state that an earlier step made', () => {
    const deep = breaking((state) => {
      const { n, list } = state as { n: number; list?: { count: number }[] }
      if (list === undefined) return { state: { n, list: [{ count: 1 }] }, effects: [] }
      ;(list[0] as { count: number }).count += 1
      return { state: { n: n + 1, list }, effects: [] }
    })
    const checked = strict(deep)
    const { state } = checked.step(checked.start(null, 0).state, { type: 'timer', name: 't' }, 1000)
    expect(() => checked.step(state, { type: 'timer', name: 't' }, 2000)).toThrow('read only')
  })
})

function counting(): (state: Plain) => Step<Plain> {
  let calls = 0
  return () => ({ state: { n: ++calls }, effects: [] })
}

function mutating(state: Plain): Step<Plain> {
  ;(state as { n: number }).n += 1
  return { state, effects: [] }
}

function listWithHole(): Plain[] {
  const list: Plain[] = []
  list.length = 1
  return list
}
