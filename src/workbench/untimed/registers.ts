/**
 * Shared registers in a world without time, as plain values: what one holds, what a read of it may return, and what
 * writes, crashes and restarts make of it. RegisterModel says which faults are possible.
 */
import { equalPlain, isList, type Plain, type PlainObject, type RegisterModel } from '../../core/index.ts'

export type Cell = {
  readonly value: Plain
  /**
   * What was there before (where reads may be stale), what is being written (where a write takes time), or what a node
   * that would remove its owner has read.
   */
  readonly other: Plain
  /**
   * `writing`: a write is under way. `late`: that of a process which crashed meanwhile. `examined`: a node that would
   * remove its owner has read it. `buried`: it holds a tombstone, and the owner's writes are refused. `gone`: deleted
   * for good.
   */
  readonly is: 'still' | 'writing' | 'late' | 'examined' | 'buried' | 'gone'
}

export const NEW_CELL: Cell = { value: null, other: null, is: 'still' }
export const GONE: Cell = { value: null, other: null, is: 'gone' }

/** Whether a write takes a step to begin and one to end. */
export function acknowledgesLater({ semantics }: RegisterModel): boolean {
  return semantics === 'regular' || semantics === 'torn'
}

/** A write begins; where it takes no time, it is over. */
export function writeCell(cell: Cell, value: Plain, model: RegisterModel): Cell {
  if (acknowledgesLater(model)) return { value: cell.value, other: value, is: 'writing' }
  if (model.semantics === 'stale') return { value, other: cell.value, is: 'still' }
  // A write of a former life that has not taken place yet may still do so.
  return { ...cell, value }
}

export function acknowledgeCell(cell: Cell): Cell {
  return cell.is === 'writing' ? { value: cell.other, other: null, is: 'still' } : cell
}

/** All that a read may return. */
export function readingsOf({ value, other, is }: Cell, { semantics }: RegisterModel): readonly Plain[] {
  switch (semantics) {
    case 'regular':
      return is === 'writing' ? distinct([value, other]) : [value]
    case 'torn':
      return is === 'writing' ? mixtures(value, other) : [value]
    case 'stale':
      return distinct([value, other])
    default:
      return [value]
  }
}

/** Where a crash leaves the register of the node. */
export function crashCell(cell: Cell, model: RegisterModel): Cell {
  return model.forgets && cell.is !== 'gone' ? NEW_CELL : cell
}

/** A node comes back and takes over what it has read: nothing of its former life is under way any more, if it can. */
export function takeOverCell(cell: Cell, read: Plain, { semantics, compare }: RegisterModel): Cell {
  if (cell.is === 'writing') return { value: read, other: null, is: 'still' }
  if (semantics === 'late' && compare) return { value: cell.value, other: null, is: 'still' }
  return cell
}

/** The late write takes place. */
export function landCell({ other }: Cell): Cell {
  return { value: other, other: null, is: 'still' }
}

/** A node that would remove the owner reads the register. */
export function examineCell({ value }: Cell): Cell {
  return { value, other: value, is: 'examined' }
}

/** Whether a tombstone may be written that was computed from what was read. */
export function canBury({ value, other, is }: Cell, { burials }: RegisterModel): boolean {
  return is === 'examined' && (burials === 'blind' || equalPlain(value, other))
}

export function buryCell(tombstone: Plain): Cell {
  return { value: tombstone, other: null, is: 'buried' }
}

/** Whether the owner's writes are refused. */
export function isClosed({ is }: Cell): boolean {
  return is === 'buried' || is === 'gone'
}

function distinct([first, second]: readonly [Plain, Plain]): readonly Plain[] {
  return equalPlain(first, second) ? [first] : [first, second]
}

/** Every record whose fields are each of the one or of the other. */
function mixtures(a: Plain, b: Plain): readonly Plain[] {
  if (!isRecord(a) || !isRecord(b)) return distinct([a, b])
  let all: readonly PlainObject[] = [{}]
  for (const field of Object.keys(a)) {
    const values = distinct([a[field] as Plain, b[field] ?? null])
    all = all.flatMap((record) => values.map((value) => ({ ...record, [field]: value })))
  }
  return all
}

function isRecord(value: Plain): value is PlainObject {
  return value !== null && typeof value === 'object' && !isList(value)
}
