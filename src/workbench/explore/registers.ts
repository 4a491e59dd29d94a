/** Interns shared registers: each cell is one column, and each operation on it is memoized. */
import { equalPlain, type Plain, present } from '../../core/index.ts'
import {
  acknowledgeCell,
  buryCell,
  type Cell,
  canBury,
  crashCell,
  examineCell,
  isClosed,
  landCell,
  NEW_CELL,
  readingsOf,
  takeOverCell,
  type UntimedRules,
  writeCell,
} from '../untimed/index.ts'
import { Interner, PairTable } from './intern.ts'
import { Index, Pool } from './pool.ts'

export class Registers {
  /** At a cell's offset: the number of values that a read may return, then their ids. */
  readonly pool = new Pool()
  readonly #rules: UntimedRules
  readonly #cells = new Interner<Cell>()
  readonly #values = new Interner<Plain>()
  readonly #places = new Index()
  readonly #written = new PairTable()
  readonly #takenOver = new PairTable()
  readonly #late = new PairTable()
  readonly #acknowledged = new Index()
  readonly #crashed = new Index()
  readonly #landed = new Index()
  readonly #deletable = new Map<string, boolean>()
  readonly #examined = new Index()
  readonly #buried = new Map<number, readonly number[]>()

  constructor(rules: UntimedRules) {
    this.#rules = rules
    this.#cells.idOf(NEW_CELL)
    this.#values.idOf(null)
  }

  get size(): number {
    return this.#cells.size
  }

  get bytes(): number {
    return this.#cells.bytes + this.#values.bytes
  }

  idOf(cell: Cell): number {
    return this.#cells.idOf(cell)
  }

  cell(id: number): Cell {
    return this.#cells.valueOf(id)
  }

  valueId(value: Plain): number {
    return this.#values.idOf(value)
  }

  value(id: number): Plain {
    return this.#values.valueOf(id)
  }

  /** The offset of the readings of a cell. */
  place(cell: number): number {
    const place = this.#places.get(cell)
    return place >= 0 ? place : this.#compile(cell)
  }

  written(cell: number, value: number): number {
    const known = this.#written.get(cell, value)
    if (known >= 0) return known
    const next = this.idOf(writeCell(this.cell(cell), this.value(value), this.#model()))
    this.#written.set(cell, value, next)
    return next
  }

  acknowledged(cell: number): number {
    return once(this.#acknowledged, cell, () => this.idOf(acknowledgeCell(this.cell(cell))))
  }

  crashed(cell: number): number {
    return once(this.#crashed, cell, () => this.idOf(crashCell(this.cell(cell), this.#model())))
  }

  landed(cell: number): number {
    return once(this.#landed, cell, () => this.idOf(landCell(this.cell(cell))))
  }

  takenOver(cell: number, value: number): number {
    const known = this.#takenOver.get(cell, value)
    if (known >= 0) return known
    const next = this.idOf(takeOverCell(this.cell(cell), this.value(value), this.#model()))
    this.#takenOver.set(cell, value, next)
    return next
  }

  /** The cell after its owner crashed while this value was being written. */
  late(cell: number, value: number): number {
    const known = this.#late.get(cell, value)
    if (known >= 0) return known
    const next = this.idOf({ ...this.cell(cell), other: this.value(value), is: 'late' })
    this.#late.set(cell, value, next)
    return next
  }

  isDeletable(cells: Int32Array, of: number): boolean {
    const key = `${of} ${cells.join(' ')}`
    const known = this.#deletable.get(key)
    if (known !== undefined) return known
    const may = this.#rules.isDeletable(
      [...cells].map((id) => this.cell(id)),
      of,
    )
    this.#deletable.set(key, may)
    return may
  }

  isClosed(cell: number): boolean {
    return isClosed(this.cell(cell))
  }

  /**
   * The cell after a node has read it in order to remove its owner; the same id if that is impossible or
   * changes nothing.
   */
  examined(cell: number): number {
    return once(this.#examined, cell, () =>
      this.#rules.mayExamine(this.cell(cell)) ? this.idOf(examineCell(this.cell(cell))) : cell,
    )
  }

  /** The cells that result from a tombstone, in the order of the tombstones. */
  buried(cell: number): readonly number[] {
    const known = this.#buried.get(cell)
    if (known !== undefined) return known
    const { other } = this.cell(cell)
    const all = canBury(this.cell(cell), this.#model())
      ? this.#rules.tombstones(other).map((tombstone) => this.idOf(buryCell(tombstone)))
      : []
    this.#buried.set(cell, all)
    return all
  }

  /** The index of a value among the possible readings. */
  nth(cell: number, value: number): number {
    const wanted = this.value(value)
    return readingsOf(this.cell(cell), this.#model()).findIndex((each) => equalPlain(each, wanted))
  }

  #model() {
    return present(this.#rules.model, 'model of registers')
  }

  #compile(cell: number): number {
    const readings = readingsOf(this.cell(cell), this.#model()).map((value) => this.valueId(value))
    const place = this.pool.add([readings.length, ...readings])
    this.#places.set(cell, place)
    return place
  }
}

function once(index: Index, id: number, make: () => number): number {
  const known = index.get(id)
  if (known >= 0) return known
  const made = make()
  index.set(id, made)
  return made
}
