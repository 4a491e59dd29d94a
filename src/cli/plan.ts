/** `conclave plan`: what a configuration guarantees, computed and then checked by simulating that very configuration. */
import { availableParallelism } from 'node:os'
import { Command } from 'commander'
import { hostedNames, hostingOf, type Plan, type TrialPlan } from '../protocols/index.ts'
import { cardOf, measuredIn } from '../workbench/guarantees/card.ts'
import { runMilestones } from '../workbench/guarantees/milestones.ts'
import { steadyState } from '../workbench/sim/index.ts'
import { EXIT } from './errors.ts'
import { loadProtocols } from './load.ts'
import { print, printJson } from './output.ts'
import { measure } from './parallel/trials.ts'
import { cardText } from './plan/card-text.ts'
import { type PlanFlags, type Planned, planOf, readConfig } from './plan/config.ts'
import { milestonesText } from './plan/milestones-text.ts'
import { collect, parseWholeNumber } from './values.ts'

export function planCommand(): Command {
  return new Command('plan')
    .description('the guarantee card of a configuration: computed, then checked by simulating it')
    .option('--config <file>', 'configuration file (JSON)')
    .option('--json', 'print one JSON object')
    .option(
      '--protocol <name>',
      `which protocol: ${hostedNames().join(', ')}; the first unless told otherwise`,
    )
    .option('--profile <name>', 'where the constants come from: lan, region or wan')
    .option('--mode <name>', 'local: a leader in each partition; majority: one in all')
    .option('--nodes <n>', 'how many processes, instead of a list in the file')
    .option('--option <name=value>', 'an option of the protocol (repeat for more)', collect, [])
    .option('--seeds <n>', 'how many runs of each of the main trials (default: 2000)')
    .option('--load <file>', 'a module with a protocol of your own')
    .option('--workers <n>', 'how many threads (default: one a core)')
    .addHelpText(
      'after',
      `
Examples:
  conclave plan --nodes 5
  conclave plan --nodes 3 --profile wan --mode local --seeds 500
  conclave plan --nodes 5 --option sigmaMs=50 --option renewalTries=3
  conclave plan --config group.json --json
${others()
  .map((name) => `  conclave plan --protocol ${name} --nodes 3`)
  .join('\n')}

A configuration file, all of it optional but the processes:
  { "voters": ["a", "b"], "witnesses": ["c"], "observers": ["d"],
    "options": { "mode": "majority", "profile": "region" },
    "network": { "delayMs": [1, 12], "loss": 0 }, "seeds": 2000 }
  { "protocol": "${hostedNames('store')[0]}", "nodes": ["a", "b", "c"], "profile": "lan",
    "store": { "kind": "redis", "url": "redis://host", "acceptWeak": true },
    "registers": { "delayMs": [1, 8] } }
Flags win over the file. Without "network", delays are anything from δmin to δ.

Exit code 0 when all measurements keep to what was computed, 6 when one exceeds it or a specification is violated,
2 for bad input.`,
    )
    .action(async (flags: PlanFlags) => {
      process.exitCode = await run(flags)
    })
}

/** Protocols with a card, beside the default. */
function others(): readonly string[] {
  return hostedNames().filter((name, place) => place > 0 && hostingOf(name)?.planning !== null)
}

async function run(flags: PlanFlags): Promise<number> {
  await loadProtocols(flags.load)
  const plan = planOf(flags, readConfig(flags))
  const threads =
    flags.workers === undefined ? availableParallelism() : parseWholeNumber('--workers', flags.workers, 1)
  const described = plan.planning.describe(plan)
  if (described.kind === 'trials') return runTrials(plan, described, threads, flags)
  const measured = runMilestones(plan.definition, described)
  const { rows, idle, violations, isKept } = measured
  if (flags.json === true) printJson({ ...described.card, measured: { rows, idle, violations }, isKept })
  else print(milestonesText(described, measured))
  return isKept ? EXIT.ok : EXIT.violated
}

async function runTrials(
  { definition, asked, options }: Plan & Planned,
  described: TrialPlan,
  threads: number,
  { json }: PlanFlags,
): Promise<number> {
  const { seeds } = asked
  const plan = { protocol: definition.name, asked, options }
  const tallies = await measure(plan, described.trials, threads)
  const steady = steadyState(definition, described.steady, 1)
  const measured = measuredIn(described, { definition, options, seeds, tallies, steady })
  if (json === true) printJson(cardOf(described, measured, seeds))
  else print(cardText(described, measured))
  return measured.exceeded.length > 0 ? EXIT.violated : EXIT.ok
}
