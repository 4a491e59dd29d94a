import { describe, expect, it } from 'vitest'
import { adjustSum, hashRow, mixBits, sumOf } from './hash.ts'
import { Interner, ListInterner } from './intern.ts'
import {
  crashBit,
  eventsOf,
  makeSleepSet,
  moverOf,
  NO_SLEEP_SET,
  registerOf,
  sleepingCrashes,
  WROTE,
} from './sleep-sets.ts'

describe('interning', () => {
  it('gives equal values equal ids, in the order of their first use', () => {
    const interner = new Interner<{ readonly a: number; readonly b?: number }>()
    expect(interner.idOf({ a: 1, b: 2 })).toBe(0)
    expect(interner.idOf({ a: 2 })).toBe(1)
    expect(interner.idOf({ b: 2, a: 1 })).toBe(0)
    expect(interner.valueOf(1)).toEqual({ a: 2 })
    expect(interner.size).toBe(2)
    expect(interner.bytes).toBeGreaterThan(0)
  })

  it('does not confuse lists with the same digits', () => {
    const lists = new ListInterner()
    expect([lists.idOf([1, 23]), lists.idOf([12, 3]), lists.idOf([]), lists.idOf([1, 23])]).toEqual([
      0, 1, 2, 0,
    ])
    expect(lists.listOf(1)).toEqual([12, 3])
  })
})

describe('the hash of a row', () => {
  const row = Int32Array.from([5, 0, 7, 9])

  it('adjusts by the change of a column', () => {
    const changed = row.with(2, 100)
    expect(adjustSum(sumOf(row, 0, 4), 2, 93)).toBe(sumOf(changed, 0, 4))
    expect(hashRow(changed, 0, 4)).toBe(mixBits(sumOf(changed, 0, 4)))
  })

  it('depends on the order of the columns', () => {
    expect(hashRow(row, 0, 4)).not.toBe(hashRow(row.toReversed(), 0, 4))
  })

  it('spreads neighbouring rows over the low bits', () => {
    const low = new Set<number>()
    for (let value = 0; value < 256; value++) low.add(hashRow(Int32Array.from([value, 1]), 0, 2) & 255)
    expect(low.size).toBeGreaterThan(128)
  })
})

describe('a sleep set', () => {
  it('encodes the last step: its node, the register it read, its observations', () => {
    for (const [node, register] of [
      [0, 0],
      [2, 1],
      [4, 4],
    ] as const) {
      const set = makeSleepSet(5, node, register, 77, WROTE)
      expect([moverOf(5, set), registerOf(5, set), eventsOf(set), set & WROTE]).toEqual([
        node,
        register,
        77,
        WROTE,
      ])
    }
  })

  it('is unknown for too many nodes or observations: then all steps are taken', () => {
    expect(makeSleepSet(6, 0, 0, 0, 0)).toBe(NO_SLEEP_SET)
    expect(makeSleepSet(3, 0, 0, 0x10000, 0)).toBe(NO_SLEEP_SET)
    expect([moverOf(3, NO_SLEEP_SET), registerOf(3, NO_SLEEP_SET)]).toEqual([-1, -1])
  })

  it('keeps the crashes of earlier nodes, and of later nodes whose crash already slept', () => {
    const known = crashBit(0) | crashBit(1) | crashBit(3)
    const after = sleepingCrashes(2, known)
    expect([0, 1, 2, 3, 4].filter((node) => (after & crashBit(node)) !== 0)).toEqual([0, 1, 3])
    expect([0, 1, 2].filter((node) => (sleepingCrashes(2, 0) & crashBit(node)) !== 0)).toEqual([0, 1])
  })
})
