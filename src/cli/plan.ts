/** `conclave plan`: computes the guarantees of a configuration, and checks them by simulating it. */
import { availableParallelism } from 'node:os'
import { Command } from 'commander'
import { hostedNames, hostingOf, type Plan, type TrialPlan } from '../protocols/index.ts'
import { cardOf, measuredIn } from '../workbench/guarantees/card.ts'
import { runMilestones } from '../workbench/guarantees/milestones.ts'
import { steadyState } from '../workbench/sim/index.ts'
import { EXIT } from './errors.ts'
import { Interruption } from './interrupt.ts'
import { loadProtocols } from './load.ts'
import { print, printJson, printNote } from './output.ts'
import { runTrials } from './parallel/trials.ts'
import { formatCard } from './plan/card-text.ts'
import { type PlanFlags, type Planned, readPlan, readPlanFile } from './plan/config.ts'
import { formatMilestones } from './plan/milestones-text.ts'
import { collect, parseWholeNumber } from './values.ts'

export function planCommand(): Command {
  return new Command('plan')
    .description('compute the guarantees of a configuration, and check them by simulating it')
    .option('--config <file>', 'configuration file (YAML or JSON): of an agent, or of a plan')
    .option('--group <name>', 'which group of the file of an agent, if it has several')
    .option('--json', 'print one JSON object')
    .option('--protocol <name>', `name of the protocol: ${hostedNames().join(', ')} (default: the first)`)
    .option('--profile <name>', 'timing constants: lan, region or wan')
    .option('--mode <name>', 'majority: one leader; local: one leader per partition')
    .option('--nodes <n>', 'number of nodes, instead of a list in the file')
    .option('--option <name=value>', 'set an option of the protocol (repeat for more)', collect, [])
    .option('--seeds <n>', 'number of runs of each main trial (default: 2000)')
    .option('--load <file>', 'load a module with your own protocol')
    .option('--workers <n>', 'number of threads (default: one per core)')
    .addHelpText(
      'after',
      `
Examples:
  conclave plan --nodes 5
  conclave plan --nodes 3 --profile wan --mode local --seeds 500
  conclave plan --nodes 5 --option sigmaMs=50 --option renewalTries=3
  conclave plan --config /etc/conclave/billing.yaml
  conclave plan --config group.json --json
${otherProtocols()
  .map((name) => `  conclave plan --protocol ${name} --nodes 3`)
  .join('\n')}

The file of an agent describes the group as that agent would join it; keys and addresses are not used. A file of a plan,
in which everything is optional except the nodes:
  { "voters": ["a", "b"], "witnesses": ["c"], "observers": ["d"],
    "options": { "mode": "majority", "profile": "region" },
    "network": { "delayMs": [1, 12], "loss": 0 }, "seeds": 2000 }
  { "protocol": "${hostedNames('store')[0]}", "nodes": ["a", "b", "c"], "profile": "lan",
    "store": { "kind": "redis", "url": "redis://host", "acceptWeak": true },
    "registers": { "delayMs": [1, 8] } }
Flags take precedence over the file. Without "network", delays vary between δmin and δ.

Exit code 0 if all measurements are within the computed bounds, 6 if one exceeds its bound or a specification is
violated, 2 for bad input. Ctrl-C prints the card with the runs so far, and exits with 130.`,
    )
    .action(async (flags: PlanFlags) => {
      process.exitCode = await run(flags)
    })
}

/** The protocols with a guarantee card, without the default. */
function otherProtocols(): readonly string[] {
  return hostedNames().filter((name, place) => place > 0 && hostingOf(name)?.planning !== null)
}

async function run(flags: PlanFlags): Promise<number> {
  await loadProtocols(flags.load)
  const plan = readPlan(flags, readPlanFile(flags))
  const threads =
    flags.workers === undefined ? availableParallelism() : parseWholeNumber('--workers', flags.workers, 1)
  const described = plan.planning.describe(plan)
  if (described.kind === 'trials') return runTrialPlan(plan, described, threads, flags)
  const measured = runMilestones(plan.definition, described)
  const { rows, idle, violations, isKept } = measured
  if (flags.json === true) printJson({ ...described.card, measured: { rows, idle, violations }, isKept })
  else print(formatMilestones(described, measured))
  return isKept ? EXIT.ok : EXIT.violated
}

async function runTrialPlan(
  { definition, asked, options }: Plan & Planned,
  described: TrialPlan,
  threads: number,
  { json }: PlanFlags,
): Promise<number> {
  const { seeds } = asked
  const plan = { protocol: definition.name, asked, options }
  const interruption = new Interruption()
  const tallies = await runTrials(plan, described.trials, threads, interruption.signal).finally(() =>
    interruption.close(),
  )
  const isInterrupted = interruption.isInterrupted
  if (isInterrupted && tallies.every(({ runs }) => runs === 0)) {
    if (json === true) printJson({ interrupted: true })
    else printNote('interrupted before the first runs were completed')
    return interruption.exitCode ?? EXIT.ok
  }
  const steady = steadyState(definition, described.steady, 1)
  const measured = measuredIn(described, { definition, options, seeds, tallies, steady })
  if (json === true)
    printJson({ ...cardOf(described, measured, seeds), ...(isInterrupted ? { interrupted: true } : {}) })
  else print(formatCard(described, measured))
  if (isInterrupted) printNote('interrupted: the measured columns are of the runs until then')
  return measured.exceeded.length > 0 ? EXIT.violated : (interruption.exitCode ?? EXIT.ok)
}
