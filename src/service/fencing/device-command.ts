/**
 * A device behind a command, with the interface of cluster managers' fence agents: options are `name=value` lines on
 * standard input, and the exit code is the outcome. 0 means done; for `action=status` 0 means on and 2 means off. An agent
 * that supports tokens refuses with 5. With any other code the outcome is unknown.
 */
import { spawn } from 'node:child_process'
import type { FenceDevice } from './devices.ts'

export type CommandOptions = {
  /** Program and arguments, run without a shell. */
  readonly command: readonly [program: string, ...args: string[]]
  /** Further options of the agent, such as address and login. They do not appear on its command line. */
  readonly options?: { readonly [name: string]: string }
}

const REFUSED = 5
const OFF = 2
const MAX_OUTPUT_CHARS = 2000

export function commandDevice({ command, options = {} }: CommandOptions): FenceDevice {
  const [program, ...args] = command
  for (const [name, value] of Object.entries(options))
    if (/[\n=]/.test(name) || value.includes('\n'))
      throw new RangeError(`options.${name}: must not contain a line break, and its name must not contain =`)

  async function run(more: { readonly [name: string]: string }, signal: AbortSignal): Promise<CommandResult> {
    const lines = Object.entries({ ...options, ...more }).map(([name, value]) => `${name}=${value}\n`)
    return runCommand(program, args, lines.join(''), signal)
  }

  return {
    name: program,
    async execute({ action, target, token, by }, signal) {
      const { code, output } = await run({ action, plug: target, token: String(token), by }, signal)
      if (code === 0) return { outcome: 'done' }
      if (code === REFUSED) return { outcome: 'refused', current: null, why: output }
      return { outcome: 'unknown', why: `${program} exited with ${code}: ${output}` }
    },
    async status(target, signal) {
      const { code } = await run({ action: 'status', plug: target }, signal)
      return code === 0 ? 'on' : code === OFF ? 'off' : 'unknown'
    },
  }
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

type CommandResult = { readonly code: number | string; readonly output: string }

/** How long to wait for the rest of the output after the exit, while a background process holds the pipe. */
const OUTPUT_GRACE_MS = 100

/**
 * Runs a command. On abort it is killed with its process group. The result is the exit code of the command itself;
 * background processes that it leaves behind are not waited for.
 */
function runCommand(
  program: string,
  args: readonly string[],
  input: string,
  signal: AbortSignal,
): Promise<CommandResult> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve({ code: 'not started', output: 'timed out' })
      return
    }
    const child = spawn(program, args, { stdio: ['pipe', 'ignore', 'pipe'], detached: true })
    let output = ''
    const kill = (): void => {
      if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
      try {
        process.kill(-child.pid, 'SIGKILL')
      } catch (error) {
        // A process of another user, as with sudo, cannot be killed: stop waiting for it.
        child.unref()
        output = `cannot kill it: ${reasonOf(error)}`
        answer('timed out')
      }
    }
    const answer = (code: number | string): void => {
      signal.removeEventListener('abort', kill)
      child.stdin.destroy()
      child.stderr.destroy()
      resolve({ code, output: output.trim() })
    }
    signal.addEventListener('abort', kill, { once: true })
    child.stderr.on('data', (data: Buffer) => {
      output = `${output}${data.toString()}`.slice(-MAX_OUTPUT_CHARS)
    })
    child.on('error', (error) => {
      output = error.message
      answer('not started')
    })
    // It is not an error if the agent does not read all of its input.
    child.stdin.on('error', () => {})
    child.stdin.end(input)
    child.on('exit', (code, reason) => {
      const done = (): void => answer(code ?? reason ?? 'unknown')
      // Data that is already in the pipe is read before the immediate runs.
      const timer = setTimeout(() => setImmediate(done), OUTPUT_GRACE_MS)
      child.stderr.once('close', () => {
        clearTimeout(timer)
        done()
      })
    })
  })
}
