/** `conclave replay`: runs a recorded trace through the protocol code again, prints it, or compares two traces. */
import { Command } from 'commander'
import type { Definition } from '../core/index.ts'
import { count } from '../core/text.ts'
import { type TraceFile } from '../workbench/forensics/index.ts'
import { asRecorded } from '../workbench/forensics/replay.ts'
import { diffTraces, replay, type Trace, Transcript } from '../workbench/trace/index.ts'
import { EXIT, UsageError } from './errors.ts'
import { readTraceFile } from './input-files.ts'
import { findProtocol, loadProtocols } from './load.ts'
import { print, printJson } from './output.ts'
import { analyse, exitCodeOf, printRecorded, printRecordedJson, writeMerged } from './replay/recorded.ts'
import { explainLine } from './replay/why.ts'
import { parseMilliseconds } from './values.ts'

type ReplayFlags = {
  readonly transcript?: true
  readonly all?: true
  readonly diff?: string
  readonly why?: string
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
      'a trace (NDJSON) from "conclave sim --trace", or the traces of all agents of a real run',
    )
    .option('--transcript', 'print the trace, one line per step')
    .option('--all', 'with --transcript: include heartbeats and other background messages')
    .option('--diff <other>', 'show the first difference from another trace')
    .option('--why <line>', 'explain a line of the trace file: its causes, back to an event or a start')
    .option('--load <file>', 'load a module with your own protocol')
    .option('--clock-error-ms <ms>', 'real runs: maximum difference between the wall clocks of the hosts')
    .option('--merged <file>', 'real runs: write one merged trace, for "conclave draw" and "conclave qos"')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Examples:
  conclave sim examples/first-election.json --trace run.ndjson
  conclave replay run.ndjson
  conclave replay run.ndjson --transcript
  conclave replay run.ndjson --diff other.ndjson
  conclave replay run.ndjson --why 42

For a real run, fetch the trace of every agent and replay them together. docs/how-to/replay-a-black-box.md explains the
report.
  curl -s http://10.0.0.1:7480/v1/trace > a.ndjson
  conclave replay a.ndjson b.ndjson c.ndjson

Exit code 0 if all effects are identical (with --diff: the traces), 1 if they differ, 2 for bad input, 6 if a real run
violated a specification.`,
    )
    .action(async (files: readonly string[], flags: ReplayFlags) => {
      process.exitCode = await run(files, flags)
    })
}

async function run(files: readonly string[], flags: ReplayFlags): Promise<number> {
  const [first, ...rest] = files.map((file): TraceFile => ({ file, trace: readTraceFile(file) }))
  const { trace } = first as TraceFile
  if (flags.why !== undefined && rest.length === 0) {
    const { lookup } = await loadProtocols(flags.load)
    return explainLine(trace, findProtocol(lookup, trace.header.protocol), flags.why, flags.json === true)
  }
  if (flags.why !== undefined)
    throw new UsageError('--why explains a line of one trace; write one with --merged, and explain that')
  if (trace.header.recording !== undefined && flags.diff === undefined)
    return replayRealRun([first as TraceFile, ...rest], flags)
  if (rest.length > 0)
    throw new UsageError(
      'several traces can be replayed together only if they come from agents; replay one trace at a time',
    )
  if (flags.diff !== undefined) return compare(trace, readTraceFile(flags.diff), flags)
  const { lookup } = await loadProtocols(flags.load)
  const definition = findProtocol(lookup, trace.header.protocol)
  if (flags.transcript === true && flags.json !== true) printTranscript(trace, definition, flags.all === true)
  const result = replay(trace, asRecorded(definition, trace.header))
  const { steps, difference, failure } = result
  if (flags.json === true) printJson({ ...result, identical: difference === null })
  else if (difference === null) {
    if (failure !== null)
      print(`line ${failure.line}: node ${failure.node} fails at this step: ${failure.error}`)
    print(`${count(steps)} steps replayed: all effects are identical`)
  } else {
    print(`line ${difference.line}: node ${difference.node} responds differently now`)
    print(`  recorded ${JSON.stringify(difference.recorded)}`)
    print(`  replayed ${JSON.stringify(difference.replayed)}`)
  }
  return difference === null ? EXIT.ok : EXIT.failure
}

function printTranscript({ header, records }: Trace, definition: Definition, all: boolean): void {
  const transcript = new Transcript({ ...asRecorded(definition, header), all })
  for (const record of records) {
    const line = transcript.line(record)
    if (line !== null) print(line)
  }
  print('')
}

/** Judges a real run from the traces of its nodes. */
async function replayRealRun(files: readonly TraceFile[], flags: ReplayFlags): Promise<number> {
  const { lookup } = await loadProtocols(flags.load)
  const definition = findProtocol(lookup, files[0]?.trace.header.protocol ?? '')
  const clockErrorMs =
    flags.clockErrorMs === undefined ? null : parseMilliseconds('--clock-error-ms', flags.clockErrorMs)
  const analysis = analyse(files, definition, clockErrorMs)
  if (flags.merged !== undefined) writeMerged(analysis, flags.merged)
  if (flags.json === true) printRecordedJson(analysis)
  else {
    if (flags.transcript === true) printTranscript(analysis.merged, definition, flags.all === true)
    printRecorded(analysis)
  }
  return exitCodeOf(analysis)
}

function compare(left: Trace, right: Trace, flags: ReplayFlags): number {
  const difference = diffTraces(left, right)
  if (flags.json === true) printJson({ identical: difference === null, difference })
  else if (difference === null) print('the traces are identical')
  else {
    print(`the traces differ at line ${difference.line}`)
    print(`  ${JSON.stringify(difference.left)}`)
    print(`  ${JSON.stringify(difference.right)}`)
  }
  return difference === null ? EXIT.ok : EXIT.failure
}
