/**
 * One time scale for processes whose clocks were never compared.
 *
 * A message is received after it was sent. That bounds how far the receiver's clock can be behind the sender's, and
 * messages in both directions bound it from both sides. Bounds combine along paths (shortest paths), so processes that
 * never talked to each other are bounded too. Processes on one host read the same clock. The remaining uncertainty is
 * the error, and it is reported. Wall clocks are used only if the operator vouches for them.
 */
import type { Micros } from '../../core/index.ts'
import type { MessageRecord } from './message-matching.ts'
import type { Run } from './runs.ts'

export type Scale = {
  /** What to add to the clock of each run; the clock of the first run is the scale. */
  readonly ahead: readonly Micros[]
  /** The largest error between the times of two runs; null when nothing bounds it. */
  readonly error: Micros | null
  readonly by: 'one clock' | 'messages' | 'wall clocks' | 'nothing'
  /** Pairs of clocks that drifted apart faster than both may drift. */
  readonly drift: readonly Drift[]
}

export type Drift = {
  readonly a: number
  readonly b: number
  /** The least drift that explains the messages, in parts per million. */
  readonly ppm: number
}

export type ScaleOptions = {
  /** The largest clock drift: 1e-4 is 100 ppm. */
  readonly rho: number
  /** The largest difference between wall clocks, if the operator vouches for one. */
  readonly wallError: Micros | null
}

export function scaleOf(
  runs: readonly Run[],
  records: readonly MessageRecord[],
  options: ScaleOptions,
): Scale {
  const size = runs.length
  const isSameClock = (a: number, b: number): boolean => {
    const name = runs[a]?.recording.clock ?? null
    return name !== null && name === runs[b]?.recording.clock
  }
  const isOne = runs.every((_, place) => isSameClock(0, place))
  if (isOne || size === 1) return { ahead: runs.map(() => 0), error: 0, by: 'one clock', drift: [] }
  // Clocks may have drifted against each other over the length of the traces.
  const moved = Math.ceil(2 * options.rho * longest(runs))
  const bounds = boundsFrom(records, size).map((row, a) => row.map((most, b) => (a === b ? 0 : most + moved)))
  for (let a = 0; a < size; a++)
    for (let b = 0; b < size; b++) if (a !== b && isSameClock(a, b)) tighten(bounds, a, b, 0)
  const byMessages = solve(bounds)
  const drift = drifts(runs, records, options.rho)
  if (byMessages !== null) return { ...byMessages, by: 'messages', drift }
  const wall = (place: number): Micros => runs[place]?.recording.wallAhead ?? 0
  const { wallError } = options
  if (wallError !== null) {
    for (let a = 0; a < size; a++)
      for (let b = 0; b < size; b++) if (a !== b) tighten(bounds, a, b, wall(b) - wall(a) + wallError)
  }
  const byWalls = wallError === null ? null : solve(bounds)
  if (byWalls !== null) return { ...byWalls, by: 'wall clocks', drift }
  return { ahead: runs.map((_, place) => wall(place) - wall(0)), error: null, by: 'nothing', drift }
}

/** An offset for each clock that satisfies all bounds, and the largest possible error; null if there is none. */
function solve(bounds: Bounds): { readonly ahead: readonly Micros[]; readonly error: Micros } | null {
  const paths = shortest(bounds)
  const isPossible = paths.every((row, place) => row.every(Number.isFinite) && row[place] === 0)
  if (!isPossible) return null
  // The mean of two extreme solutions is a solution too.
  const ahead = paths.map((row, place) => Math.round(((paths[0]?.[place] ?? 0) - (row[0] ?? 0)) / 2))
  let error = 0
  for (const [a, row] of paths.entries()) {
    for (const [b, most] of row.entries()) error = Math.max(error, most - ((ahead[b] ?? 0) - (ahead[a] ?? 0)))
  }
  return { ahead, error: Math.ceil(error) }
}

/** `bounds[a][b]`: the most that may be added to the clock of b, if 0 is added to the clock of a. */
type Bounds = Micros[][]

function boundsFrom(
  records: readonly MessageRecord[],
  size: number,
  within: readonly [Micros, Micros][] = [],
): Bounds {
  const bounds = Array.from({ length: size }, (_, a) =>
    Array.from({ length: size }, (__, b) => (a === b ? 0 : Number.POSITIVE_INFINITY)),
  )
  for (const { from, sent, receipts } of records) {
    const [first, last] = within[from] ?? [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]
    if (sent < first || sent > last) continue
    // sent + ahead(from) <= at + ahead(by), so ahead(from) is at most at - sent more than ahead(by).
    for (const { by, at } of receipts) if (by !== from) tighten(bounds, by, from, at - sent)
  }
  return bounds
}

function tighten(bounds: Bounds, a: number, b: number, most: Micros): void {
  const row = bounds[a] as Micros[]
  if (most < (row[b] as Micros)) row[b] = most
}

function shortest(bounds: Bounds): Bounds {
  const paths = bounds.map((row) => [...row])
  for (const [via, middle] of paths.entries()) {
    for (const row of paths) {
      const first = row[via] as Micros
      for (let b = 0; b < row.length; b++) {
        const around = first + (middle[b] as Micros)
        if (around < (row[b] as Micros)) row[b] = around
      }
    }
  }
  return paths
}

function longest(runs: readonly Run[]): Micros {
  return Math.max(...runs.map(({ steps }) => (steps.at(-1)?.record.now ?? 0) - (steps[0]?.record.now ?? 0)))
}

/** Compares the bounds of the first and the last third of the traces, and reports pairs that contradict each other. */
function drifts(runs: readonly Run[], records: readonly MessageRecord[], rho: number): readonly Drift[] {
  const spans = runs.map(({ steps }): readonly [Micros, Micros] => [
    steps[0]?.record.now ?? 0,
    steps.at(-1)?.record.now ?? 0,
  ])
  const third = (index: 0 | 2): [Micros, Micros][] =>
    spans.map(([first, last]) => {
      const length = (last - first) / 3
      return [first + index * length, first + (index + 1) * length]
    })
  const early = boundsFrom(records, runs.length, third(0))
  const late = boundsFrom(records, runs.length, third(2))
  const found: Drift[] = []
  for (let a = 0; a < runs.length; a++) {
    for (let b = a + 1; b < runs.length; b++) {
      const between = (spans[a]?.[1] ?? 0) - (spans[a]?.[0] ?? 0)
      if (between <= 0) continue
      // The least that the clock of b must have gained or lost in between, for any message delays.
      const gained = -((early[b]?.[a] ?? 0) + (late[a]?.[b] ?? 0))
      const lost = -((late[b]?.[a] ?? 0) + (early[a]?.[b] ?? 0))
      const ppm = (Math.max(gained, lost) / between) * 1_000_000
      if (ppm > 2 * rho * 1_000_000) found.push({ a, b, ppm })
    }
  }
  return found
}
