/**
 * Shared registers in the untimed world, as plain values: their contents, the values that a read may return,
 * and the effects of writes, crashes and restarts. RegisterModel selects the possible faults.
 */
import { equalPlain, isList, type Plain, type PlainObject, type RegisterModel } from '../../core/index.ts'

export type Cell = {
  readonly value: Plain
  /**
   * The previous value (if reads may be stale), the value being written (if writes take time), or the value
   * that a node read in order to remove the owner.
   */
  readonly other: Plain
  /**
   * `still`: no operation is in progress. `writing`: a write is in progress. `late`: a write in progress
   * whose writer has crashed. `examined`: a node has read it in order to remove its owner. `buried`: it holds
   * a tombstone and refuses the owner's writes. `gone`: deleted.
   */
  readonly is: 'still' | 'writing' | 'late' | 'examined' | 'buried' | 'gone'
}

export const NEW_CELL: Cell = { value: null, other: null, is: 'still' }
export const GONE: Cell = { value: null, other: null, is: 'gone' }

/** Whether a write takes one step to start and one to end. */
export function acknowledgesLater({ semantics }: RegisterModel): boolean {
  return semantics === 'regular' || semantics === 'torn'
}

/** Starts a write; completes it if writes take no time. */
export function writeCell(cell: Cell, value: Plain, model: RegisterModel): Cell {
  if (acknowledgesLater(model)) return { value: cell.value, other: value, is: 'writing' }
  if (model.semantics === 'stale') return { value, other: cell.value, is: 'still' }
  // A pending write of an earlier incarnation may still take place.
  return { ...cell, value }
}

export function acknowledgeCell(cell: Cell): Cell {
  return cell.is === 'writing' ? { value: cell.other, other: null, is: 'still' } : cell
}

/** All values that a read may return. */
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

/** The register after its owner crashes. */
export function crashCell(cell: Cell, model: RegisterModel): Cell {
  return model.forgets && cell.is !== 'gone' ? NEW_CELL : cell
}

/**
 * A restarted node adopts the value it has read. With compare-and-swap this cancels pending writes of its
 * earlier incarnation.
 */
export function takeOverCell(cell: Cell, read: Plain, { semantics, compare }: RegisterModel): Cell {
  if (cell.is === 'writing') return { value: read, other: null, is: 'still' }
  if (semantics === 'late' && compare) return { value: cell.value, other: null, is: 'still' }
  return cell
}

/** The late write takes place. */
export function landCell({ other }: Cell): Cell {
  return { value: other, other: null, is: 'still' }
}

/** A node reads the register in order to remove the owner. */
export function examineCell({ value }: Cell): Cell {
  return { value, other: value, is: 'examined' }
}

/** Whether a tombstone computed from the examined value may be written. */
export function canBury({ value, other, is }: Cell, { burials }: RegisterModel): boolean {
  return is === 'examined' && (burials === 'blind' || equalPlain(value, other))
}

export function buryCell(tombstone: Plain): Cell {
  return { value: tombstone, other: null, is: 'buried' }
}

/** Whether the register refuses its owner's writes. */
export function isClosed({ is }: Cell): boolean {
  return is === 'buried' || is === 'gone'
}

function distinct([first, second]: readonly [Plain, Plain]): readonly Plain[] {
  return equalPlain(first, second) ? [first] : [first, second]
}

/** All records that take each field from one of the two values: torn reads. */
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
