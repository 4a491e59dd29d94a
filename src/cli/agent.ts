/** `conclave agent`: runs a node that is always a candidate, and serves its state over HTTP. */
import { tmpdir } from 'node:os'
import { Command } from 'commander'
import { type Agent, CannotListenError, SystemdNotifier, startAgent } from '../service/agent/index.ts'
import type { AgentEvent } from '../service/client/index.ts'
import { parseAddress } from '../service/config/address.ts'
import { type Config, effectiveJson, effectiveText } from '../service/config/index.ts'
import { messageWithPlace } from './error-place.ts'
import { EXIT, UsageError } from './errors.ts'
import { createLog, type Log } from './log.ts'
import {
  addAgentFlags,
  addNodeFlags,
  loadOwnProtocol,
  type NodeFlags,
  readConfig,
  type ServiceFlags,
} from './node-flags.ts'
import { print, printJson, printNote } from './output.ts'
import { Supervisor } from './run/supervisor-link.ts'
import { readVersion } from './version.ts'

type AgentFlags = NodeFlags & ServiceFlags & { readonly check?: boolean; readonly json?: boolean }

export function agentCommand(): Command {
  return addAgentFlags(
    addNodeFlags(
      new Command('agent').description(
        'run a node beside your processes that takes part in elections and reports the leader over HTTP',
      ),
    ),
  )
    .option('--check', 'print the effective configuration and warnings, and exit')
    .option('--json', 'with --check: print one JSON object')
    .addHelpText(
      'after',
      `
Examples:
  conclave agent --group billing --id a --listen 10.0.0.1:7400 --peer b=10.0.0.2:7400 --peer c=10.0.0.3:7400 \\
    --key-file /etc/conclave/key --data /var/lib/conclave/billing
  conclave agent --config /etc/conclave/billing.yaml --check

Flags take precedence over the environment, and the environment over the file. docs/reference/configuration.md lists all
fields. The agent logs to standard error: one JSON object per line, or with --log-format text one readable line. On
SIGTERM, SIGINT or SIGHUP it hands leadership over and exits with 0; a second signal ends it at once. On SIGUSR2 it
writes its last steps to a file in the data directory.
Anyone who can reach the HTTP address can read the state; see docs/reference/http.md.

Exit code 2 for an invalid configuration, 1 if the node cannot continue.`,
    )
    .action(async (flags: AgentFlags) => {
      process.exitCode = await agent(flags)
    })
}

async function agent(flags: AgentFlags): Promise<number> {
  await loadOwnProtocol(flags)
  const config = readConfig(flags)
  if (flags.check === true) return printConfig(config, flags.json === true)
  const stopped = firstSignal()
  const log = logOf(config)
  for (const { field, message } of config.warnings) log('warning', { reason: `${field}: ${message}` })
  const supervisor = Supervisor.connect()
  const running = await start(config, log)
  const systemd = new SystemdNotifier(process.env, { onFailure: (reason) => log('warning', { reason }) })
  const statusText = (): string => running.nodes.map(describeRole).join('; ')
  const statusTimer = setInterval(() => systemd.status(statusText()), SYSTEMD_STATUS_INTERVAL_MS)
  statusTimer.unref()
  process.on('SIGUSR2', () => void saveTraces(running, log))
  supervisor?.injectInto(running.nodes)
  supervisor?.onLocal((local) => running.supervise(local))
  log('started', { http: running.url })
  void systemd.ready(statusText(), () => running.nodes.every((node) => !node.isClosed))
  const cause = await Promise.race([stopped, running.failed])
  clearInterval(statusTimer)
  log('ending', { reason: typeof cause === 'string' ? cause : messageWithPlace(cause) })
  await Promise.all([systemd.stopping(), running.close()])
  return typeof cause === 'string' ? EXIT.ok : EXIT.failure
}

/** How often the status text of systemd is updated, if it has changed. */
const SYSTEMD_STATUS_INTERVAL_MS = 1000

/** `group` is null in a line that concerns several groups. */
function logOf({ groups, process: { logLevel, logFormat } }: Config): Log {
  const [first] = groups
  const only = groups.length === 1 ? (first?.node.group ?? null) : null
  const common = { group: only, id: first?.node.id ?? null }
  const log = createLog({ level: logLevel, format: logFormat, common })
  return (event, more) => log(event, { token: null, term: null, reason: null, ...more })
}

async function start(
  { groups, process: { http, httpNames, traceSteps, otlp }, adminToken, readToken, tls }: Config,
  log: Log,
): Promise<Agent> {
  const logEvent = ({ event, group, leader, token, term, reason, cause, level, view }: AgentEvent): void =>
    log(event, {
      group,
      leader,
      token,
      term,
      reason,
      ...(cause === undefined ? {} : { cause }),
      ...(level === undefined ? {} : { level }),
      ...(view === undefined ? {} : { view }),
    })
  try {
    return await startAgent({
      // A group that meets in a store records no steps.
      groups: groups.map(({ join }) => ({ ...join, traceSteps })),
      http: parseAddress(http),
      httpNames,
      adminToken,
      readToken,
      tls,
      otlp: otlp ?? null,
      version: readVersion(),
      log: logEvent,
    })
  } catch (error) {
    if (error instanceof CannotListenError) throw new UsageError(`--http: ${error.message}`, '--http')
    throw error
  }
}

/** Resolves with the first signal. A second signal ends the process at once. */
function firstSignal(): Promise<string> {
  return new Promise((resolve) => {
    let received = 0
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => {
        received += 1
        if (received > 1) process.exit(EXIT.failure)
        resolve(signal)
      })
    }
  })
}

async function saveTraces(running: Agent, log: Log): Promise<void> {
  try {
    for (const file of await running.saveTraces(tmpdir())) log('trace', { file })
  } catch (error) {
    log('warning', { reason: `cannot write the trace: ${(error as Error).message}` })
  }
}

function describeRole(node: Agent['nodes'][number]): string {
  const { role, leader } = node.status()
  if (role === 'leader') return `leads ${node.group} with token ${leader?.token}`
  return leader === null ? `no leader in ${node.group}` : `follows ${leader.id} in ${node.group}`
}

function printConfig(config: Config, json: boolean): number {
  if (json) printJson(effectiveJson(config))
  else {
    for (const line of effectiveText(config).split('\n')) print(line)
    for (const { field, message } of config.warnings) printNote(`warning: ${field}: ${message}`)
  }
  return EXIT.ok
}
