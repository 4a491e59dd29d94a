/** Runs the scenario in a file, and writes its trace, its transcript and its report. */
import { closeSync, openSync, writeSync } from 'node:fs'
import { type Definition, present } from '../../core/index.ts'
import {
  parseScenario,
  promisedSpecs,
  type Report,
  runScenario,
  type Scenario,
  traceHeader,
} from '../../workbench/sim/index.ts'
import { specs as allSpecs, type Spec, specNamed } from '../../workbench/specs/index.ts'
import { type TraceRecord, Transcript, traceLine } from '../../workbench/trace/index.ts'
import { EXIT, UsageError } from '../errors.ts'
import { useScenarioFile } from '../input-files.ts'
import { type Loaded, loadProtocols } from '../load.ts'
import { print, printJson } from '../output.ts'
import { parseWholeNumber } from '../values.ts'
import { formatReport } from './text.ts'

export type ScenarioFlags = {
  readonly seed?: string
  readonly trace?: string
  readonly transcript?: true
  readonly all?: true
  readonly strict?: true
  readonly spec?: readonly string[]
  readonly load?: string
  readonly json?: true
}

/** Returns the exit code. */
export async function runScenarioFile(file: string, flags: ScenarioFlags): Promise<number> {
  const protocols = await loadProtocols(flags.load)
  const report = useScenarioFile(file, (content) => runContent(content, flags, protocols))
  if (flags.json === true) printJson(report)
  else print(formatReport(report))
  return report.specs.some(({ verdict }) => verdict === 'violated') ? EXIT.violated : EXIT.ok
}

function runContent(content: unknown, flags: ScenarioFlags, { lookup, specsFor }: Loaded): Report {
  const parsed = parseScenario(content, lookup)
  const scenario =
    flags.seed === undefined ? parsed : { ...parsed, seed: parseWholeNumber('--seed', flags.seed, 0) }
  const definition = present(lookup.find(scenario.protocol), 'protocol')
  const own = specsFor(definition)
  const sinks = [openTrace(flags, scenario), openTranscript(flags, definition)].filter(
    (sink) => sink !== null,
  )
  const report = runScenario(definition, scenario, {
    ...own,
    ...addSpecs(flags.spec ?? [], own.specs ?? promisedSpecs(definition, scenario.options)),
    strict: flags.strict === true,
    ...(sinks.length === 0 ? {} : { record: (record) => sinks.forEach((sink) => sink.write(record)) }),
  })
  for (const sink of sinks) sink.end()
  return report
}

/** The specifications of a run with those named by --spec; empty if there are none, so that the defaults apply. */
export function addSpecs(
  names: readonly string[],
  specs: readonly Spec[],
): { readonly specs?: readonly Spec[] } {
  return names.length === 0 ? {} : { specs: [...specs, ...names.map((name) => findSpec(name, '--spec'))] }
}

export function findSpec(name: string, flag: string): Spec {
  const spec = specNamed(name)
  if (spec !== null) return spec
  const known = allSpecs.map((each) => each.name).join(', ')
  throw new UsageError(`${flag} ${name}: unknown specification; use one of ${known}`, flag)
}

type RecordSink = { write(record: TraceRecord): void; end(): void }

/** Lines that are buffered before they are written to the trace file. */
const BUFFERED_LINES = 1000

function openTrace({ trace: file }: ScenarioFlags, scenario: Scenario): RecordSink | null {
  if (file === undefined) return null
  let descriptor: number
  try {
    descriptor = openSync(file, 'w')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new UsageError(`--trace ${file}: cannot be written (${code})`, '--trace')
  }
  let buffer = [traceLine(traceHeader(scenario))]
  const flush = (): void => {
    writeSync(descriptor, `${buffer.join('\n')}\n`)
    buffer = []
  }
  return {
    write(record) {
      buffer.push(traceLine(record))
      if (buffer.length >= BUFFERED_LINES) flush()
    },
    end() {
      if (buffer.length > 0) flush()
      closeSync(descriptor)
    },
  }
}

function openTranscript(flags: ScenarioFlags, definition: Definition): RecordSink | null {
  if (flags.transcript !== true || flags.json === true) return null
  const transcript = new Transcript({ ...definition, all: flags.all === true })
  return {
    write(record) {
      const line = transcript.line(record)
      if (line !== null) print(line)
    },
    end() {
      print('')
    },
  }
}
