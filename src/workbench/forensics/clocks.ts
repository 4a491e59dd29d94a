/**
 * One time scale for processes whose clocks were never compared.
 *
 * A message is received after it was sent. That bounds by how much the receiver's clock can be behind the sender's, and
 * messages both ways bound it from both sides; through others, processes that never talked are bounded too (shortest
 * paths). Processes on one host read one clock. What remains open is the error, and it is stated. Wall clocks are used
 * only when somebody vouches for them.
 */
import type { Micros } from '../../core/index.ts'
import type { Letter } from './message-matching.ts'
import type { Run } from './runs.ts'

export type Scale = {
  /** What to add to the own clock of each run; the first run's clock is the scale. */
  readonly ahead: readonly Micros[]
  /** By how much the times of two runs may be wrong against each other; null when nothing bounds them. */
  readonly error: Micros | null
  readonly by: 'one clock' | 'messages' | 'wall clocks' | 'nothing'
  /** Clocks that ran apart faster than both may drift. */
  readonly drift: readonly Drift[]
}

export type Drift = {
  readonly a: number
  readonly b: number
  /** At least so many millionths. */
  readonly ppm: number
}

export type ScaleOptions = {
  /** How far a clock may drift: 1e-4 is 100 millionths. */
  readonly rho: number
  /** How far wall clocks are apart at most, where somebody says so. */
  readonly wallError: Micros | null
}

export function scaleOf(runs: readonly Run[], letters: readonly Letter[], options: ScaleOptions): Scale {
  const size = runs.length
  const isSameClock = (a: number, b: number): boolean => {
    const name = runs[a]?.recording.clock ?? null
    return name !== null && name === runs[b]?.recording.clock
  }
  const isOne = runs.every((_, place) => isSameClock(0, place))
  if (isOne || size === 1) return { ahead: runs.map(() => 0), error: 0, by: 'one clock', drift: [] }
  // Over the length of the traces clocks may have moved against each other, as far as they may at all.
  const moved = Math.ceil(2 * options.rho * longest(runs))
  const bounds = boundsFrom(letters, size).map((row, a) => row.map((most, b) => (a === b ? 0 : most + moved)))
  for (let a = 0; a < size; a++)
    for (let b = 0; b < size; b++) if (a !== b && isSameClock(a, b)) tighten(bounds, a, b, 0)
  const byMessages = fitting(bounds)
  const drift = drifts(runs, letters, options.rho)
  if (byMessages !== null) return { ...byMessages, by: 'messages', drift }
  const wall = (place: number): Micros => runs[place]?.recording.wallAhead ?? 0
  const { wallError } = options
  if (wallError !== null) {
    for (let a = 0; a < size; a++)
      for (let b = 0; b < size; b++) if (a !== b) tighten(bounds, a, b, wall(b) - wall(a) + wallError)
  }
  const byWalls = wallError === null ? null : fitting(bounds)
  if (byWalls !== null) return { ...byWalls, by: 'wall clocks', drift }
  return { ahead: runs.map((_, place) => wall(place) - wall(0)), error: null, by: 'nothing', drift }
}

/** A time for each clock that fits all bounds, and by how much another could differ; null when there is none. */
function fitting(bounds: Bounds): { readonly ahead: readonly Micros[]; readonly error: Micros } | null {
  const paths = shortest(bounds)
  const isPossible = paths.every((row, place) => row.every(Number.isFinite) && row[place] === 0)
  if (!isPossible) return null
  // Two extreme answers that fit; what lies in the middle of them fits too.
  const ahead = paths.map((row, place) => Math.round(((paths[0]?.[place] ?? 0) - (row[0] ?? 0)) / 2))
  let error = 0
  for (const [a, row] of paths.entries()) {
    for (const [b, most] of row.entries()) error = Math.max(error, most - ((ahead[b] ?? 0) - (ahead[a] ?? 0)))
  }
  return { ahead, error: Math.ceil(error) }
}

/** `bounds[a][b]`: how much must be added to b's clock at most, if 0 is added to a's. */
type Bounds = Micros[][]

function boundsFrom(
  letters: readonly Letter[],
  size: number,
  within: readonly [Micros, Micros][] = [],
): Bounds {
  const bounds = Array.from({ length: size }, (_, a) =>
    Array.from({ length: size }, (__, b) => (a === b ? 0 : Number.POSITIVE_INFINITY)),
  )
  for (const { from, sent, receipts } of letters) {
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

/** What the first and the last third of a trace say of two clocks, where they contradict each other. */
function drifts(runs: readonly Run[], letters: readonly Letter[], rho: number): readonly Drift[] {
  const spans = runs.map(({ steps }): readonly [Micros, Micros] => [
    steps[0]?.record.now ?? 0,
    steps.at(-1)?.record.now ?? 0,
  ])
  const third = (index: 0 | 2): [Micros, Micros][] =>
    spans.map(([first, last]) => {
      const length = (last - first) / 3
      return [first + index * length, first + (index + 1) * length]
    })
  const early = boundsFrom(letters, runs.length, third(0))
  const late = boundsFrom(letters, runs.length, third(2))
  const found: Drift[] = []
  for (let a = 0; a < runs.length; a++) {
    for (let b = a + 1; b < runs.length; b++) {
      const between = (spans[a]?.[1] ?? 0) - (spans[a]?.[0] ?? 0)
      if (between <= 0) continue
      // The least that b's clock must have gained or lost between the two, however the messages fell.
      const gained = -((early[b]?.[a] ?? 0) + (late[a]?.[b] ?? 0))
      const lost = -((late[b]?.[a] ?? 0) + (early[a]?.[b] ?? 0))
      const ppm = (Math.max(gained, lost) / between) * 1_000_000
      if (ppm > 2 * rho * 1_000_000) found.push({ a, b, ppm })
    }
  }
  return found
}
