/** `conclave draw`: draws a recorded trace as SVG. */
import { writeFileSync } from 'node:fs'
import { Command } from 'commander'
import { asRecorded } from '../workbench/forensics/replay.ts'
import { drawTrace } from '../workbench/trace/index.ts'
import { UsageError } from './errors.ts'
import { readTraceFile } from './input-files.ts'
import { findProtocol, loadProtocols } from './load.ts'
import { printJson, printNote } from './output.ts'
import { parseMilliseconds } from './values.ts'

type DrawFlags = {
  readonly out?: string
  readonly from?: string
  readonly to?: string
  readonly all?: true
  readonly title?: string
  readonly load?: string
  readonly json?: true
}

export function drawCommand(): Command {
  return new Command('draw')
    .description(
      'draw a recorded trace as a space-time diagram (SVG): time runs downwards, one lane per node',
    )
    .argument('<trace>', 'trace file (NDJSON), as written by "conclave sim --trace"')
    .option('--out <file>', 'write the SVG to this file instead of standard output')
    .option('--from <ms>', 'start at this moment of true time (for a schedule: at this step)')
    .option('--to <ms>', 'end at this moment')
    .option('--all', 'include heartbeats and other background messages')
    .option('--title <text>', "title of the diagram (default: the protocol's name and the number of nodes)")
    .option('--load <file>', 'load a module with your own protocol')
    .option('--json', 'print one JSON object: the SVG as "svg", or with --out the file as "out"')
    .addHelpText(
      'after',
      `
Examples:
  conclave sim examples/first-election.json --trace run.ndjson
  conclave draw run.ndjson > run.svg
  conclave draw run.ndjson --from 990 --to 1200 --title "The coordinator crashes" --out failover.svg
  conclave draw run.ndjson --all --from 1000 --to 1100 --out heartbeats.svg
  conclave replay a.ndjson b.ndjson c.ndjson --merged real.ndjson && conclave draw real.ndjson --out real.svg

Long stretches without events are left out and marked. The diagram is readable on light and dark pages.
Exit code 0 on success, 2 for bad input: not a trace, an empty range, a file that cannot be written.`,
    )
    .action(async (file: string, flags: DrawFlags) => {
      await run(file, flags)
    })
}

async function run(file: string, flags: DrawFlags): Promise<void> {
  const fromMs = flags.from === undefined ? null : parseMilliseconds('--from', flags.from)
  const toMs = flags.to === undefined ? null : parseMilliseconds('--to', flags.to)
  if (fromMs !== null && toMs !== null && toMs < fromMs) {
    throw new UsageError(
      `--from ${flags.from} --to ${flags.to}: the range is reversed; write --from ${flags.to} --to ${flags.from}`,
      '--to',
    )
  }
  const trace = readTraceFile(file)
  const { recording } = trace.header
  if (recording !== undefined && trace.header.nodes.length > 1)
    printNote(
      `${file} is the recording of ${recording.node} alone, without messages: merge the recordings of all nodes first, with "conclave replay TRACES --merged FILE"`,
    )
  const { lookup } = await loadProtocols(flags.load)
  const { kinds, carried } = asRecorded(findProtocol(lookup, trace.header.protocol), trace.header)
  const svg = drawTrace(trace, {
    kinds,
    carried,
    all: flags.all === true,
    fromMs,
    toMs,
    title: flags.title ?? null,
  })
  if (flags.out === undefined) {
    if (flags.json === true) printJson({ svg })
    // The SVG contains no control characters except line breaks.
    else process.stdout.write(svg)
    return
  }
  try {
    writeFileSync(flags.out, svg)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new UsageError(`--out ${flags.out}: cannot be written (${code})`, '--out')
  }
  if (flags.json === true) printJson({ out: flags.out })
  else printNote(`wrote ${flags.out}`)
}
