/** `conclave run`: runs a command while this node leads, and at no other time. */
import { Command, Option } from 'commander'
import { hostedNames, hostingOf } from '../protocols/index.ts'
import { LOG_LEVELS } from '../service/config/index.ts'
import {
  CommandFailedError,
  GuardianLostError,
  GuardianProcess,
} from '../service/supervise/guardian-process.ts'
import {
  addConnectionFlags,
  type ConnectionFlags,
  parseAgentUrl,
  readAdminTokenFlag,
  readConnection,
} from './ask/request.ts'
import { UsageError } from './errors.ts'
import { createLog, type Log } from './log.ts'
import { addLogFlags, addNodeFlags, loadOwnProtocol, type NodeFlags, readJoinOptions } from './node-flags.ts'
import { type AgentTarget, runWithAgent } from './run/agent.ts'
import { resolveOwnNode } from './run/lease.ts'
import { runWithNode } from './run/own-node.ts'
import { checkProgram } from './run/program.ts'
import { Supervisor } from './run/supervisor-link.ts'
import type { RunSettings } from './run/term.ts'
import { parseChoice, parseMilliseconds } from './values.ts'

type RunFlags = NodeFlags &
  ConnectionFlags & {
    readonly once?: boolean
    readonly graceMs: string
    readonly killBeforeMs?: string
    readonly quiet?: boolean
    readonly json?: boolean
    readonly agent?: string
    readonly adminTokenFile?: string
    readonly logLevel?: string
    readonly logFormat?: string
  }

export function runCommand(): Command {
  return addLogFlags(
    addConnectionFlags(
      addNodeFlags(
        new Command('run').description(
          'run a command while this node leads, and end it before another node can lead',
        ),
      ),
    ),
    'text',
  )
    .option(
      '--agent <url>',
      'run the command while this agent leads, instead of running a node in this process',
    )
    .addOption(
      new Option('--admin-token-file <file>', "with --agent: file with the agent's admin token").env(
        'CONCLAVE_ADMIN_TOKEN_FILE',
      ),
    )
    .option('--once', 'exit when the term is lost, instead of waiting for the next term')
    .option(
      '--grace-ms <ms>',
      'how long the command may take to end when this process receives SIGTERM, SIGINT or SIGHUP',
      '10000',
    )
    .option(
      '--kill-before-ms <ms>',
      'how long before the end of the lease the command is killed (default: 15, or less if the lease is short)',
    )
    .option('--quiet', 'print nothing about terms and the command')
    .option('--json', 'print messages as JSON, one object per line: the same as --log-format json')
    .argument('<command...>', 'the command and its arguments, after --; no shell is involved')
    .addHelpText(
      'after',
      `
Example:
  conclave run --group billing --id a --listen 10.0.0.1:7400 --peer b=10.0.0.2:7400 --peer c=10.0.0.3:7400 \\
    --key-file /etc/conclave/key --data /var/lib/conclave/billing -- /usr/local/bin/worker --all
  conclave run --agent http://127.0.0.1:7480 --admin-token-file /etc/conclave/admin-token -- /usr/local/bin/worker

The environment of the command has CONCLAVE_GROUP, CONCLAVE_ID, CONCLAVE_TOKEN and CONCLAVE_EXPIRES_MS (the rest of the
lease when the command starts). If the lease is not renewed, the command receives SIGTERM in its process group, and is
killed before the lease ends. A guardian process does this even if this process is stopped or killed. Processes that the
command has started are killed with it: all of them if a cgroup can be created, otherwise the ones that can be found.
See docs/how-to/run-a-command.md.

With a protocol that has no leases (${hostedNames()
        .filter((name) => hostingOf(name)?.withoutLease !== null)
        .join(', ')}), CONCLAVE_EXPIRES_MS is how long the replies of a majority
count, and another node can lead earlier. Only the token protects then.

With --agent, this process has no node. It claims the term of the agent, which needs the agent's admin token. The agent
hands leadership over only after the command has ended or the claim has expired. If the agent dies, the command is ended
in time.

Exit code: that of the command if it ends by itself; 7 with --once if the term was lost; 0 if this process received a
signal to stop; 1 if its guardian process was killed; 2 for bad input.`,
    )
    .action(async (command: readonly string[], flags: RunFlags) => {
      process.exitCode = await run(command, flags)
    })
}

async function run(command: readonly string[], flags: RunFlags): Promise<number> {
  const graceMs = parseMilliseconds('--grace-ms', flags.graceMs)
  const killBeforeMs =
    flags.killBeforeMs === undefined ? null : parseMilliseconds('--kill-before-ms', flags.killBeforeMs)
  if (killBeforeMs !== null && killBeforeMs < 1)
    throw new UsageError(
      '--kill-before-ms: must be at least 1, because killing takes time',
      '--kill-before-ms',
    )
  const log = readLog(flags)
  const printMessage = (reason: string, event: 'run' | 'warning' = 'run'): void => log(event, { reason })
  const stop = new AbortController()
  const settings: RunSettings = {
    command,
    stopSignal: stop.signal,
    graceMs,
    killBeforeMs,
    once: flags.once === true,
    report: flags.quiet === true ? () => {} : printMessage,
  }
  checkProgram(command[0] ?? '')
  await loadOwnProtocol(flags)
  const warn = (text: string): void => printMessage(text, 'warning')
  const own = flags.agent === undefined ? resolveOwnNode(readJoinOptions(flags, warn), killBeforeMs) : null
  const supervisor = Supervisor.connect()
  const guardian = await GuardianProcess.start()
  const onSignal = (): void => stop.abort()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal)
  guardian.once('lost', (error) => stop.abort(error))
  try {
    const code =
      own === null
        ? await runWithAgent(readAgentTarget(flags), guardian, settings)
        : await runWithNode({ ...own, supervisor }, guardian, settings)
    if (stop.signal.reason instanceof GuardianLostError) throw stop.signal.reason
    return code
  } catch (error) {
    if (error instanceof CommandFailedError)
      throw new UsageError(`cannot run ${command[0]}: ${error.message}`, null)
    throw error
  } finally {
    guardian.close()
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.off(signal, onSignal)
  }
}

/** The lines have the field names of an agent's log. */
function readLog({ json, logLevel, logFormat }: RunFlags): Log {
  const level = logLevel ?? process.env['CONCLAVE_LOG_LEVEL'] ?? 'info'
  const format = json === true ? 'json' : (logFormat ?? process.env['CONCLAVE_LOG_FORMAT'] ?? 'text')
  return createLog({
    level: parseChoice('--log-level', level, LOG_LEVELS),
    format: parseChoice('--log-format', format, ['json', 'text']),
    common: {},
  })
}

function readAgentTarget(flags: RunFlags): AgentTarget {
  const { agent = '', group, adminTokenFile } = flags
  return {
    agent: parseAgentUrl(agent),
    group: group ?? process.env['CONCLAVE_GROUP'] ?? null,
    adminToken: readAdminTokenFlag(adminTokenFile),
    // Claims are renewed several times per second.
    ...readConnection(flags, { keepAlive: true }),
  }
}
