/** `conclave qos`: measures the failure detectors of a recorded run. */
import { Command } from 'commander'
import { qosOfTrace } from '../workbench/trace/index.ts'
import { EXIT } from './errors.ts'
import { readTraceFile } from './input-files.ts'
import { print, printJson, printNote } from './output.ts'
import { formatQos, formatQosPairs } from './qos-text.ts'

export function qosCommand(): Command {
  return new Command('qos')
    .description('measure the quality of service of the failure detectors in a trace: speed and mistakes')
    .argument('<trace>', 'trace file (NDJSON), as written by "conclave sim --trace"')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Examples:
  conclave sim examples/first-election.json --trace run.ndjson
  conclave qos run.ndjson
  conclave qos run.ndjson --json

The measures are those of Chen, Toueg and Aguilera (docs/explanation/detectors.md). Exit code 0, or 2 for bad input.`,
    )
    .action((file: string, flags: { readonly json?: true }) => {
      process.exitCode = run(file, flags)
    })
}

function run(file: string, flags: { readonly json?: true }): number {
  const qos = qosOfTrace(readTraceFile(file))
  if (flags.json === true) printJson({ qos })
  else if (qos === null) printNote('this trace has no failure detector; nothing to measure')
  else {
    print(formatQosPairs(qos.pairs))
    print('')
    print(formatQos(qos.all))
  }
  return EXIT.ok
}
