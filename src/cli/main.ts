/** The command line. Errors are one line that says what to change; with `--json`, one object. */
import { readFileSync } from 'node:fs'
import { Command, CommanderError } from 'commander'
import { Refused, Unreachable } from '../client/index.ts'
import { BadJoin } from '../member/index.ts'
import { BadKey } from '../runtime/index.ts'
import { BadScenario } from '../sim/index.ts'
import { BadTrace, Undrawable } from '../trace/index.ts'
import { agentCommand } from './agent.ts'
import {
  codeOfRefusal,
  leaderCommand,
  membersCommand,
  statusCommand,
  stepDownCommand,
  watchCommand,
} from './ask.ts'
import { chaosCommand } from './chaos.ts'
import { drawCommand } from './draw.ts'
import { EXIT, UsageError } from './errors.ts'
import { exploreCommand } from './explore.ts'
import { protocolsCommand, specsCommand } from './lists.ts'
import { narrate, printJson } from './output.ts'
import { planCommand } from './plan.ts'
import { qosCommand } from './qos.ts'
import { replayCommand } from './replay.ts'
import { runCommand } from './run.ts'
import { simCommand } from './sim.ts'
import { upCommand } from './up.ts'

function version(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

function program(): Command {
  const root = new Command('conclave')
    .description('Leader election, failure detection and membership: run it, simulate it, explore it.')
    .version(version())
    .addHelpText(
      'after',
      `
Examples:
  conclave sim examples/first-election.json --transcript
  conclave sim --protocol bully --nodes 5 --seeds 1..1000
  conclave explore --protocol bully --nodes 3 --option repaired=false`,
    )
  const commands = [
    upCommand(),
    agentCommand(),
    runCommand(),
    statusCommand(),
    leaderCommand(),
    membersCommand(),
    watchCommand(),
    stepDownCommand(),
    planCommand(),
    chaosCommand(),
    simCommand(),
    exploreCommand(),
    replayCommand(),
    drawCommand(),
    qosCommand(),
    specsCommand(),
    protocolsCommand(),
  ]
  for (const command of [root, ...commands]) {
    // Errors are reported below, all in the same way.
    command.exitOverride().configureOutput({ outputError: () => {} })
  }
  for (const command of commands) root.addCommand(command)
  return root
}

/** What is wrong, and what kind of thing it is; null where commander has said all there is to say. */
function explained(
  error: unknown,
): { code: number; name: string; message: string; field: string | null } | null {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return null
    // No command at all: the help has been printed, but nothing was done.
    if (error.code === 'commander.help')
      return { code: EXIT.usage, name: 'UsageError', message: '', field: null }
    const message = error.message.replace(/^error: /, '')
    return { code: EXIT.usage, name: 'UsageError', message: `${message} (see conclave --help)`, field: null }
  }
  if (error instanceof UsageError || error instanceof BadScenario) {
    return { code: EXIT.usage, name: error.name, message: error.message, field: error.field }
  }
  if (error instanceof BadJoin)
    return { code: EXIT.usage, name: error.name, message: error.message, field: error.field }
  if (error instanceof BadTrace || error instanceof Undrawable || error instanceof BadKey)
    return { code: EXIT.usage, name: error.name, message: error.message, field: null }
  if (error instanceof Unreachable)
    return { code: EXIT.unreachable, name: error.name, message: error.message, field: null }
  if (error instanceof Refused)
    return { code: codeOfRefusal(error), name: error.kind, message: error.message, field: null }
  const { name, message } = error instanceof Error ? error : new Error(String(error))
  return { code: EXIT.failure, name, message, field: null }
}

// A reader that has seen enough, such as `head`, is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? EXIT.ok : EXIT.failure)
})

try {
  await program().parseAsync(process.argv)
} catch (error) {
  const problem = explained(error)
  if (problem !== null) {
    const { code, name, message, field } = problem
    process.exitCode = code
    if (message !== '' && process.argv.includes('--json')) printJson({ error: { name, message, field } })
    else if (message !== '') narrate(`conclave: ${message}`)
    if (process.env['CONCLAVE_DEBUG'] !== undefined && error instanceof Error) narrate(error.stack ?? '')
  }
}
