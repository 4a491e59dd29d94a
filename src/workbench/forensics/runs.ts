/**
 * Traces that real processes have kept, put in order: one run for each process, from its first known step to its last.
 * Two traces of one run overlap or leave a gap; what both have is taken once.
 */
import type { NodeId } from '../../core/index.ts'
import { InvalidTraceError, type Trace } from '../trace/ndjson.ts'
import type { Recording, TraceHeader, TraceRecord } from '../trace/records.ts'

export type TraceFile = { readonly file: string; readonly trace: Trace }

export type Turn = TraceRecord & { readonly type: 'start' | 'step' | 'resume' }

/** A record with the place where it stands. */
export type Placed = { readonly record: Turn; readonly file: string; readonly line: number }

export type Run = {
  readonly node: NodeId
  readonly header: TraceHeader
  readonly recording: Recording
  readonly steps: readonly Placed[]
  /** How many steps before the first are not kept, and between those that are. */
  readonly skipped: number
}

type Piece = {
  readonly header: TraceHeader
  readonly recording: Recording
  readonly steps: readonly Placed[]
}

/** In the order of nodes, and for each node of its runs as they ended. */
export function runsOf(files: readonly TraceFile[]): readonly Run[] {
  const pieces = files.map(pieceOf)
  const names = [...new Set(pieces.map(({ recording }) => recording.run))]
  const runs = names.map((name) => joined(pieces.filter(({ recording }) => recording.run === name)))
  const wallEnd = ({ recording }: Run): number => recording.takenAt + recording.wallAhead
  return runs.toSorted((a, b) => String(a.node).localeCompare(String(b.node)) || wallEnd(a) - wallEnd(b))
}

function pieceOf({ file, trace }: TraceFile): Piece {
  const { recording } = trace.header
  if (recording === undefined)
    throw new InvalidTraceError(
      `${file}: not a trace of a real process: replay it alone (conclave replay ${file})`,
    )
  const steps = trace.records.map((record, index): Placed => {
    const line = index + 2
    if (record.type !== 'start' && record.type !== 'step' && record.type !== 'resume')
      throw new InvalidTraceError(`${file}: line ${line}: a real process records no ${record.type}`)
    if (record.node !== recording.node)
      throw new InvalidTraceError(
        `${file}: line ${line}: is of ${record.node}, but the header is of ${recording.node}`,
      )
    return { record, file, line }
  })
  return { header: trace.header, recording, steps }
}

/** `number` of the next step: those that are known already are left out, and a gap begins with its `resume`. */
function joined(pieces: readonly Piece[]): Run {
  const ordered = pieces.toSorted((a, b) => a.recording.skipped - b.recording.skipped)
  const steps: Placed[] = []
  let next = 0
  let skipped = 0
  for (const piece of ordered) {
    const [first] = piece.steps
    const begin = first?.record.type === 'resume' ? 1 : 0
    const known = next - piece.recording.skipped
    if (known < 0 || steps.length === 0) {
      skipped += piece.recording.skipped - next
      steps.push(...piece.steps)
    } else steps.push(...piece.steps.slice(begin + known))
    next = Math.max(next, piece.recording.skipped + piece.steps.length - begin)
  }
  const last = ordered.toSorted((a, b) => a.recording.takenAt - b.recording.takenAt).at(-1) as Piece
  const { header, recording } = last
  return { node: recording.node, header, recording, steps, skipped }
}
