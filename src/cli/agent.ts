/** `conclave agent`: a node that campaigns for ever, and answers over HTTP. */
import { tmpdir } from 'node:os'
import { Command } from 'commander'
import { type Agent, CannotListenError, SystemdNotifier, startAgent } from '../service/agent/index.ts'
import type { AgentEvent } from '../service/client/index.ts'
import { type Config, effectiveJson, effectiveText } from '../service/config/index.ts'
import { addressOf } from '../service/node/api/address.ts'
import { EXIT, UsageError } from './errors.ts'
import { addNodeFlags, addServiceFlags, type NodeFlags, readConfig, type ServiceFlags } from './node-flags.ts'
import { print, printJson, printNote } from './output.ts'
import { Supervisor } from './run/supervisor-link.ts'
import { readVersion } from './version.ts'

type AgentFlags = NodeFlags & ServiceFlags & { readonly check?: boolean; readonly json?: boolean }

export function agentCommand(): Command {
  return addServiceFlags(
    addNodeFlags(
      new Command('agent').description('run a node beside your processes: it campaigns, and tells who leads'),
    ),
  )
    .option('--check', 'only say how it is configured, and what is doubtful about that')
    .option('--json', 'with --check: print one JSON object')
    .addHelpText(
      'after',
      `
Examples:
  conclave agent --group billing --id a --listen 10.0.0.1:7400 --peer b=10.0.0.2:7400 --peer c=10.0.0.3:7400 \\
    --key-file /etc/conclave/key --data /var/lib/conclave/billing
  conclave agent --config /etc/conclave/billing.yaml --check

Flags win over the environment, that over the file; docs/reference/configuration.md lists all fields. What happens is written to
standard error, one JSON object a line. SIGTERM, SIGINT and SIGHUP: the lead is handed over, then it ends with 0; a
second one ends it at once. SIGUSR2: its last steps are written to a file in the data folder. Whoever can reach the HTTP address
may ask; see docs/reference/http.md.

Exit code 2 for a configuration that cannot work, 1 when the node cannot go on.`,
    )
    .action(async (flags: AgentFlags) => {
      process.exitCode = await agent(flags)
    })
}

async function agent(flags: AgentFlags): Promise<number> {
  const config = readConfig(flags)
  if (flags.check === true) return check(config, flags.json === true)
  const log = logOf(config)
  for (const { field, message } of config.warnings) log('warning', { reason: `${field}: ${message}` })
  const supervisor = Supervisor.ofThisProcess()
  const told = firstSignal()
  const running = await start(config, log)
  const systemd = new SystemdNotifier(process.env, { onFailure: (reason) => log('warning', { reason }) })
  const sentence = (): string => running.nodes.map(standing).join('; ')
  const telling = setInterval(() => systemd.status(sentence()), TELL_SYSTEMD_MS)
  telling.unref()
  process.on('SIGUSR2', () => void saveTraces(running, log))
  supervisor?.injectInto(running.nodes)
  log('started', { http: running.url })
  void systemd.ready(sentence(), () => running.nodes.every((node) => !node.isClosed))
  const why = await Promise.race([told, running.failed])
  clearInterval(telling)
  log('ending', { reason: typeof why === 'string' ? why : why.message })
  await Promise.all([systemd.stopping(), running.close()])
  return typeof why === 'string' ? EXIT.ok : EXIT.failure
}

/** How often systemd is told who leads, if that has changed. */
const TELL_SYSTEMD_MS = 1000

type Log = (event: string, more: { readonly [field: string]: unknown }) => void

/** One JSON object a line; what is not about one group has `group` null. */
function logOf({ groups }: Config): Log {
  const [first] = groups
  const only = groups.length === 1 ? (first?.node.group ?? null) : null
  return (event, more) =>
    printNote(
      JSON.stringify({
        time: new Date().toISOString(),
        group: only,
        id: first?.node.id ?? null,
        event,
        token: null,
        term: null,
        reason: null,
        ...more,
      }),
    )
}

async function start(
  { groups, process: { http, httpNames, traceSteps }, adminToken }: Config,
  log: Log,
): Promise<Agent> {
  const heard = ({ event, group, leader, token, term, reason, view }: AgentEvent): void =>
    log(event, { group, leader, token, term, reason, ...(view === undefined ? {} : { view }) })
  try {
    return await startAgent({
      // What meets in a store keeps no steps.
      groups: groups.map(({ join }) => ({ ...join, traceSteps })),
      http: addressOf(http, 'http'),
      httpNames,
      adminToken,
      version: readVersion(),
      log: heard,
    })
  } catch (error) {
    if (error instanceof CannotListenError) throw new UsageError(`--http: ${error.message}`, '--http')
    throw error
  }
}

/** The first is waited for; a second ends the process at once, as one that is in a hurry wants it. */
function firstSignal(): Promise<string> {
  return new Promise((resolve) => {
    let heard = 0
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => {
        heard += 1
        if (heard > 1) process.exit(EXIT.failure)
        resolve(signal)
      })
    }
  })
}

async function saveTraces(running: Agent, log: Log): Promise<void> {
  try {
    for (const file of await running.saveTraces(tmpdir())) log('trace', { file })
  } catch (error) {
    log('warning', { reason: `the trace could not be written: ${(error as Error).message}` })
  }
}

function standing(node: Agent['nodes'][number]): string {
  const { role, leader } = node.status()
  if (role === 'leader') return `leads ${node.group} with token ${leader?.token}`
  return leader === null ? `no leader in ${node.group}` : `follows ${leader.id} in ${node.group}`
}

function check(config: Config, json: boolean): number {
  if (json) printJson(effectiveJson(config))
  else {
    for (const line of effectiveText(config).split('\n')) print(line)
    for (const { field, message } of config.warnings) printNote(`warning: ${field}: ${message}`)
  }
  return EXIT.ok
}
