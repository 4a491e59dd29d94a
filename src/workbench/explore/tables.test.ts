import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Batch } from './batch.ts'
import { hashRow } from './hash.ts'
import { PairTable } from './intern.ts'
import { Index, Pool } from './pool.ts'
import { Visited } from './visited.ts'

describe('a table of pairs', () => {
  it.each([
    ['stays a rectangle', 40],
    ['becomes a hash table', 100_000],
  ])('returns what was set when it %s', (_what, most) => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(most), fc.nat(most), fc.nat()), { maxLength: 200 }), (entries) => {
        const table = new PairTable()
        const expected = new Map<string, number>()
        for (const [a, b, value] of entries) {
          const key = `${a} ${b}`
          expect(table.get(a, b)).toBe(expected.get(key) ?? -1)
          if (expected.has(key)) continue
          table.set(a, b, value)
          expected.set(key, value)
        }
        for (const [key, value] of expected) {
          const [a, b] = key.split(' ').map(Number)
          expect(table.get(a as number, b as number)).toBe(value)
        }
      }),
    )
  })
})

describe('the visited states', () => {
  const row = (...columns: number[]): Int32Array => Int32Array.from(columns)

  it('are exact: rows with equal hashes stay distinct', () => {
    const visited = new Visited(2)
    const sameHash = 12345
    for (let value = 0; value < 1000; value++) visited.add(row(value, 7), 0, sameHash, -1)
    for (let value = 0; value < 1000; value++) visited.add(row(value, 7), 0, sameHash, -1)
    expect(visited.size).toBe(1000)
    expect(visited.find(row(999, 7), 0, sameHash)).toBe(999)
    expect(visited.find(row(1000, 7), 0, sameHash)).toBe(-1)
  })

  it('keep all rows when the table grows repeatedly', () => {
    const visited = new Visited(2, false, 4)
    const add = (value: number): void => {
      const each = row(value, value % 13)
      visited.add(each, 0, hashRow(each, 0, 2), -1)
    }
    for (let value = 0; value < 5000; value++) add(value)
    for (let value = 0; value < 5000; value++) add(value)
    expect(visited.size).toBe(5000)
    for (let value = 0; value < 5000; value++) {
      const each = row(value, value % 13)
      expect(visited.find(each, 0, hashRow(each, 0, 2))).toBe(value)
    }
  })

  it('keep rows and parents through growth and through widening to 32 bits', () => {
    const visited = new Visited(3)
    const count = 300_000
    const add = (index: number): void => {
      const each = row(index & 0xffff, index >> 16, index % 7)
      visited.add(each, 0, hashRow(each, 0, 3), index - 1)
    }
    for (let index = 0; index < count / 2; index++) add(index)
    visited.makeRoomFor(70_000)
    for (let index = count / 2; index < count; index++) add(index)
    const wide = row(70_000, 0, 0)
    visited.add(wide, 0, hashRow(wide, 0, 3), 5)
    expect(visited.size).toBe(count + 1)
    const into = new Int32Array(3)
    for (const index of [0, 1, 65_535, 65_536, 140_000, count - 1]) {
      visited.read(index, into)
      expect([...into]).toEqual([index & 0xffff, index >> 16, index % 7])
      expect(visited.parentOf(index)).toBe(index - 1)
    }
    visited.read(count, into)
    expect([...into]).toEqual([70_000, 0, 0])
  })
})

describe('a batch', () => {
  it('keeps different rows with one hash, and omits only equal rows', () => {
    const visited = new Visited(2, false, 4)
    const batch = new Batch(2)
    const take = (a: number, b: number): void => {
      const at = batch.beginSuccessor(Int32Array.from([a, b]))
      expect(batch.rows[at]).toBe(a)
      batch.addSuccessor(7, 0, 0, 0, 0)
    }
    take(1, 2)
    take(2, 1)
    take(1, 2)
    take(2, 1)
    batch.flush(visited)
    expect([visited.size, batch.transitions]).toEqual([2, 4])
  })
})

it('pools and indexes grow', () => {
  const pool = new Pool()
  const index = new Index()
  const places = Array.from({ length: 2000 }, (_, id) => pool.add([id, id * 2]))
  for (const [id, place] of places.entries()) index.set(id, place)
  expect(pool.data[(index.get(1999) ?? -1) + 1]).toBe(3998)
  expect(index.get(5000)).toBe(-1)
})
