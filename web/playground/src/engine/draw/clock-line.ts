/**
 * The clock of a node as a line through true time. The world reports it. For an opened trace it is found from the trace
 * alone: steps show what the clock read, and events say when it was stopped, moved or given another rate.
 */
import { type Micros, microsOf, type NodeId, type PlainObject } from '../../../../../src/core/index.ts'
import type { TraceRecord } from '../../../../../src/workbench/trace/index.ts'
import type { ClockReport } from '../measurements.ts'
import type { Lane } from '../picture.ts'
import type { RecordedRun } from '../recorded-run.ts'

type Piece = Lane['clock'][number]
type Point = { readonly at: Micros; readonly now: Micros }

/** Readings are whole microseconds, and so is the error of a line through two of them. */
const TOLERANCE: Micros = 2

export class ClockLine {
  /** In the order of time. The last may begin in the future, when a suspension ends. */
  readonly #pieces: Piece[] = []
  #rate: number

  constructor(rate: number) {
    this.#rate = rate
  }

  get pieces(): readonly Piece[] {
    return this.#pieces
  }

  /** A report of the world: from `at` on the clock runs like this. */
  follow({ at, readings }: ClockReport): void {
    this.#cut(at, ...readings)
  }

  /** A step of the node: its clock showed `now`. */
  pass({ at, now }: Point): void {
    const known = this.#pieces.length > 0 && Math.abs(this.at(at) - now) <= TOLERANCE
    if (!known) this.#cut(at, { from: at, shows: now, rate: this.#rate })
  }

  at(trueTime: Micros): Micros {
    const piece = this.#pieces.findLast(({ from }) => from <= trueTime) ?? this.#pieces[0]
    if (piece === undefined) return trueTime
    return piece.shows + Math.floor((trueTime - piece.from) * piece.rate)
  }

  /** The clock stands still from `at` on. A suspension that goes on becomes longer. */
  suspend(at: Micros, length: Micros): void {
    const shows = this.at(at)
    const resumesAt = Math.max(at + length, this.#resumesAfter(at) ?? 0)
    this.#cut(at, { from: at, shows, rate: 0 }, { from: resumesAt, shows, rate: this.#rate })
  }

  /** A crash ends a suspension. */
  wake(at: Micros): void {
    if (this.#resumesAfter(at) !== null) this.#cut(at, { from: at, shows: this.at(at), rate: this.#rate })
  }

  skew(at: Micros, by: Micros): void {
    const resumesAt = this.#resumesAfter(at)
    const shows = this.at(at) + by
    if (resumesAt === null) this.#cut(at, { from: at, shows, rate: this.#rate })
    else this.#cut(at, { from: at, shows, rate: 0 }, { from: resumesAt, shows, rate: this.#rate })
  }

  setRate(at: Micros, rate: number): void {
    this.#rate = rate
    const resumesAt = this.#resumesAfter(at)
    const shows = this.at(at)
    if (resumesAt === null) this.#cut(at, { from: at, shows, rate })
    else this.#cut(resumesAt, { from: resumesAt, shows, rate })
  }

  /** The first true instant from `since` on at which the clock shows `local` or more. */
  whenShows(local: Micros, since: Micros): Micros {
    const first = this.#pieces.findLastIndex(({ from }) => from <= since)
    for (let index = Math.max(first, 0); index < this.#pieces.length; index++) {
      const { from, shows, rate } = this.#pieces[index] as Piece
      const end = this.#pieces[index + 1]?.from ?? Number.POSITIVE_INFINITY
      const begin = Math.max(from, since)
      if (shows + (begin - from) * rate >= local) return begin
      const due = rate === 0 ? Number.POSITIVE_INFINITY : from + Math.ceil((local - shows) / rate)
      if (due < end) return due
    }
    return since
  }

  #resumesAfter(at: Micros): Micros | null {
    const last = this.#pieces.at(-1)
    return last !== undefined && last.from > at ? last.from : null
  }

  /** Replaces everything from an instant on. */
  #cut(at: Micros, ...pieces: readonly Piece[]): void {
    while ((this.#pieces.at(-1)?.from ?? Number.NEGATIVE_INFINITY) >= at) this.#pieces.pop()
    this.#pieces.push(...pieces)
  }
}

/** The clocks of all nodes over a whole run. */
export function clockLines({ header, records, measured }: RecordedRun): ReadonlyMap<NodeId, ClockLine> {
  if (measured === null) return derivedClocks(header.nodes, records)
  const lines = new Map(header.nodes.map((node) => [node, new ClockLine(1)]))
  for (const report of measured.clocks) lines.get(report.node)?.follow(report)
  return lines
}

/** The clocks as the trace alone shows them. */
export function derivedClocks(
  nodes: readonly NodeId[],
  records: readonly TraceRecord[],
): ReadonlyMap<NodeId, ClockLine> {
  const lines = new Map(nodes.map((node) => [node, new ClockLine(firstRate(node, records))]))
  const isUp = new Set<NodeId>()
  for (const record of records) {
    if (record.type === 'world') applyEvent(lines, isUp, record.event, record.at)
    if (record.type !== 'start' && record.type !== 'step' && record.type !== 'resume') continue
    lines.get(record.node)?.pass(record)
    isUp.add(record.node)
    if (record.type !== 'resume' && record.cutAfter !== null) {
      lines.get(record.node)?.wake(record.at)
      isUp.delete(record.node)
    }
  }
  return lines
}

function applyEvent(
  lines: ReadonlyMap<NodeId, ClockLine>,
  isUp: Set<NodeId>,
  event: PlainObject,
  at: Micros,
): void {
  const { crash, suspend, forMs, skew, byMs, drift, ppm } = event as { readonly [field: string]: unknown }
  const lineOf = (node: unknown): ClockLine | undefined => lines.get(node as NodeId)
  if (crash !== undefined && event['afterEffects'] === undefined) {
    lineOf(crash)?.wake(at)
    isUp.delete(crash as NodeId)
  }
  if (typeof forMs === 'number' && isUp.has(suspend as NodeId)) lineOf(suspend)?.suspend(at, microsOf(forMs))
  if (typeof byMs === 'number') lineOf(skew)?.skew(at, microsOf(byMs))
  if (typeof ppm === 'number') lineOf(drift)?.setRate(at, 1 + ppm / 1_000_000)
}

/** The rate before the first `drift`: from the longest stretch of steps in which nothing touched the clock. */
function firstRate(node: NodeId, records: readonly TraceRecord[]): number {
  let first: Point | null = null
  let last: Point | null = null
  let rate = 1
  let longest = 0
  const measure = (): void => {
    if (first !== null && last !== null && last.at - first.at > longest) {
      longest = last.at - first.at
      rate = (last.now - first.now) / longest
    }
    first = null
    last = null
  }
  for (const record of records) {
    if (record.type === 'world') {
      const { event } = record
      const touches = [event['suspend'], event['skew'], event['drift']].includes(node)
      if (touches) measure()
      if (event['drift'] === node) return rate
    } else if ('now' in record && record.node === node) {
      // A suspension of a recorded process shows only when it wakes.
      if (record.type === 'step' && record.input.type === 'suspended') measure()
      first ??= record
      last = record
    }
  }
  measure()
  return rate
}
