/** conclave run: a command that runs while this node leads, and at no other time. */
import { Command, Option } from 'commander'
import { readAdminToken } from '../service/config/keys.ts'
import { leaseTimingOf } from '../service/node/election/lease-terms.ts'
import {
  type ConclaveNode,
  type JoinOptions,
  join,
  LeadershipLostError,
  type StoreJoinOptions,
  type Term,
} from '../service/node/index.ts'
import { CommandFailedError, Guarded } from '../service/supervise/guarded.ts'
import { EXIT, UsageError } from './errors.ts'
import { addNodeFlags, type NodeFlags, readJoinOptions } from './node-flags.ts'
import { printNote } from './output.ts'
import { type AgentOf, runWithAgent } from './run/agent.ts'
import { refuseUnlessProgram } from './run/program.ts'
import { Supervisor } from './run/supervisor-link.ts'
import { type HeldLead, killBeforeIn, type Running, runUnder } from './run/term.ts'
import { parseMilliseconds } from './values.ts'

type RunFlags = NodeFlags & {
  readonly once?: boolean
  readonly graceMs: string
  readonly killBeforeMs?: string
  readonly quiet?: boolean
  readonly json?: boolean
  readonly agent?: string
  readonly adminTokenFile?: string
}

export function runCommand(): Command {
  return addNodeFlags(
    new Command('run').description(
      'run a command while this node leads, and end it before anybody else does',
    ),
  )
    .option('--agent <url>', 'run it while this agent leads, instead of with a node of its own')
    .addOption(
      new Option('--admin-token-file <file>', "with --agent: the agent's admin token is in it").env(
        'CONCLAVE_ADMIN_TOKEN_FILE',
      ),
    )
    .option('--once', 'end when the leadership is lost, instead of waiting for the next')
    .option(
      '--grace-ms <ms>',
      'when this process is told to end: how long the command may take to end',
      '10000',
    )
    .option(
      '--kill-before-ms <ms>',
      'how long before the lease ends the command is dead at the latest (default: 15, or less where a lease has no room for that)',
    )
    .option('--quiet', 'say nothing of what happens')
    .option('--json', 'say it as JSON, one object a line')
    .argument('<command...>', 'the command and its words, after --; there is no shell')
    .addHelpText(
      'after',
      `
Example:
  conclave run --group billing --id a --listen 10.0.0.1:7400 --peer b=10.0.0.2:7400 --peer c=10.0.0.3:7400 \\
    --key-file /etc/conclave/key --data /var/lib/conclave/billing -- /usr/local/bin/worker --all
  conclave run --agent http://127.0.0.1:7480 --admin-token-file /etc/conclave/admin-token -- /usr/local/bin/worker

The command finds CONCLAVE_GROUP, CONCLAVE_ID, CONCLAVE_TOKEN and CONCLAVE_EXPIRES_MS (what is left of the lease as it
begins) in its environment. It is asked to end (SIGTERM to its process group) when the lease runs out without having
been renewed, and killed before the lease ends. A guardian, a process of its own, sees to that even if this one is
stopped or killed. Everything that the command has started is killed with it: all of it where a cgroup can be made, and
otherwise what can be found; docs/how-to/run-a-command.md says what that is.

With --protocol omega there is no lease: CONCLAVE_EXPIRES_MS is how long a majority of the view is counted as answering,
and another node may lead before that is over. Only the token protects then.

With --agent there is no node in this process: it claims the agent's lead, which needs the agent's admin token, and the
agent hands over only when the command has ended or its time is up. When the agent is gone, the command is ended in time.

Exit code: the command's own when it ends by itself; 7 with --once when the leadership was lost; 0 when this process was
told to end; 2 for bad input.`,
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
    throw new UsageError('--kill-before-ms must be at least 1: killing takes time', '--kill-before-ms')
  const say = flags.quiet === true ? () => {} : flags.json === true ? narrateJson : printNote
  const told = new AbortController()
  const running = { command, told: told.signal, graceMs, killBeforeMs, once: flags.once === true, say }
  refuseUnlessProgram(command[0] ?? '')
  const options = flags.agent === undefined ? readJoinOptions(flags) : null
  const ownKillBeforeMs = options === null ? null : killBeforeIn(leaseTimingOf(options), killBeforeMs)
  const supervisor = Supervisor.ofThisProcess()
  const guarded = await Guarded.start()
  const onSignal = (): void => told.abort()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal)
  guarded.once('lost', (error) => {
    if (flags.json === true) narrateJson(error.message)
    else printNote(error.message)
    told.abort()
  })
  try {
    if (options === null || ownKillBeforeMs === null)
      return await runWithAgent(agentOf(flags), guarded, running)
    return await runWithNode(options, ownKillBeforeMs, supervisor, guarded, running)
  } catch (error) {
    if (error instanceof CommandFailedError)
      throw new UsageError(`cannot run ${command[0]}: ${error.message}`, null)
    throw error
  } finally {
    guarded.close()
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.off(signal, onSignal)
  }
}

/** With the same names as the log of an agent. */
function narrateJson(reason: string): void {
  printNote(JSON.stringify({ time: new Date().toISOString(), event: 'run', reason }))
}

function agentOf({ agent = '', group, adminTokenFile }: RunFlags): AgentOf {
  if (!URL.canParse(agent))
    throw new UsageError(`--agent ${agent}: write a URL, such as http://127.0.0.1:7480`, '--agent')
  const { token: adminToken, problem } = readAdminToken(adminTokenFile)
  if (problem !== null) throw new UsageError(`--admin-token-file: ${problem}`, '--admin-token-file')
  return { agent, group: group ?? process.env['CONCLAVE_GROUP'] ?? null, adminToken }
}

const NO_LEASE =
  'omega gives no lease: the command is killed when no majority of its view has answered for a while, but another may lead before; let what it acts on check CONCLAVE_TOKEN'

async function runWithNode(
  options: JoinOptions | StoreJoinOptions,
  killBeforeMs: number,
  supervisor: Supervisor | null,
  guarded: Guarded,
  running: Running,
): Promise<number> {
  // This thread does nothing else that takes long; one more would cost 20 MB.
  const node = await join({ isolation: 'thread', ...options })
  supervisor?.injectInto([node])
  running.say(`${String(node.id)} takes part in ${node.group}`)
  if (options.protocol === 'omega') running.say(NO_LEASE)
  node.on('warning', ({ what, detail }) => running.say(`${what}: ${detail}`))
  try {
    return await lead(node, killBeforeMs, guarded, running)
  } finally {
    await node.close()
  }
}

/** Term after term, until the command has ended by itself or nobody wants it any more. */
async function lead(
  node: ConclaveNode,
  killBeforeMs: number,
  guarded: Guarded,
  running: Running,
): Promise<number> {
  const { told, once } = running
  let code: number | null = null
  const ended = new AbortController()
  // Ends the terms of this node, and with them the command: so a command that runs has its grace first.
  let isRunning = false
  const onEnd = (): void => {
    if (!isRunning) ended.abort()
  }
  told.addEventListener('abort', onEnd)
  if (told.aborted) onEnd()

  async function during(term: Term): Promise<void> {
    const held: HeldLead = {
      group: node.group,
      id: String(node.id),
      token: term.token,
      signal: term.signal,
      ending: null,
      remaining: () => term.remaining(),
    }
    isRunning = true
    try {
      code = await runUnder(held, killBeforeMs, guarded, running)
    } finally {
      isRunning = false
      if (code !== null || once || told.aborted) ended.abort()
    }
  }

  try {
    await node.lead(during, { signal: ended.signal })
  } catch (error) {
    if (!(error instanceof LeadershipLostError)) throw error
  }
  if (told.aborted) return EXIT.ok
  return code ?? EXIT.lost
}
