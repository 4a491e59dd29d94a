/**
 * A device behind a command, as the fence agents of cluster managers are: options as `name=value` lines on standard
 * input, the outcome as the exit code. 0 is done; for `action=status` 0 is on and 2 is off. An agent that knows tokens
 * refuses with 5. Anything else may or may not have happened.
 */
import { spawn } from 'node:child_process'
import type { FenceDevice } from './devices.ts'

export type CommandOptions = {
  /** Program and words; no shell. */
  readonly command: readonly [program: string, ...words: string[]]
  /** Further options of the agent: address, login and so on. They are not put on its command line. */
  readonly options?: { readonly [name: string]: string }
}

const REFUSED = 5
const OFF = 2
const MOST_KEPT = 2000

export function commandDevice({ command, options = {} }: CommandOptions): FenceDevice {
  const [program, ...words] = command
  for (const [name, value] of Object.entries(options))
    if (/[\n=]/.test(name) || value.includes('\n'))
      throw new RangeError(`the option ${name} cannot be passed on: no line may be broken, no name have a =`)

  async function run(more: { readonly [name: string]: string }, signal: AbortSignal): Promise<Ended> {
    const lines = Object.entries({ ...options, ...more }).map(([name, value]) => `${name}=${value}\n`)
    return ended(program, words, lines.join(''), signal)
  }

  return {
    name: program,
    async carryOut({ action, target, token, by }, signal) {
      const { code, said } = await run({ action, plug: target, token: String(token), by }, signal)
      if (code === 0) return { outcome: 'done' }
      if (code === REFUSED) return { outcome: 'refused', current: null, why: said }
      return { outcome: 'unknown', why: `${program} ended with ${code}: ${said}` }
    },
    async status(target, signal) {
      const { code } = await run({ action: 'status', plug: target }, signal)
      return code === 0 ? 'on' : code === OFF ? 'off' : 'unknown'
    },
  }
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

type Ended = { readonly code: number | string; readonly said: string }

/** After the command has ended: how long to wait for what it said last, while a process that it left holds the pipe. */
const LAST_WORDS_MS = 100

/**
 * When time is up the command is killed with its process group. The answer is the exit code of the command itself:
 * processes that it leaves behind are left alone, and nobody waits for them.
 */
function ended(
  program: string,
  words: readonly string[],
  input: string,
  signal: AbortSignal,
): Promise<Ended> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve({ code: 'not started', said: 'time is up' })
      return
    }
    const child = spawn(program, words, { stdio: ['pipe', 'ignore', 'pipe'], detached: true })
    let said = ''
    const kill = (): void => {
      if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
      try {
        process.kill(-child.pid, 'SIGKILL')
      } catch (error) {
        // One that has become another user's, as with sudo, may not be killed: nobody waits for it any longer.
        child.unref()
        said = `it cannot be killed: ${reasonOf(error)}`
        answer('time is up')
      }
    }
    const answer = (code: number | string): void => {
      signal.removeEventListener('abort', kill)
      child.stdin.destroy()
      child.stderr.destroy()
      resolve({ code, said: said.trim() })
    }
    signal.addEventListener('abort', kill, { once: true })
    child.stderr.on('data', (data: Buffer) => {
      said = `${said}${data.toString()}`.slice(-MOST_KEPT)
    })
    child.on('error', (error) => {
      said = error.message
      answer('not started')
    })
    // An agent that does not read all of its input is no error.
    child.stdin.on('error', () => {})
    child.stdin.end(input)
    child.on('exit', (code, reason) => {
      const done = (): void => answer(code ?? reason ?? 'unknown')
      // What lies in the pipe already is read before the immediate.
      const timer = setTimeout(() => setImmediate(done), LAST_WORDS_MS)
      child.stderr.once('close', () => {
        clearTimeout(timer)
        done()
      })
    })
  })
}
