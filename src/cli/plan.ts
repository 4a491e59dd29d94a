/** `conclave plan`: what a configuration guarantees, computed and then checked by simulating that very configuration. */
import { availableParallelism } from 'node:os'
import { Command } from 'commander'
import { epochsDefinition } from '../protocols/epochs/index.ts'
import { type Guarantees, guaranteesOf } from '../protocols/local-leader/guarantees.ts'
import { localLeaderDefinition } from '../protocols/local-leader/index.ts'
import { type Card, cardOf } from '../workbench/guarantees/card.ts'
import type { Plan } from '../workbench/guarantees/plan.ts'
import { brokenAssumptions, steadySettings, trialsOf } from '../workbench/guarantees/trials.ts'
import { steadyState } from '../workbench/sim/index.ts'
import { delayOf } from '../workbench/sim/network.ts'
import { EXIT } from './errors.ts'
import { print, printJson } from './output.ts'
import { measure } from './parallel/trials.ts'
import { cardText } from './plan/card-text.ts'
import { type PlanFlags, planOf, protocolIn, readConfig } from './plan/config.ts'
import {
  type EpochsPlan,
  guaranteesFor as epochsGuaranteesFor,
  epochsPlanOf,
  steadySettings as epochsSteady,
  epochsTrials,
} from './plan/epochs.ts'
import { type EpochsCard, epochsCard } from './plan/epochs-card.ts'
import { epochsText } from './plan/epochs-text.ts'
import { omegaPlanOf, runOmegaPlan } from './plan/omega.ts'
import { collect, parseWholeNumber } from './values.ts'

export function planCommand(): Command {
  return new Command('plan')
    .description('the guarantee card of a configuration: computed, then checked by simulating it')
    .option('--config <file>', 'configuration file (JSON)')
    .option('--json', 'print one JSON object')
    .option('--protocol <name>', 'which protocol: local-leader (default), epochs or omega')
    .option('--profile <name>', 'where the constants come from: lan, region or wan')
    .option('--mode <name>', 'local: a leader in each partition; majority: one in all')
    .option('--nodes <n>', 'how many processes, instead of a list in the file')
    .option('--option <name=value>', 'an option of the protocol (repeat for more)', collect, [])
    .option('--seeds <n>', 'how many runs of each of the main trials (default: 2000)')
    .option('--workers <n>', 'how many threads (default: one a core)')
    .addHelpText(
      'after',
      `
Examples:
  conclave plan --nodes 5
  conclave plan --nodes 3 --profile wan --mode local --seeds 500
  conclave plan --nodes 5 --option sigmaMs=50 --option renewalTries=3
  conclave plan --config group.json --json
  conclave plan --protocol omega --nodes 5 --profile region
  conclave plan --protocol epochs --nodes 3

A configuration file, all of it optional but the processes:
  { "voters": ["a", "b"], "witnesses": ["c"], "observers": ["d"],
    "options": { "mode": "majority", "profile": "region" },
    "network": { "delayMs": [1, 12], "loss": 0 }, "seeds": 2000 }
  { "protocol": "epochs", "nodes": ["a", "b", "c"], "profile": "lan",
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

/** Computed for what is assumed; what is typical, for the delays that there are, as long as they are within that. */
function guaranteesFor(plan: Plan): Guarantees {
  const assumed = guaranteesOf(plan.options, plan.nodes)
  if (plan.delayMs === null || brokenAssumptions(plan, assumed).length > 0) return assumed
  return guaranteesOf(plan.options, plan.nodes, delayOf(plan.delayMs))
}

async function run(flags: PlanFlags): Promise<number> {
  const said = readConfig(flags)
  const threads =
    flags.workers === undefined ? availableParallelism() : parseWholeNumber('--workers', flags.workers, 1)
  switch (protocolIn(flags, said)) {
    case 'epochs':
      return runEpochs(epochsPlanOf(flags, said), threads, flags)
    case 'omega':
      return runOmegaPlan(omegaPlanOf(flags, said), flags.json === true)
    default:
      return runLocalLeader(planOf(flags, said), threads, flags)
  }
}

async function runLocalLeader(plan: Plan, threads: number, flags: PlanFlags): Promise<number> {
  const guarantees = guaranteesFor(plan)
  const trials = trialsOf(plan, guarantees)
  const tallies = await measure(plan, trials, threads)
  const steady = steadyState(localLeaderDefinition, steadySettings(plan, guarantees), 1)
  const card = cardOf(plan, guarantees, trials, tallies, steady)
  return told(card, cardText, flags)
}

async function runEpochs(plan: EpochsPlan, threads: number, flags: PlanFlags): Promise<number> {
  const guarantees = epochsGuaranteesFor(plan)
  const trials = epochsTrials(plan, guarantees)
  const tallies = await measure(plan, trials, threads)
  const steady = steadyState(epochsDefinition, epochsSteady(plan, guarantees), 1)
  const card = epochsCard(plan, guarantees, trials, tallies, steady)
  return told(card, epochsText, flags)
}

function told<C extends Card | EpochsCard>(
  card: C,
  textOf: (card: C) => string,
  { json }: PlanFlags,
): number {
  if (json === true) printJson(card)
  else print(textOf(card))
  return card.exceeded.length > 0 ? EXIT.violated : EXIT.ok
}
