/**
 * Finds free space for labels. Occupied space is a set of points in a grid, so queries are cheap on a full
 * page: labels keep a distance from each other, and lines below a label are counted.
 */
export type Point = { readonly x: number; readonly y: number }

type Ink = Point & { readonly line: number }

const CELL_PX = 12
const STEP_PX = 5
/** The minimum distance between texts, from the middle of the line. */
const APART_PX = 11

export class LabelSpace {
  readonly #text = new Map<number, Point[]>()
  readonly #ink = new Map<number, Ink[]>()
  readonly #left: number
  #lines = 0

  /** No label begins left of `left`. */
  constructor(left = Number.NEGATIVE_INFINITY) {
    this.#left = left
  }

  /** Marks the points as occupied. */
  occupy(points: readonly Point[]): void {
    for (const point of points) put(this.#text, point, point)
  }

  isFree(points: readonly Point[]): boolean {
    return points.every((point) => point.x >= this.#left && near(this.#text, point, APART_PX).length === 0)
  }

  /** Draws a line and returns its number. */
  rule(from: Point, to: Point): number {
    const line = this.#lines++
    for (const { x, y } of along(from, to)) put(this.#ink, { x, y }, { x, y, line })
    return line
  }

  /**
   * The number of lines other than `own` within `distance` of the points; the distance is at most one cell.
   */
  crossings(points: readonly Point[], own: number | null, distance: number): number {
    const lines = new Set(points.flatMap((point) => near(this.#ink, point, distance).map(({ line }) => line)))
    if (own !== null) lines.delete(own)
    return lines.size
  }
}

/** Points between two ends, close enough that no line slips through. */
export function along(from: Point, to: Point): readonly Point[] {
  const steps = Math.max(1, Math.ceil(Math.hypot(to.x - from.x, to.y - from.y) / STEP_PX))
  return Array.from({ length: steps + 1 }, (_, index) => ({
    x: from.x + ((to.x - from.x) * index) / steps,
    y: from.y + ((to.y - from.y) * index) / steps,
  }))
}

function cellOf(x: number, y: number): number {
  return Math.floor(x / CELL_PX) * 1_000_003 + Math.floor(y / CELL_PX)
}

function put<T>(grid: Map<number, T[]>, { x, y }: Point, value: T): void {
  const cell = cellOf(x, y)
  const there = grid.get(cell)
  if (there === undefined) grid.set(cell, [value])
  else there.push(value)
}

function near<T extends Point>(grid: ReadonlyMap<number, T[]>, { x, y }: Point, distance: number): T[] {
  const found: T[] = []
  for (let dx = -CELL_PX; dx <= CELL_PX; dx += CELL_PX) {
    for (let dy = -CELL_PX; dy <= CELL_PX; dy += CELL_PX) {
      for (const other of grid.get(cellOf(x + dx, y + dy)) ?? []) {
        if (Math.hypot(other.x - x, other.y - y) < distance) found.push(other)
      }
    }
  }
  return found
}
