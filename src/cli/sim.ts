/** `conclave sim`: runs one scenario from a file, or a campaign over many seeds. */
import { Command } from 'commander'
import { UsageError } from './errors.ts'
import { type CampaignFlags, campaign } from './parallel/campaign.ts'
import { runScenarioFile, type ScenarioFlags } from './sim/scenario-file.ts'
import { collect } from './values.ts'

type SimFlags = Partial<CampaignFlags> & ScenarioFlags

export function simCommand(): Command {
  return new Command('sim')
    .description('run a protocol in the simulator: one scenario from a file, or many seeds')
    .argument('[file]', 'scenario file; - for standard input')
    .option('--json', 'print one JSON object')
    .option('--seed <n>', 'use this seed instead of the one in the scenario')
    .option('--trace <file>', 'write the trace (NDJSON) to this file')
    .option('--transcript', 'print what happens, one line per step')
    .option('--all', 'with --transcript: include heartbeats and other background messages')
    .option('--strict', 'check the protocol against the contract at every step (slow)')
    .option(
      '--spec <name>',
      'also check this specification (repeat for more; "conclave specs" lists them)',
      collect,
      [],
    )
    .option('--load <file>', 'load a module with your own protocol')
    .option('--protocol <name>', 'campaign: name of the protocol')
    .option('--nodes <n>', 'campaign: number of nodes, or a range such as 3..7')
    .option('--seeds <range>', 'campaign: seeds to run, such as 1..10000')
    .option(
      '--faults <kinds>',
      'campaign: swarm (all that the protocol tolerates; the default), none, or kinds separated by commas',
    )
    .option('--option <name=value>', 'campaign: set an option of the protocol (repeat for more)', collect, [])
    .option('--workers <n>', 'campaign: number of threads (default: one per core)')
    .addHelpText(
      'after',
      `
Examples:
  conclave sim examples/first-election.json
  conclave sim examples/first-election.json --transcript
  conclave sim scenario.json --json --trace run.ndjson
  conclave sim --protocol bully --nodes 3..5 --seeds 1..10000 --faults swarm
  conclave sim --protocol bully --nodes 3 --seeds 1..500 --option repaired=false

Exit code 0 if all specifications held, 6 if one was violated, 2 for bad input. Ctrl-C ends a campaign, prints what it
has found so far, and exits with 130.`,
    )
    .action(async (file: string | undefined, flags: SimFlags) => {
      process.exitCode = file === undefined ? await runCampaign(flags) : await runFile(file, flags)
    })
}

async function runCampaign(flags: SimFlags): Promise<number> {
  const { protocol, nodes, seeds } = flags
  refuseFlags(
    flags,
    ['seed', 'trace', 'transcript', 'all', 'strict', 'spec'],
    'needs a scenario file; a campaign runs many scenarios',
  )
  if (protocol === undefined || nodes === undefined || seeds === undefined) {
    throw new UsageError('sim needs a scenario file, or --protocol, --nodes and --seeds for a campaign')
  }
  return campaign({ faults: 'swarm', option: [], ...flags, protocol, nodes, seeds })
}

async function runFile(file: string, flags: SimFlags): Promise<number> {
  refuseFlags(
    flags,
    ['protocol', 'nodes', 'seeds', 'faults', 'workers', 'option'],
    'belongs to a campaign; set it in the scenario file instead',
  )
  return runScenarioFile(file, flags)
}

/** Refuses flags that would have no effect. */
function refuseFlags(flags: SimFlags, names: readonly (keyof SimFlags)[], reason: string): void {
  const misplaced = names.find((name) => {
    const value = flags[name]
    return Array.isArray(value) ? value.length > 0 : value !== undefined
  })
  if (misplaced !== undefined) throw new UsageError(`--${misplaced} ${reason}`, `--${misplaced}`)
}
