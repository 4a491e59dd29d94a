import { describe, expect, it } from 'vitest'
import type { RegisterModel } from '../../core/index.ts'
import {
  acknowledgeCell,
  buryCell,
  type Cell,
  canBury,
  crashCell,
  examineCell,
  GONE,
  isClosed,
  landCell,
  NEW_CELL,
  readingsOf,
  takeOverCell,
  writeCell,
} from './registers.ts'

const model = (semantics: RegisterModel['semantics'], more: Partial<RegisterModel> = {}): RegisterModel => ({
  semantics,
  forgets: false,
  compare: false,
  burials: 'none',
  acknowledged: 'at once',
  ...more,
})
const held = (value: Cell['value']): Cell => ({ ...NEW_CELL, value })

describe('an atomic register', () => {
  it('returns the last write', () => {
    const cell = writeCell(held(1), 2, model('atomic'))
    expect(readingsOf(cell, model('atomic'))).toEqual([2])
  })
})

describe('a regular register', () => {
  const regular = model('regular')

  it('returns the old or the new value while a write is in progress', () => {
    const writing = writeCell(held(1), 2, regular)
    expect(readingsOf(writing, regular)).toEqual([1, 2])
    expect(readingsOf(acknowledgeCell(writing), regular)).toEqual([2])
  })

  it('keeps the value that a restarted node has read', () => {
    const writing = writeCell(held(1), 2, regular)
    expect(takeOverCell(writing, 1, regular)).toEqual(held(1))
    expect(takeOverCell(held(3), 3, regular)).toEqual(held(3))
  })
})

describe('a torn register', () => {
  it('returns any mixture of the fields of both values', () => {
    const torn = model('torn')
    const writing = writeCell(held({ a: 1, b: 1 }), { a: 2, b: 2 }, torn)
    expect(readingsOf(writing, torn)).toEqual([
      { a: 1, b: 1 },
      { a: 1, b: 2 },
      { a: 2, b: 1 },
      { a: 2, b: 2 },
    ])
    expect(readingsOf(writeCell(held(null), { a: 2 }, torn), torn)).toEqual([null, { a: 2 }])
  })
})

describe('a stale register', () => {
  it('may return the value before the last write', () => {
    const stale = model('stale')
    expect(readingsOf(writeCell(held(1), 2, stale), stale)).toEqual([2, 1])
    expect(readingsOf(writeCell(held(1), 1, stale), stale)).toEqual([1])
  })
})

describe('a late write', () => {
  const late: Cell = { value: 1, other: 2, is: 'late' }

  it('takes place later, and replaces what was written in between', () => {
    expect(landCell(late)).toEqual(held(2))
    expect(writeCell(late, 3, model('late'))).toEqual({ ...late, value: 3 })
  })

  it('is cancelled by a restarted node only with compare-and-swap', () => {
    expect(takeOverCell(late, 1, model('late', { compare: true }))).toEqual(held(1))
    expect(takeOverCell(late, 1, model('late'))).toEqual(late)
  })
})

describe('a crash', () => {
  it('clears the register of a disk that forgets, unless it is deleted', () => {
    expect(crashCell(held(1), model('atomic'))).toEqual(held(1))
    expect(crashCell(held(1), model('atomic', { forgets: true }))).toEqual(NEW_CELL)
    expect(crashCell(GONE, model('atomic', { forgets: true }))).toEqual(GONE)
  })
})

describe('a removal', () => {
  const careful = model('atomic', { burials: 'compared' })

  it('writes a tombstone only if the register has not changed since it was read', () => {
    const examined = examineCell(held(1))
    expect(canBury(examined, careful)).toBe(true)
    const changed = writeCell(examined, 2, careful)
    expect(canBury(changed, careful)).toBe(false)
    expect(canBury(changed, model('atomic', { burials: 'blind' }))).toBe(true)
    expect(canBury(held(1), careful)).toBe(false)
  })

  it('closes the register to its owner', () => {
    expect(isClosed(buryCell('tombstone'))).toBe(true)
    expect(isClosed(GONE)).toBe(true)
    expect(isClosed(held(1))).toBe(false)
  })
})
