import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { violationOf } from '../../../test/support/graph-model.ts'
import { type ActionKind, Batch, BURY, CRASHING, READ, RECENT, TICK, unpackAction } from './batch.ts'
import { hashRow, sumOf } from './hash.ts'
import { Visited } from './visited.ts'

function add(batch: Batch, row: readonly number[], kind: ActionKind = 0, node = 0): void {
  const columns = Int32Array.from(row)
  batch.beginSuccessor(columns)
  batch.addSuccessor(sumOf(columns, 0, columns.length), kind, node, 0, 0)
}

const sizeOf = (batch: Batch): readonly number[] => [batch.count, batch.transitions]

describe('an action', () => {
  it('survives packing into one integer', () => {
    const kind = fc.integer({ min: 0, max: 15 }) as fc.Arbitrary<ActionKind>
    fc.assert(
      fc.property(kind, fc.nat(255), fc.nat(4095), fc.nat(255), (of, node, choice, crashAfter) => {
        const batch = new Batch(1)
        batch.beginSuccessor(Int32Array.from([1]))
        batch.addSuccessor(1, of, node, choice, crashAfter)
        expect(batch.action(0)).toEqual({ kind: of, node, choice, crashAfter })
        expect(unpackAction(batch.packedAction(0))).toEqual(batch.action(0))
      }),
    )
  })

  it('is a fault from a crash on', () => {
    const batch = new Batch(1)
    for (const [index, kind] of ([READ, CRASHING, TICK, BURY] as const).entries()) add(batch, [index], kind)
    expect([0, 1, 2, 3].map((index) => batch.isFault(index))).toEqual([false, true, true, true])
  })
})

describe('recent rows', () => {
  it('are added once, but every transition counts', () => {
    const batch = new Batch(2)
    add(batch, [1, 2])
    add(batch, [1, 2])
    add(batch, [2, 1])
    expect(sizeOf(batch)).toEqual([2, 3])
  })

  it('are remembered after a flush', () => {
    const batch = new Batch(2)
    const visited = new Visited(2, false, 8)
    add(batch, [1, 2])
    batch.flush(visited)
    add(batch, [1, 2])
    expect(sizeOf(batch)).toEqual([0, 2])
    expect(visited.size).toBe(1)
  })

  it('are forgotten by clear', () => {
    const batch = new Batch(2)
    add(batch, [1, 2])
    batch.clear()
    expect(batch.count).toBe(0)
    add(batch, [1, 2])
    expect(sizeOf(batch)).toEqual([1, 2])
  })
})

describe('a flush', () => {
  it('adds each row with its parent, in the order in which they were found', () => {
    const batch = new Batch(2)
    const visited = new Visited(2, false, 8)
    for (const [index, row] of [
      [5, 0],
      [3, 1],
      [4, 2],
    ].entries()) {
      batch.parent = index - 1
      add(batch, row)
    }
    batch.flush(visited)
    const into = new Int32Array(2)
    const rows = [0, 1, 2].map((state) => {
      visited.read(state, into)
      return [...into, visited.parentOf(state)]
    })
    expect(rows).toEqual([
      [5, 0, -1],
      [3, 1, 0],
      [4, 2, 1],
    ])
  })

  it('keeps all rows of a batch that outgrows its arrays', () => {
    const batch = new Batch(1)
    const visited = new Visited(1, false, 8)
    const most = RECENT * 5
    for (let value = 0; value < most; value++) add(batch, [value])
    expect(sizeOf(batch)).toEqual([most, most])
    batch.flush(visited)
    expect([visited.size, batch.count]).toEqual([most, 0])
    const last = Int32Array.from([most - 1])
    expect(visited.find(last, 0, hashRow(last, 0, 1))).toBe(most - 1)
  })
})

it('keeps the first violation, with its action', () => {
  const batch = new Batch(1)
  batch.addViolation(violationOf('first'), READ, 2, 3, 4)
  batch.addViolation(violationOf('second'), READ, 0, 0, 0)
  expect(batch.found).toEqual({
    violation: violationOf('first'),
    action: { kind: READ, node: 2, choice: 3, crashAfter: 4 },
  })
})
