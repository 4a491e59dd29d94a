/** `conclave replay --why`: the causes of one line of a trace. */
import { type Definition, msOf } from '../../core/index.ts'
import { asRecorded } from '../../workbench/forensics/replay.ts'
import { type Cause, causesOf, type Trace, type TraceRecord } from '../../workbench/trace/index.ts'
import { EXIT, UsageError } from '../errors.ts'
import { print, printJson } from '../output.ts'
import { parseWholeNumber } from '../values.ts'

/** The header is line 1. */
const FIRST_RECORD = 2

export function explainLine(trace: Trace, definition: Definition, text: string, isJson: boolean): number {
  const line = parseWholeNumber('--why', text, FIRST_RECORD)
  const last = trace.records.length + FIRST_RECORD - 1
  if (line > last) throw new UsageError(`--why ${line}: the trace has ${last} lines`)
  const causes = causesOf(trace, asRecorded(definition, trace.header), line - FIRST_RECORD)
  if (isJson)
    printJson({ causes: causes.map((cause) => ({ ...showCause(trace, cause), because: cause.because })) })
  else
    for (const cause of causes) {
      const { atMs, line: at, text: what } = showCause(trace, cause)
      print(`line ${at}, ${atMs} ms: ${what}`)
      if (cause.because !== null) print(`  because ${cause.because}`)
    }
  return EXIT.ok
}

function showCause({ records }: Trace, { record, text }: Cause) {
  const { at } = records[record] as TraceRecord
  return { line: record + FIRST_RECORD, atMs: msOf(at), text }
}
