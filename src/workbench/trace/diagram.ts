/**
 * Draws a trace as a space-time diagram (Lamport, "Time, Clocks, and the Ordering of Events in a Distributed
 * System", 1978), with time running downwards.
 *
 * trace -> history (what is shown) -> layout (where) -> SVG (how). All steps are pure, so a web page can draw
 * the same picture as the command line.
 */
import { microsOf, msOf } from '../../core/index.ts'
import { clip, momentsOf } from './diagram/clip.ts'
import { describe } from './diagram/describe.ts'
import { type DiagramHistory, diagramHistory, type Selection } from './diagram/history.ts'
import { type Layout, layoutOf } from './diagram/layout.ts'
import { svgOf } from './diagram/svg.ts'
import type { Trace } from './ndjson.ts'

export type { Arrow } from './diagram/arrows.ts'
export type { DiagramHistory, Flight, LanePeriod, LaneState, Mark, Notice, Stall } from './diagram/history.ts'
export type { Layout } from './diagram/layout.ts'

export type DiagramOptions = Selection & {
  readonly fromMs: number | null
  readonly toMs: number | null
  /** Null: the protocol's name and the number of nodes. */
  readonly title: string | null
}

/** The trace has nothing to draw, or too much. The message says what to select. */
export class UndrawableTraceError extends Error {
  override readonly name = 'UndrawableTraceError'
  readonly code = 'ERR_CONCLAVE_UNDRAWABLE_TRACE'
}

const MOST_NODES = 64
const MOST_MOMENTS = 3000

export function drawTrace(trace: Trace, options: DiagramOptions): string {
  const { history, layout } = diagramOf(trace, options)
  const title = options.title ?? `${trace.header.protocol}, ${trace.header.nodes.length} nodes`
  const shown = new Set(history.flights.map(({ kind }) => kind))
  // The protocol's own kinds come first, in its order, so that a kind looks the same in every picture of a
  // protocol.
  const kinds = [...new Set([...options.kinds, ...shown])]
  return svgOf(history, layout, kinds, { title, description: describe(history) })
}

/** The history and its layout. */
export function diagramOf(
  trace: Trace,
  options: DiagramOptions,
): { readonly history: DiagramHistory; readonly layout: Layout } {
  const { nodes } = trace.header
  if (nodes.length > MOST_NODES) {
    throw new UndrawableTraceError(
      `${nodes.length} nodes are too many for a picture: it holds ${MOST_NODES} lanes`,
    )
  }
  const whole = diagramHistory(trace, options)
  const from = options.fromMs === null ? whole.begin : microsOf(options.fromMs)
  const until = options.toMs === null ? whole.end : microsOf(options.toMs)
  const span = `the trace runs from ${msOf(whole.begin)} to ${msOf(whole.end)} ms`
  if (trace.records.length === 0) throw new UndrawableTraceError('the trace contains only a header')
  if (from > whole.end || until < whole.begin)
    throw new UndrawableTraceError(`nothing happens in that range: ${span}`)
  if (from > until)
    throw new UndrawableTraceError(`the range from ${msOf(from)} to ${msOf(until)} ms is empty`)
  const history = clip(whole, from, until)
  const moments = momentsOf(history).length
  if (moments > MOST_MOMENTS) {
    throw new UndrawableTraceError(
      `${moments} moments are too many for a picture (${MOST_MOMENTS}): choose a shorter range (${span})`,
    )
  }
  return { history, layout: layoutOf(history) }
}
