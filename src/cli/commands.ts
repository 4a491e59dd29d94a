/** Every command by name, each loaded when it is needed. */
import { Command } from 'commander'
import { readVersion } from './version.ts'

type Loader = () => Promise<Command>

/** In the order of the help. */
const COMMANDS: { readonly [name: string]: Loader } = {
  up: async () => (await import('./up.ts')).upCommand(),
  agent: async () => (await import('./agent.ts')).agentCommand(),
  run: async () => (await import('./run.ts')).runCommand(),
  status: async () => (await import('./ask.ts')).statusCommand(),
  leader: async () => (await import('./ask.ts')).leaderCommand(),
  members: async () => (await import('./ask.ts')).membersCommand(),
  watch: async () => (await import('./ask.ts')).watchCommand(),
  'step-down': async () => (await import('./ask.ts')).stepDownCommand(),
  remove: async () => (await import('./ask.ts')).removeCommand(),
  chaos: async () => (await import('./chaos.ts')).chaosCommand(),
  plan: async () => (await import('./plan.ts')).planCommand(),
  recover: async () => (await import('./recover.ts')).recoverCommand(),
  doctor: async () => (await import('./doctor.ts')).doctorCommand(),
  sim: async () => (await import('./sim.ts')).simCommand(),
  explore: async () => (await import('./explore.ts')).exploreCommand(),
  replay: async () => (await import('./replay.ts')).replayCommand(),
  draw: async () => (await import('./draw.ts')).drawCommand(),
  qos: async () => (await import('./qos.ts')).qosCommand(),
  specs: async () => (await import('./lists.ts')).specsCommand(),
  protocols: async () => (await import('./lists.ts')).protocolsCommand(),
}

export function isCommand(name: string): boolean {
  return Object.hasOwn(COMMANDS, name)
}

/** All commands, or only the one that is asked for: enough to run it, not to tell what else there is. */
export async function program(asked: string): Promise<Command> {
  const isOne = isCommand(asked)
  const names = isOne ? [asked] : Object.keys(COMMANDS)
  const root = new Command('conclave')
    .description('Leader election, failure detection and membership: run it, simulate it, explore it.')
    .version(readVersion())
    .addHelpText(
      'after',
      `
Examples:
  conclave up
  conclave agent --config conclave.yaml
  conclave sim examples/first-election.json --transcript
  conclave sim --protocol bully --nodes 5 --seeds 1..1000
  conclave explore --protocol bully --nodes 3 --option repaired=false`,
    )
  const commands = await Promise.all(names.map((name) => (COMMANDS[name] as Loader)()))
  for (const command of [root, ...commands]) {
    // Errors are reported in one place, all in the same way.
    command.exitOverride().configureOutput({ outputError: () => {} })
  }
  for (const command of commands) root.addCommand(command)
  if (!isOne) (await import('./completion.ts')).addCompletion(root)
  return root
}
