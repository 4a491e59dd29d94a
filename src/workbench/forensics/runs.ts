/**
 * Sorts traces of real processes into runs: one per process, from its first recorded step to its last. Two traces of
 * one run may overlap or leave a gap; steps in both count once.
 */
import type { NodeId } from '../../core/index.ts'
import { InvalidTraceError, type Trace } from '../trace/ndjson.ts'
import type { Recording, TraceHeader, TraceRecord } from '../trace/records.ts'

export type TraceFile = { readonly file: string; readonly trace: Trace }

export type StepRecord = TraceRecord & { readonly type: 'start' | 'step' | 'resume' }

/** A record with its file and line. */
export type Placed = { readonly record: StepRecord; readonly file: string; readonly line: number }

export type Run = {
  readonly node: NodeId
  readonly header: TraceHeader
  readonly recording: Recording
  readonly steps: readonly Placed[]
  /** The number of steps that are missing, before the first one and in gaps. */
  readonly skipped: number
}

type Piece = {
  readonly header: TraceHeader
  readonly recording: Recording
  readonly steps: readonly Placed[]
}

/** Ordered by node, and the runs of a node by their end. */
export function runsOf(files: readonly TraceFile[]): readonly Run[] {
  const pieces = files.map(pieceOf)
  const names = [...new Set(pieces.map(({ recording }) => recording.run))]
  const runs = names.map((name) => joinPieces(pieces.filter(({ recording }) => recording.run === name)))
  const wallEnd = ({ recording }: Run): number => recording.takenAt + recording.wallAhead
  return runs.toSorted((a, b) => String(a.node).localeCompare(String(b.node)) || wallEnd(a) - wallEnd(b))
}

function pieceOf({ file, trace }: TraceFile): Piece {
  const { recording } = trace.header
  if (recording === undefined)
    throw new InvalidTraceError(
      `${file}: not a trace of a real process; replay it alone (conclave replay ${file})`,
    )
  const steps = trace.records.map((record, index): Placed => {
    const line = index + 2
    if (record.type !== 'start' && record.type !== 'step' && record.type !== 'resume')
      throw new InvalidTraceError(
        `${file}: line ${line}: must be a start, step or resume, not ${record.type}`,
      )
    if (record.node !== recording.node)
      throw new InvalidTraceError(
        `${file}: line ${line}: belongs to ${record.node}, but the header to ${recording.node}`,
      )
    return { record, file, line }
  })
  return { header: trace.header, recording, steps }
}

/**
 * Joins the traces of one run. Steps that occur in an earlier trace are skipped, and a gap starts with its `resume`.
 */
function joinPieces(pieces: readonly Piece[]): Run {
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
