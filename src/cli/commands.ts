/** All commands by name. The module of a command is loaded when the command is needed. */
import { Command } from 'commander'
import { readVersion } from './version.ts'

type Loader = () => Promise<Command>

/** In the order in which the help lists them. */
const COMMANDS: { readonly [name: string]: Loader } = {
  up: async () => (await import('./up.ts')).upCommand(),
  agent: async () => (await import('./agent.ts')).agentCommand(),
  run: async () => (await import('./run.ts')).runCommand(),
  status: async () => (await import('./status.ts')).statusCommand(),
  leader: async () => (await import('./leader.ts')).leaderCommand(),
  members: async () => (await import('./members.ts')).membersCommand(),
  watch: async () => (await import('./watch.ts')).watchCommand(),
  'step-down': async () => (await import('./step-down.ts')).stepDownCommand(),
  'lease-bounds': async () => (await import('./lease-bounds.ts')).leaseBoundsCommand(),
  remove: async () => (await import('./remove.ts')).removeCommand(),
  job: async () => (await import('./job.ts')).jobCommand(),
  demo: async () => (await import('./demo.ts')).demoCommand(),
  chaos: async () => (await import('./chaos.ts')).chaosCommand(),
  plan: async () => (await import('./plan.ts')).planCommand(),
  recover: async () => (await import('./recover.ts')).recoverCommand(),
  doctor: async () => (await import('./doctor.ts')).doctorCommand(),
  sim: async () => (await import('./sim.ts')).simCommand(),
  explore: async () => (await import('./explore.ts')).exploreCommand(),
  replay: async () => (await import('./replay.ts')).replayCommand(),
  draw: async () => (await import('./draw.ts')).drawCommand(),
  playground: async () => (await import('./playground.ts')).playgroundCommand(),
  qos: async () => (await import('./qos.ts')).qosCommand(),
  specs: async () => (await import('./specs.ts')).specsCommand(),
  protocols: async () => (await import('./protocols.ts')).protocolsCommand(),
}

export function isCommand(name: string): boolean {
  return Object.hasOwn(COMMANDS, name)
}

/** Words that need no command. */
const ALONE: readonly string[] = ['--version', '-V']

/** Creates the program with all commands, or only with the command named, which is enough to run it. */
export async function createProgram(commandName: string): Promise<Command> {
  const isOne = isCommand(commandName) || ALONE.includes(commandName)
  const names = isOne ? [commandName].filter(isCommand) : Object.keys(COMMANDS)
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
  conclave explore --protocol bully --nodes 3 --option repaired=false

Set the environment variable CONCLAVE_DEBUG to any value to print the stack of an error. Set NO_COLOR to print no colours.`,
    )
  const commands = await Promise.all(names.map((name) => (COMMANDS[name] as Loader)()))
  for (const command of [root, ...commands, ...commands.flatMap((each) => each.commands)]) {
    // main.ts reports all errors in the same way.
    command.exitOverride().configureOutput({ outputError: () => {} })
  }
  for (const command of commands) root.addCommand(command)
  if (!isOne) (await import('./completion.ts')).addCompletion(root)
  return root
}
