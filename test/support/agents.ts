/** Agents as child processes, for tests. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from './wait.ts'

export const CONCLAVE = new URL('../../bin/conclave', import.meta.url).pathname

export type Ran = { readonly code: number | null; readonly out: string; readonly said: string }

export async function conclave(words: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ran> {
  const child = spawn(CONCLAVE, words, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } })
  let out = ''
  let said = ''
  child.stdout.on('data', (data: Buffer) => (out += data.toString()))
  child.stderr.on('data', (data: Buffer) => (said += data.toString()))
  const code = await new Promise<number | null>((resolve) => child.once('close', (ended) => resolve(ended)))
  return { code, out, said }
}

export type Logged = {
  readonly event: string
  readonly token: number | null
  readonly reason: string | null
  readonly [field: string]: unknown
}

export class AgentProcess {
  readonly #process: ChildProcess
  readonly ended: Promise<number | null>
  #text = ''

  constructor(words: readonly string[], env: NodeJS.ProcessEnv = {}) {
    this.#process = spawn(CONCLAVE, ['agent', ...words], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, ...env },
    })
    this.#process.stderr?.on('data', (data: Buffer) => (this.#text += data.toString()))
    this.ended = new Promise((resolve) => this.#process.once('close', (code) => resolve(code)))
  }

  /** All that the agent wrote to standard error. */
  get text(): string {
    return this.#text
  }

  get log(): readonly Logged[] {
    const lines = this.#text.split('\n').slice(0, -1)
    return lines.flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as Logged] : []))
  }

  /** Resolves to the first matching line of the log. */
  async logged(event: string, which: (line: Logged) => boolean = () => true): Promise<Logged> {
    const find = (): Logged | undefined => this.log.find((line) => line.event === event && which(line))
    await until(() => find() !== undefined || this.#process.exitCode !== null)
    const line = find()
    if (line === undefined) throw new Error(`the agent ended without "${event}": ${this.#text}`)
    return line
  }

  /** Resolves when the log contains this text. */
  async said(text: string): Promise<void> {
    await until(() => this.#text.includes(text) || this.#process.exitCode !== null)
    if (!this.#text.includes(text)) throw new Error(`the agent ended without "${text}": ${this.#text}`)
  }

  async url(): Promise<string> {
    return String((await this.logged('started'))['http'])
  }

  kill(signal: NodeJS.Signals): Promise<number | null> {
    this.#process.kill(signal)
    return this.ended
  }

  /** Stops reading the agent's log. */
  deafen(): void {
    this.#process.stderr?.destroy()
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal)
  }
}

/** A folder with a key and an admin token, and the flags of a single-node group. */
export class Workplace {
  readonly folder = mkdtempSync(join(tmpdir(), 'conclave-agents-'))
  readonly #agents: AgentProcess[] = []

  constructor() {
    writeFileSync(this.path('key'), 'a key that is long enough for this', { mode: 0o600 })
    writeFileSync(this.path('admin'), 'an admin token of some length\n', { mode: 0o600 })
  }

  path(name: string): string {
    return join(this.folder, name)
  }

  /** Returns the path of the file. */
  write(name: string, text: string): string {
    writeFileSync(this.path(name), text, { mode: 0o600 })
    return this.path(name)
  }

  /** σ is large because the machine that runs the tests is busy. */
  alone(...more: readonly string[]): readonly string[] {
    const node = ['--group', 'g', '--id', 'a', '--listen', '127.0.0.1:0', '--option', 'sigmaMs=300']
    return [...node, '--key-file', this.path('key'), '--http', '127.0.0.1:0', ...more]
  }

  start(words: readonly string[], env: NodeJS.ProcessEnv = {}): AgentProcess {
    const agent = new AgentProcess(words, env)
    this.#agents.push(agent)
    return agent
  }

  async close(): Promise<void> {
    await Promise.all(this.#agents.map((agent) => agent.kill('SIGKILL')))
    rmSync(this.folder, { recursive: true, force: true })
  }
}
