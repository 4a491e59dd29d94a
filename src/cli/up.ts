/** `conclave up`: starts a group of agents on this machine, shows how they elect, and injects faults. */
import { rmSync } from 'node:fs'
import { Command } from 'commander'
import { DEFAULT_PROTOCOL, hostedNames } from '../protocols/index.ts'
import { findFreePorts } from '../service/chaos/free-ports.ts'
import { Reaper } from '../service/chaos/reaper.ts'
import { UsageError } from './errors.ts'
import { describeProtocols, TIMING_HELP } from './node-flags.ts'
import { NEW_LINE, print, printJson, printNote } from './output.ts'
import { makeTemporaryFolder } from './temporary.ts'
import { type AgentDescription, createAgents, describeAgents, type GroupPlan } from './up/agents.ts'
import { UP_COMMANDS } from './up/commands.ts'
import { LocalGroup } from './up/local-group.ts'
import { type SupervisorApi, startSupervisorApi } from './up/supervisor-api.ts'
import { formatLogEntry } from './up/text.ts'
import { watchAsLines, watchInTerminal } from './up/watch.ts'
import { collect, parseChoice, parseWholeNumber } from './values.ts'

export type UpFlags = {
  readonly nodes: string
  readonly protocol: string
  readonly mode: string
  readonly profile: string
  readonly timing?: string
  readonly leaseMinMs?: string
  readonly leaseMaxMs?: string
  readonly leaseLossPerDay?: string
  readonly option: readonly string[]
  readonly httpPort: string
  readonly seconds?: string
  readonly plain?: boolean
  readonly json?: boolean
}

const MAX_NODES = 25

export function upCommand(): Command {
  return new Command('up')
    .description('start a group of nodes as processes on this machine, and watch them elect a leader')
    .option('--nodes <n>', 'number of nodes', '5')
    .option('--protocol <name>', describeProtocols(), DEFAULT_PROTOCOL)
    .option('--mode <mode>', 'majority: one leader; local: one leader per partition', 'majority')
    .option('--profile <profile>', 'fast, lan, region or wan', 'lan')
    .option('--timing <timing>', TIMING_HELP)
    .option('--lease-min-ms <n>', 'adaptive timing: the shortest lease (default: of the profile)')
    .option('--lease-max-ms <n>', 'adaptive timing: the longest lease (default: of the profile)')
    .option('--lease-loss-per-day <n>', 'adaptive timing: leases that may be lost in a day (default: 1)')
    .option(
      '--option <name=value>',
      'set an option of the protocol (repeat for more); with fixed timing, some tolerate longer scheduling delays than usual by default',
      collect,
      [],
    )
    .option(
      '--http-port <n>',
      'HTTP port of the first node; the others follow. A port that is 0 or in use is replaced by a free one',
      '7480',
    )
    .option('--seconds <n>', 'stop after this many seconds')
    .option('--plain', 'print lines instead of a table, as without a terminal')
    .option('--json', 'print the lines as JSON')
    .addHelpText(
      'after',
      `
In a terminal, a digit or an arrow key selects a node. Keys: k kills it (kill -9), r restarts it, p pauses or resumes it,
x cuts its links; h heals all links, l kills the leader, d makes the leader step down, : starts a command, PgUp shows
earlier events, ? explains all keys, q quits. The column "reaches" shows the nodes that each node can reach.

Without a terminal, standard output has one line per change of the leader or of a node's state. Other events go to
standard error. Commands are read from standard input, one per line, and run one after the other:
${UP_COMMANDS}

Example:
  printf 'wait\\nkill leader\\nwait\\npartition n1,n2\\nsleep 1000\\nheal\\nsleep 1000\\nquit\\n' | conclave up --plain

Each node is a "conclave agent" with its own ports and data directory, in a temporary folder that is removed at the end.
The nodes end with this process, even if it is killed.`,
    )
    .action(async (flags: UpFlags) => {
      await up(flags)
    })
}

async function up(flags: UpFlags): Promise<void> {
  const count = parseWholeNumber('--nodes', flags.nodes, 1)
  if (count > MAX_NODES) throw new UsageError(`--nodes ${count}: must be at most ${MAX_NODES}`, '--nodes')
  parseChoice('--protocol', flags.protocol, hostedNames())
  parseChoice('--mode', flags.mode, ['local', 'majority'])
  parseChoice('--profile', flags.profile, ['fast', 'lan', 'region', 'wan'])
  const seconds = flags.seconds === undefined ? null : parseWholeNumber('--seconds', flags.seconds, 1)
  const firstPort = parseWholeNumber('--http-port', flags.httpPort, 0)
  if (firstPort + count > 65_536)
    throw new UsageError(
      `--http-port ${firstPort}: the ports of ${count} nodes must be at most 65535`,
      '--http-port',
    )
  // Before there is anything to clean up.
  const ended = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => ended.abort())
  const [udp, http] = await Promise.all([findFreePorts(count, 'udp'), findFreePorts(count, 'tcp', firstPort)])
  const folder = makeTemporaryFolder('conclave-up-')
  const descriptions = describeOrRemove(folder, { flags, count, udp, http })
  const reaper = new Reaper(folder)
  const isJson = flags.json === true
  const isTerminal =
    process.stdout.isTTY &&
    process.stdin.isTTY &&
    process.env['TERM'] !== 'dumb' &&
    flags.plain !== true &&
    !isJson
  const group = new LocalGroup(
    (takeLogLine) => createAgents(descriptions, reaper, takeLogLine),
    isTerminal ? undefined : (entry) => printNote(formatLogEntry(entry)),
  )
  const { agents } = group
  let api: SupervisorApi | null = null
  const limit = seconds === null ? null : AbortSignal.timeout(seconds * 1000)
  limit?.addEventListener('abort', () => ended.abort())
  try {
    for (const agent of agents) agent.start()
    api = await startSupervisorApi(group, ended.signal)
    if (isJson) printJson({ nodes: agents.map(({ id, url }) => ({ id, url })) })
    else print(agents.map(({ id, url }) => `${id}  ${url}`).join(NEW_LINE))
    await (isTerminal ? watchInTerminal(group, ended) : watchAsLines(group, ended, isJson))
  } finally {
    await api?.close()
    await group.stop()
    await reaper.close()
  }
}

/** Describes the agents. If the flags are invalid, removes the folder before any agent is started. */
function describeOrRemove(folder: string, plan: GroupPlan): readonly AgentDescription[] {
  try {
    return describeAgents(folder, plan)
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
}
