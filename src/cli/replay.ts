/** `conclave replay`: a recorded trace through the same code again, told as a story, or compared with another. */
import { Command } from 'commander'
import { diffTraces, replay, type Trace, transcriptLine } from '../trace/index.ts'
import { EXIT } from './errors.ts'
import { find, load } from './load.ts'
import { count, print, printJson } from './output.ts'
import { traceFile } from './trace-file.ts'

type ReplayFlags = {
  readonly transcript?: true
  readonly all?: true
  readonly diff?: string
  readonly load?: string
  readonly json?: true
}

export function replayCommand(): Command {
  return new Command('replay')
    .description('run a recorded trace through the protocol code again and compare every effect')
    .argument('<trace>', 'trace file (NDJSON), as written by "conclave sim --trace"')
    .option('--transcript', 'tell the trace, line by line')
    .option('--all', 'with --transcript: everything, heartbeats too')
    .option('--diff <other>', 'say where this trace and another part')
    .option('--load <file>', 'a module with a protocol of your own')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Examples:
  conclave sim examples/first-election.json --trace run.ndjson
  conclave replay run.ndjson
  conclave replay run.ndjson --transcript
  conclave replay run.ndjson --diff other.ndjson

Exit code 0 when all effects are identical (or the traces are), 1 when they differ, 2 for bad input.`,
    )
    .action(async (file: string, flags: ReplayFlags) => {
      process.exitCode = await run(file, flags)
    })
}

async function run(file: string, flags: ReplayFlags): Promise<number> {
  const trace = traceFile(file)
  if (flags.diff !== undefined) return compare(trace, traceFile(flags.diff), flags)
  const { lookup } = await load(flags.load)
  const definition = find(lookup, trace.header.protocol)
  if (flags.transcript === true && flags.json !== true) {
    for (const record of trace.records) {
      const line = transcriptLine(record, { kinds: definition.kinds, all: flags.all === true })
      if (line !== null) print(line)
    }
    print('')
  }
  const result = replay(trace, definition)
  const { steps, difference } = result
  if (flags.json === true) printJson({ ...result, identical: difference === null })
  else if (difference === null) print(`${count(steps)} steps replayed: all effects are identical`)
  else {
    print(`line ${difference.line}: node ${difference.node} answers differently now`)
    print(`  recorded ${JSON.stringify(difference.recorded)}`)
    print(`  replayed ${JSON.stringify(difference.replayed)}`)
  }
  return difference === null ? EXIT.ok : EXIT.failure
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
