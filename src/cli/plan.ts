/** `conclave plan`: computes the guarantees of a configuration, and checks them by simulating it. */
import { availableParallelism } from 'node:os'
import { Command } from 'commander'
import { DEFAULT_PROTOCOL, hostedNames, hostingOf, type TrialPlan } from '../protocols/index.ts'
import { cardOf } from '../workbench/guarantees/card.ts'
import { runMilestones } from '../workbench/guarantees/milestones.ts'
import { addConnectionFlags } from './ask/request.ts'
import { EXIT } from './errors.ts'
import { Interruption } from './interrupt.ts'
import { loadProtocols } from './load.ts'
import { print, printJson, printNote } from './output.ts'
import { formatCard } from './plan/card-text.ts'
import { type PlanFlags, type ReadyPlan, readPlan, readPlanFile } from './plan/config.ts'
import { runLevels } from './plan/levels.ts'
import { measure } from './plan/measure.ts'
import { formatMilestones } from './plan/milestones-text.ts'
import { presentLevelOf } from './plan/present-level.ts'
import { collect, parseWholeNumber } from './values.ts'

export function planCommand(): Command {
  const command = new Command('plan')
    .description('compute the guarantees of a configuration, and check them by simulating it')
    .option('--config <file>', 'configuration file (YAML or JSON): of an agent, or of a plan')
    .option('--group <name>', 'which group of the file of an agent, if it has several')
    .option('--agent <url>', 'with adaptive timing: also print the card of the present level of this agent')
    .option('--json', 'print one JSON object')
    .option(
      '--protocol <name>',
      `name of the protocol: ${hostedNames().join(', ')} (default: ${DEFAULT_PROTOCOL})`,
    )
    .option('--profile <name>', 'kind of network: fast, lan, region or wan')
    .option('--timing <name>', 'fixed: constants; adaptive: leases whose length follows from measurements')
    .option('--lease-min-ms <ms>', 'with adaptive timing: the shortest lease')
    .option('--lease-max-ms <ms>', 'with adaptive timing: the longest lease')
    .option(
      '--lease-loss-per-day <n>',
      'with adaptive timing: how many leases may be lost in a day (default: 1)',
    )
    .option('--mode <name>', 'majority: one leader; local: one leader per partition')
    .option('--nodes <n>', 'number of nodes, instead of a list in the file')
    .option('--option <name=value>', 'set an option of the protocol (repeat for more)', collect, [])
    .option('--seeds <n>', 'number of runs of each main trial (default: 2000)')
    .option('--load <file>', 'load a module with your own protocol')
    .option('--workers <n>', 'number of threads (default: one per core)')
  return addConnectionFlags(command)
    .addHelpText(
      'after',
      `
Examples:
  conclave plan --nodes 5
  conclave plan --nodes 3 --profile wan --mode local --seeds 500
  conclave plan --nodes 5 --option sigmaMs=50 --option renewalTries=3
  conclave plan --config /etc/conclave/billing.yaml
  conclave plan --config group.json --json
  conclave plan --nodes 5 --timing adaptive --lease-min-ms 20 --lease-max-ms 2000
  conclave plan --config /etc/conclave/billing.yaml --agent http://127.0.0.1:7480
${otherProtocols()
  .map((name) => `  conclave plan --protocol ${name} --nodes 3`)
  .join('\n')}

The file of an agent describes the group as that agent would join it; keys and addresses are not used. If all nodes share
it and it has no id, set CONCLAVE_ID to the id of one of them. A file of a plan, in which everything is optional except the
nodes:
  { "voters": ["a", "b"], "witnesses": ["c"], "observers": ["d"],
    "options": { "mode": "majority", "profile": "region" },
    "network": { "delayMs": [1, 12], "loss": 0 }, "seeds": 2000 }
  { "protocol": "${hostedNames('store')[0]}", "nodes": ["a", "b", "c"], "profile": "lan",
    "store": { "kind": "redis", "url": "redis://host", "acceptWeak": true },
    "registers": { "delayMs": [1, 8] } }
Flags take precedence over the file. Without "network", delays vary between δmin and δ.

With adaptive timing there is one card for the shortest leases and one for the longest, and with --agent one for the leases
that the group has now.

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
  const present = await presentLevelOf(flags, plan)
  const levels = plan.planning.levels?.(plan, present) ?? null
  if (levels !== null) return runLevels(plan, levels, threads, flags.json === true)
  const described = plan.planning.describe(plan)
  if (described.kind === 'trials') return runTrialPlan(plan, described, threads, flags)
  const measured = runMilestones(plan.definition, described)
  const { rows, idle, violations, isKept } = measured
  if (flags.json === true) printJson({ ...described.card, measured: { rows, idle, violations }, isKept })
  else print(formatMilestones(described, measured))
  return isKept ? EXIT.ok : EXIT.violated
}

async function runTrialPlan(
  plan: ReadyPlan,
  described: TrialPlan,
  threads: number,
  { json }: PlanFlags,
): Promise<number> {
  const interruption = new Interruption()
  const measured = await measure(plan, described, threads, interruption.signal).finally(() =>
    interruption.close(),
  )
  const { isInterrupted } = interruption
  if (measured === null) {
    if (json === true) printJson({ interrupted: true })
    else printNote('interrupted before the first runs were completed')
    return interruption.exitCode ?? EXIT.ok
  }
  if (json === true)
    printJson({
      ...cardOf(described, measured, plan.asked.seeds),
      ...(isInterrupted ? { interrupted: true } : {}),
    })
  else print(formatCard(described, measured))
  if (isInterrupted) printNote('interrupted: the measured columns are of the runs until then')
  return measured.exceeded.length > 0 ? EXIT.violated : (interruption.exitCode ?? EXIT.ok)
}
