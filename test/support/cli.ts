/**
 * Runs `conclave` in this process, for tests of a command's output: a child process costs a third of a
 * second. It is the bundled command line, as users run it, loaded by Node.js itself (see vitest.config.ts), so that
 * its worker threads find their files, and load few of them.
 *
 * Pipes, signals, terminals, standard input and exit codes as a shell sees them need a child process.
 */
import type { EventEmitter } from 'node:events'
import type * as CommandLine from '../../dist/cli/main.js'

export type Ended = { readonly code: number; readonly stdout: string; readonly stderr: string }
/** The bundle has no types of its own. */
const BUNDLE = new URL('../../dist/bundle/cli/main.js', import.meta.url).href
const { main } = (await import(BUNDLE)) as typeof CommandLine

type Surroundings = {
  readonly cwd?: string
  readonly env?: NodeJS.ProcessEnv
  /** Another build of the command line. */
  readonly main?: typeof main
}

let last: Promise<unknown> = Promise.resolve()

/** Serializes the commands, because they share the state of the process. */
export function conclave(words: readonly string[], surroundings: Surroundings = {}): Promise<Ended> {
  const ended = last.then(() => runAlone(words, surroundings))
  last = ended.catch(() => {})
  return ended
}

async function runAlone(
  words: readonly string[],
  { cwd, env, main: run = main }: Surroundings,
): Promise<Ended> {
  const restore = [
    keepExitCode(),
    keepFolder(),
    keepEnvironment(),
    ...[process, process.stdout, process.stderr].map(keepListeners),
  ]
  const stdout = capture(process.stdout)
  const stderr = capture(process.stderr)
  try {
    if (cwd !== undefined) process.chdir(cwd)
    Object.assign(process.env, env)
    const code = await run(words)
    return { code, stdout: stdout.text(), stderr: stderr.text() }
  } finally {
    stdout.release()
    stderr.release()
    for (const each of restore) each()
  }
}

type Captured = { text(): string; release(): void }

function capture(stream: NodeJS.WriteStream): Captured {
  const chunks: string[] = []
  const own = Object.getOwnPropertyDescriptor(stream, 'write')
  const write = (chunk: Uint8Array | string, ...more: readonly unknown[]): boolean => {
    chunks.push(typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString())
    const done = more.find((each) => typeof each === 'function')
    if (done !== undefined) process.nextTick(done)
    return true
  }
  Object.defineProperty(stream, 'write', { value: write, configurable: true, writable: true })
  return {
    text: () => chunks.join(''),
    release() {
      if (own === undefined) Reflect.deleteProperty(stream, 'write')
      else Object.defineProperty(stream, 'write', own)
    },
  }
}

function keepExitCode(): () => void {
  const { exitCode } = process
  process.exitCode = undefined
  return () => {
    process.exitCode = exitCode
  }
}

function keepFolder(): () => void {
  const folder = process.cwd()
  return () => process.chdir(folder)
}

function keepEnvironment(): () => void {
  const before = { ...process.env }
  return () => {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name]
    Object.assign(process.env, before)
  }
}

/** Returns a function that removes the listeners that a command leaves behind. */
function keepListeners(emitter: EventEmitter): () => void {
  const before = new Map(emitter.eventNames().map((name) => [name, emitter.rawListeners(name)]))
  return () => {
    for (const name of emitter.eventNames()) {
      for (const listener of emitter.rawListeners(name)) {
        if (before.get(name)?.includes(listener) !== true)
          emitter.removeListener(name, listener as (...args: unknown[]) => void)
      }
    }
  }
}
