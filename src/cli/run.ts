/** conclave run: a command that runs while this node leads, and at no other time. */
import { constants } from 'node:os'
import { Command } from 'commander'
import { join, LeadershipLost, type Member, type Term } from '../member/index.ts'
import { monotonicNow } from '../runtime/index.ts'
import { EXIT, UsageError } from './errors.ts'
import { CommandFailed, type Ending, Guarded } from './guarded.ts'
import { joinOptions, type NodeFlags, withNodeFlags } from './node-flags.ts'
import { narrate } from './output.ts'
import { Supervisor } from './supervised.ts'
import { milliseconds } from './values.ts'

type RunFlags = NodeFlags & {
  readonly once?: boolean
  readonly graceMs: string
  readonly killBeforeMs: string
  readonly quiet?: boolean
}

export function runCommand(): Command {
  return withNodeFlags(
    new Command('run').description(
      'run a command while this node leads, and end it before anybody else does',
    ),
  )
    .option('--once', 'end when the leadership is lost, instead of waiting for the next')
    .option(
      '--grace-ms <ms>',
      'when this process is told to end: how long the command may take to end',
      '10000',
    )
    .option('--kill-before-ms <ms>', 'how long before the lease ends the command is dead at the latest', '15')
    .option('--quiet', 'say nothing of what happens')
    .argument('<command...>', 'the command and its words, after --; there is no shell')
    .addHelpText(
      'after',
      `
Example:
  conclave run --group billing --id a --listen 10.0.0.1:7400 --peer b=10.0.0.2:7400 --peer c=10.0.0.3:7400 \\
    --key-file /etc/conclave/key --data /var/lib/conclave/billing -- /usr/local/bin/worker --all

The command finds CONCLAVE_GROUP, CONCLAVE_ID, CONCLAVE_TOKEN and CONCLAVE_EXPIRES_MS (what is left of the lease as it
begins) in its environment. It is asked to end (SIGTERM to its process group) when the lease runs out without having
been renewed, and killed before the lease ends. A guardian, a process of its own, sees to that even if this one is
stopped or killed.

Exit code: the command's own when it ends by itself; 7 with --once when the leadership was lost; 0 when this process was
told to end; 2 for bad input.`,
    )
    .action(async (command: readonly string[], flags: RunFlags) => {
      process.exitCode = await run(command, flags)
    })
}

async function run(command: readonly string[], flags: RunFlags): Promise<number> {
  const graceMs = milliseconds('--grace-ms', flags.graceMs)
  const killBefore = milliseconds('--kill-before-ms', flags.killBeforeMs) * 1000
  if (killBefore < 1000)
    throw new UsageError('--kill-before-ms must be at least 1: killing takes time', '--kill-before-ms')
  const options = joinOptions(flags)
  const supervisor = Supervisor.ofThisProcess()
  const guarded = await Guarded.start()
  const say = flags.quiet === true ? () => {} : narrate
  let node: Member
  try {
    node = await join(options)
  } catch (error) {
    guarded.close()
    throw error
  }
  supervisor?.spoils(node)
  say(`${String(node.id)} takes part in ${node.group}`)
  node.on('warning', ({ what, detail }) => say(`${what}: ${detail}`))
  const told = new AbortController()
  const onSignal = (): void => told.abort()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, onSignal)
  guarded.once('lost', (error) => {
    narrate(error.message)
    told.abort()
  })
  try {
    return await lead(node, guarded, {
      command,
      told: told.signal,
      graceMs,
      killBefore,
      once: flags.once === true,
      say,
    })
  } finally {
    await node.close()
    guarded.close()
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, onSignal)
  }
}

type Running = {
  readonly command: readonly string[]
  readonly told: AbortSignal
  readonly graceMs: number
  readonly killBefore: number
  readonly once: boolean
  readonly say: (text: string) => void
}

/** How often the guardian is told of a renewed lease, at least. */
const LOOK_MS = 5

/** Term after term, until the command has ended by itself or nobody wants it any more. */
async function lead(node: Member, guarded: Guarded, running: Running): Promise<number> {
  const { command, told, graceMs, killBefore, once, say } = running
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
    const deadlines = (): readonly [number, number] => {
      const left = term.remaining() * 1000
      const kill = monotonicNow() + left - killBefore
      // A third of what is left is for ending by itself, but no more than as long again as for being killed.
      return [kill - Math.min(killBefore, left / 3), kill]
    }
    const env = {
      CONCLAVE_GROUP: node.group,
      CONCLAVE_ID: String(node.id),
      CONCLAVE_TOKEN: String(term.token ?? ''),
      CONCLAVE_EXPIRES_MS: String(Math.floor(term.remaining())),
    }
    say(`${String(node.id)} leads with token ${term.token}: starting ${command[0]}`)
    const renewing = setInterval(() => {
      if (!term.signal.aborted) guarded.deadline(...deadlines())
    }, LOOK_MS)
    const onTold = (): void => guarded.stop(graceMs)
    // The lead is kept and renewed while the command ends, for as long as the grace lasts.
    told.addEventListener('abort', onTold)
    const onLost = (): void => guarded.stop(0)
    term.signal.addEventListener('abort', onLost)
    isRunning = true
    try {
      const ending = await guarded.run(command, env, ...deadlines())
      if (told.aborted) code = EXIT.ok
      else if (!ending.asked) code = codeOf(ending)
      say(`${command[0]} ended${ending.signal === null ? ` with ${ending.code}` : ` by ${ending.signal}`}`)
    } finally {
      isRunning = false
      clearInterval(renewing)
      told.removeEventListener('abort', onTold)
      term.signal.removeEventListener('abort', onLost)
      if (code !== null || once || told.aborted) ended.abort()
    }
  }

  try {
    await node.lead(during, { signal: ended.signal })
  } catch (error) {
    if (error instanceof CommandFailed)
      throw new UsageError(`cannot run ${command[0]}: ${error.message}`, null)
    if (!(error instanceof LeadershipLost)) throw error
  }
  if (told.aborted) return EXIT.ok
  return code ?? EXIT.lost
}

/** As a shell has it: 128 and the number of the signal. */
function codeOf({ code, signal }: Ending): number {
  return code ?? 128 + (constants.signals[signal as keyof typeof constants.signals] ?? 0)
}
