/** Opens traces: of a simulation, or the black boxes of the agents of one group. */
import type { View } from '../../../../src/core/index.ts'
import { present } from '../../../../src/core/index.ts'
import {
  eventsOf,
  matchMessages,
  mergedTrace,
  runsOf,
  scaleOf,
  type TraceFile,
} from '../../../../src/workbench/forensics/index.ts'
import { asRecorded, checkedOptions, replayRuns } from '../../../../src/workbench/forensics/replay.ts'
import { judge } from '../../../../src/workbench/forensics/verdict.ts'
import { promisedSpecs } from '../../../../src/workbench/scenario/index.ts'
import { type SpecVerdict, specNamed } from '../../../../src/workbench/specs/index.ts'
import { InvalidTraceError, readTrace, replay, type Trace } from '../../../../src/workbench/trace/index.ts'
import { EngineError } from './engine-error.ts'
import type { Verdict } from './picture.ts'
import type { RecordedRun } from './recorded-run.ts'
import { MOST_NODES_SHOWN, MOST_RECORDS, type Protocols } from './run.ts'

export type NamedText = { readonly name: string; readonly text: string }
export type Opened = { readonly run: RecordedRun; readonly notice: string | null }

const DIFFERS =
  'another version wrote it, or it is damaged: the code of this page does not take the same steps. All up to there is shown.'

export function openTraces(files: readonly NamedText[], protocols: Protocols): Opened {
  const traces = files.map(({ name, text }): TraceFile => ({ file: name, trace: readNamed(name, text) }))
  const [first] = traces
  if (first === undefined) throw refusal(null, 'no file was opened')
  if (first.trace.header.recording !== undefined) return openRecordings(traces, protocols)
  if (traces.length > 1)
    throw refusal(null, 'several traces can be opened together only if they come from agents; open one trace')
  return openTrace(first, protocols)
}

function readNamed(name: string, text: string): Trace {
  try {
    return readTrace(text)
  } catch (error) {
    if (error instanceof InvalidTraceError) throw locateError(name, error)
    throw error
  }
}

function locateError(name: string, { message }: Error): EngineError {
  const match = /^(?:.*: )?(line \d+)(?::| is)/.exec(message)
  const rest = message.startsWith(`${name}: `) ? message.slice(name.length + 2) : message
  return refusal(match?.[1] === undefined ? name : `${name} ${match[1]}`, rest.replace(/^line \d+:? /, ''))
}

function refusal(place: string | null, message: string): EngineError {
  return new EngineError([{ place, message }])
}

function definitionFor({ header }: Trace, name: string, { lookup }: Protocols): RecordedRun['definition'] {
  const definition = lookup.find(header.protocol)
  if (definition === null)
    throw refusal(
      `${name} line 1`,
      `the protocol "${header.protocol}" is not one of ${lookup.names.join(', ')}; load its module first`,
    )
  if (header.nodes.length > MOST_NODES_SHOWN)
    throw refusal(
      `${name} line 1`,
      `${header.nodes.length} nodes: the playground shows at most ${MOST_NODES_SHOWN}`,
    )
  return definition
}

const UNJUDGED = 'not judged: a trace does not show everything that specifications refer to; run its scenario'

/** Specifications judge a run while it takes place: of a trace, the list shows what was promised. */
function unjudged(
  definition: RecordedRun['definition'],
  { header }: Trace,
  { specsFor }: Protocols,
): readonly Verdict[] {
  const specs = specsFor(definition).specs ?? promisedSpecs(definition, header.options)
  return specs.map(({ name, title }) => {
    return { name, title, verdict: 'vacuous', why: UNJUDGED, judged: 0, at: null, moment: null }
  })
}

/** The trace of a simulation. */
function openTrace({ file, trace }: TraceFile, protocols: Protocols): Opened {
  const definition = asRecorded(definitionFor(trace, file, protocols), trace.header)
  const { difference } = attempt(file, () => replay(trace, definition))
  const end = difference === null ? trace.records.length : difference.line - 2
  const records = trace.records.slice(0, Math.min(end, MOST_RECORDS))
  const notice = difference === null ? tooLong(trace) : `${file} line ${difference.line}: ${DIFFERS}`
  const run: RecordedRun = {
    definition,
    header: trace.header,
    records,
    scenario: null,
    isUntimed: !records.some((record) => 'now' in record && record.now !== 0),
    endsAt: records.at(-1)?.at ?? 0,
    cutShort: notice,
    verdicts: unjudged(definition, trace, protocols),
    goals: [],
    views: new Map(),
    measured: null,
  }
  return { run, notice }
}

function tooLong({ records }: Trace): string | null {
  if (records.length <= MOST_RECORDS) return null
  return `the trace has ${records.length.toLocaleString('en')} records; the first ${MOST_RECORDS.toLocaleString('en')} are shown`
}

function attempt<T>(file: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof InvalidTraceError) throw locateError(file, error)
    throw error
  }
}

/** The black boxes of real processes, merged on one time scale and judged, as `conclave replay` does. */
function openRecordings(files: readonly TraceFile[], protocols: Protocols): Opened {
  const [{ file, trace }] = files as [TraceFile, ...TraceFile[]]
  const definition = definitionFor(trace, file, protocols)
  const runs = attempt(file, () => runsOf(files))
  const first = present(runs[0], 'run')
  const other = runs.find(({ recording }) => recording.group !== first.recording.group)
  if (other !== undefined)
    throw refusal(
      null,
      `the black boxes are from two groups, ${first.recording.group} and ${other.recording.group}; open those of one group`,
    )
  const options = attempt(file, () => checkedOptions(definition, first, file))
  const replayed = attempt(file, () => replayRuns(runs, definition))
  if (replayed.difference !== null)
    throw refusal(
      `${replayed.difference.file} line ${replayed.difference.line}`,
      'another version of Conclave wrote this black box, or it is damaged: the code of this page does not take the same steps; use the playground of that version',
    )
  const messages = matchMessages(runs)
  const { rhoPpm = 0 } = definition.constants(options, first.header.nodes.length)
  const scale = scaleOf(runs, messages.records, { rho: rhoPpm / 1_000_000, wallError: null })
  const events = eventsOf(runs, scale, messages)
  const merged = mergedTrace(first.header, events, messages, replayed.views)
  const views = new Map<number, View>()
  for (const [index, { step }] of events.entries()) {
    const view = replayed.views.get(step)
    if (view !== undefined && step.record.type === 'resume') views.set(index, view)
  }
  const { specs } = judge(definition, options, runs, events, scale, replayed)
  const records = merged.records.slice(0, MOST_RECORDS)
  const missing = first.header.nodes.filter((node) => !runs.some((run) => run.node === node))
  const run: RecordedRun = {
    definition: asRecorded(definition, merged.header),
    header: merged.header,
    records,
    scenario: null,
    isUntimed: false,
    endsAt: records.at(-1)?.at ?? 0,
    cutShort: tooLong(merged),
    verdicts: specs.map((spec) => verdictOf(spec, records)),
    goals: [],
    views,
    measured: null,
  }
  return { run, notice: noticeOf(missing, scale.error) }
}

function noticeOf(missing: readonly unknown[], error: number | null): string | null {
  const parts = [
    ...(missing.length === 0 ? [] : [`there is no black box of ${missing.join(', ')}`]),
    ...(error === null ? ['no message relates the clocks of these hosts, so leases cannot be compared'] : []),
  ]
  return parts.length === 0 ? null : parts.join('; ')
}

function verdictOf(spec: SpecVerdict, records: RecordedRun['records']): Verdict {
  const { name } = spec
  const title = specNamed(name)?.title ?? name
  const none = { name, title, judged: 0, at: null, moment: null }
  if (spec.verdict === 'held')
    return {
      ...none,
      verdict: 'held',
      judged: spec.judged,
      why: `judged ${spec.judged.toLocaleString('en')} times`,
    }
  if (spec.verdict === 'vacuous') return { ...none, verdict: 'vacuous', why: spec.why }
  const at = Math.round(spec.atMs * 1000)
  const moment = Math.max(
    0,
    records.findLastIndex((record) => record.at <= at),
  )
  return { ...none, verdict: 'violated', why: spec.why, at, moment, judged: 1 }
}
