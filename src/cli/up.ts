/** conclave up: a group of real agents on this machine, watched and teased. */
import { rmSync } from 'node:fs'
import { Command } from 'commander'
import { freePorts } from '../service/chaos/free-ports.ts'
import { Warden } from '../service/chaos/reaper.ts'
import { PROTOCOLS } from '../service/config/schema.ts'
import { UsageError } from './errors.ts'
import { NEW_LINE, print, printJson, printNote } from './output.ts'
import { makeTemporaryFolder } from './temporary.ts'
import { agentsOf, type Described, describedIn, type Plan } from './up/agents.ts'
import { UP_COMMANDS } from './up/commands.ts'
import { LocalGroup } from './up/local-group.ts'
import { happeningText } from './up/text.ts'
import { watchInTerminal, watchPlainly } from './up/watch.ts'
import { parseChoice, parseWholeNumber } from './values.ts'

export type UpFlags = {
  readonly nodes: string
  readonly protocol: string
  readonly mode: string
  readonly profile: string
  readonly option: readonly string[]
  readonly httpPort: string
  readonly seconds?: string
  readonly plain?: boolean
  readonly json?: boolean
}

const MOST_NODES = 25

const collect = (text: string, before: readonly string[]): readonly string[] => [...before, text]

export function upCommand(): Command {
  return new Command('up')
    .description('start a group of real processes on this machine, and watch them elect')
    .option('--nodes <n>', 'how many', '5')
    .option(
      '--protocol <name>',
      'local-leader; omega: views of the living; epochs: election in a folder that all share',
      'local-leader',
    )
    .option('--mode <mode>', 'majority: one leader in all; local: one in each partition', 'majority')
    .option('--profile <profile>', 'lan, region or wan', 'lan')
    .option(
      '--option <name=value>',
      "set one of the protocol's options (repeat for more); local-leader with the profile lan: sigmaMs=60 unless it is set",
      collect,
      [],
    )
    .option(
      '--http-port <n>',
      'where the first answers HTTP, the others above; 0, or one that is taken: any that is free',
      '7480',
    )
    .option('--seconds <n>', 'end by itself after so long')
    .option('--plain', 'lines instead of a table, as without a terminal')
    .option('--json', 'the same lines as JSON')
    .addHelpText(
      'after',
      `
In a terminal: a number chooses a node; k kills it (kill -9), r starts it again, p pauses it or lets it go on, x cuts it
off from the others; h heals all links; l kills whoever leads; d lets the leader hand over; : begins a command in words;
q ends everything. "hears" shows for each node whom it hears in time.

Without a terminal: one line for each change of who leads, and what else happens on standard error; commands are read
from standard input, one a line, each when the one before is done:
${UP_COMMANDS}

Example:
  printf 'wait\\nkill leader\\nwait\\npartition n1,n2\\nsleep 1000\\nheal\\nsleep 1000\\nquit\\n' | conclave up --plain

Each node is a "conclave agent" with its own ports and data folder, in a temporary folder that is removed at the end.
When this process ends, however it ends, so do they.`,
    )
    .action(async (flags: UpFlags) => {
      await up(flags)
    })
}

async function up(flags: UpFlags): Promise<void> {
  const count = parseWholeNumber('--nodes', flags.nodes, 1)
  if (count > MOST_NODES)
    throw new UsageError(`--nodes ${count}: at most ${MOST_NODES} on one machine`, '--nodes')
  parseChoice('--protocol', flags.protocol, PROTOCOLS)
  parseChoice('--mode', flags.mode, ['local', 'majority'])
  parseChoice('--profile', flags.profile, ['lan', 'region', 'wan'])
  const seconds = flags.seconds === undefined ? null : parseWholeNumber('--seconds', flags.seconds, 1)
  const firstPort = parseWholeNumber('--http-port', flags.httpPort, 0)
  if (firstPort + count > 65_536)
    throw new UsageError(`--http-port ${firstPort}: there is no port above 65535`, '--http-port')
  const [udp, http] = await Promise.all([freePorts(count, 'udp'), freePorts(count, 'tcp', firstPort)])
  const folder = makeTemporaryFolder('conclave-up-')
  const described = describedOrNothing(folder, { flags, count, udp, http })
  const warden = new Warden(folder)
  const isJson = flags.json === true
  const isTerminal =
    process.stdout.isTTY &&
    process.stdin.isTTY &&
    process.env['TERM'] !== 'dumb' &&
    flags.plain !== true &&
    !isJson
  const group = new LocalGroup(
    (say) => agentsOf(described, warden, say),
    isTerminal ? undefined : (happening) => printNote(happeningText(happening)),
  )
  const { agents } = group
  const ended = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => ended.abort())
  const limit = seconds === null ? null : AbortSignal.timeout(seconds * 1000)
  limit?.addEventListener('abort', () => ended.abort())
  try {
    for (const agent of agents) agent.start()
    if (isJson) printJson({ nodes: agents.map(({ id, url }) => ({ id, url })) })
    else print(agents.map(({ id, url }) => `${id}  ${url}`).join(NEW_LINE))
    await (isTerminal ? watchInTerminal(group, ended) : watchPlainly(group, ended, isJson))
  } finally {
    await group.stop()
    await warden.close()
  }
}

/** Refused as an agent would refuse it, before any is started. */
function describedOrNothing(folder: string, plan: Plan): readonly Described[] {
  try {
    return describedIn(folder, plan)
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
}
