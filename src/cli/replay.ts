/** `conclave replay`: a recorded trace through the same code again, told as a story, or compared with another. */
import { Command } from 'commander'
import type { Definition } from '../core/index.ts'
import { count } from '../core/text.ts'
import { type TraceFile } from '../workbench/forensics/index.ts'
import { diffTraces, replay, type Trace, transcriptLine } from '../workbench/trace/index.ts'
import { EXIT, UsageError } from './errors.ts'
import { readTraceFile } from './input-files.ts'
import { findProtocol, loadProtocols } from './load.ts'
import { print, printJson } from './output.ts'
import { codeOf, printRecorded, printRecordedJson, understand, writeMerged } from './replay/recorded.ts'
import { parseMilliseconds } from './values.ts'

type ReplayFlags = {
  readonly transcript?: true
  readonly all?: true
  readonly diff?: string
  readonly load?: string
  readonly clockErrorMs?: string
  readonly merged?: string
  readonly json?: true
}

export function replayCommand(): Command {
  return new Command('replay')
    .description('run a recorded trace through the protocol code again and compare every effect')
    .argument(
      '<traces...>',
      'a trace (NDJSON) of "conclave sim --trace", or those of all agents of a real run',
    )
    .option('--transcript', 'tell the trace, line by line')
    .option('--all', 'with --transcript: everything, heartbeats too')
    .option('--diff <other>', 'say where this trace and another part')
    .option('--load <file>', 'a module with a protocol of your own')
    .option('--clock-error-ms <ms>', 'real runs: how far the wall clocks of the hosts are apart at most')
    .option('--merged <file>', 'real runs: write all traces as one, for "conclave draw" and "conclave qos"')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Examples:
  conclave sim examples/first-election.json --trace run.ndjson
  conclave replay run.ndjson
  conclave replay run.ndjson --transcript
  conclave replay run.ndjson --diff other.ndjson

A real run: fetch the trace of every agent, then judge them together. docs/how-to/replay-a-black-box.md explains the report.
  curl -s http://10.0.0.1:7480/v1/trace > a.ndjson
  conclave replay a.ndjson b.ndjson c.ndjson

Exit code 0 when all effects are identical (or the traces are), 1 when they differ, 2 for bad input, 6 when a promise was
broken in a real run.`,
    )
    .action(async (files: readonly string[], flags: ReplayFlags) => {
      process.exitCode = await run(files, flags)
    })
}

async function run(files: readonly string[], flags: ReplayFlags): Promise<number> {
  const [first, ...rest] = files.map((file): TraceFile => ({ file, trace: readTraceFile(file) }))
  const { trace } = first as TraceFile
  if (trace.header.recording !== undefined && flags.diff === undefined)
    return recorded([first as TraceFile, ...rest], flags)
  if (rest.length > 0)
    throw new UsageError('several traces are replayed together only when real processes have kept them')
  if (flags.diff !== undefined) return compare(trace, readTraceFile(flags.diff), flags)
  const { lookup } = await loadProtocols(flags.load)
  const definition = findProtocol(lookup, trace.header.protocol)
  if (flags.transcript === true && flags.json !== true) tell(trace, definition, flags.all === true)
  const result = replay(trace, definition)
  const { steps, difference, failure } = result
  if (flags.json === true) printJson({ ...result, identical: difference === null })
  else if (difference === null) {
    if (failure !== null)
      print(`line ${failure.line}: node ${failure.node} fails at this step: ${failure.error}`)
    print(`${count(steps)} steps replayed: all effects are identical`)
  } else {
    print(`line ${difference.line}: node ${difference.node} answers differently now`)
    print(`  recorded ${JSON.stringify(difference.recorded)}`)
    print(`  replayed ${JSON.stringify(difference.replayed)}`)
  }
  return difference === null ? EXIT.ok : EXIT.failure
}

function tell({ records }: Trace, { kinds }: Definition, all: boolean): void {
  for (const record of records) {
    const line = transcriptLine(record, { kinds, all })
    if (line !== null) print(line)
  }
  print('')
}

/** A real run, from the traces that its processes have kept. */
async function recorded(files: readonly TraceFile[], flags: ReplayFlags): Promise<number> {
  const { lookup } = await loadProtocols(flags.load)
  const definition = findProtocol(lookup, files[0]?.trace.header.protocol ?? '')
  const clockErrorMs =
    flags.clockErrorMs === undefined ? null : parseMilliseconds('--clock-error-ms', flags.clockErrorMs)
  const real = understand(files, definition, clockErrorMs)
  if (flags.merged !== undefined) writeMerged(real, flags.merged)
  if (flags.json === true) printRecordedJson(real)
  else {
    if (flags.transcript === true) tell(real.merged, definition, flags.all === true)
    printRecorded(real)
  }
  return codeOf(real)
}

function compare(left: Trace, right: Trace, flags: ReplayFlags): number {
  const difference = diffTraces(left, right)
  if (flags.json === true) printJson({ identical: difference === null, difference })
  else if (difference === null) print('the traces are identical')
  else {
    print(`the traces part at line ${difference.line}`)
    print(`  ${JSON.stringify(difference.left)}`)
    print(`  ${JSON.stringify(difference.right)}`)
  }
  return difference === null ? EXIT.ok : EXIT.failure
}
