/** A `conclave run` of the group under trial: a process that is started, spoiled, stopped and killed. */
import { type ChildProcess, spawn } from 'node:child_process'
import type { Duplex } from 'node:stream'
import { linesOf } from '../supervise/lines.ts'
import { childrenOf, signal } from '../supervise/processes.ts'

export type RunNodeOptions = {
  readonly id: string
  /** Program and words, up to the end. */
  readonly command: readonly string[]
  readonly onStart: (child: ChildProcess) => void
}

/** What befalls what it hears of each peer, as `conclave run` is told by whoever supervises it. */
export type Faults = { readonly [from: string]: { readonly cut: true } }

export class RunNode {
  readonly #options: RunNodeOptions
  #process: ChildProcess | null = null
  #takesPart: Promise<void> = Promise.resolve()
  #ended: Promise<number | null> = Promise.resolve(null)
  #faults: Faults = {}
  /** What it said, over all its lives. */
  readonly said: string[] = []

  constructor(options: RunNodeOptions) {
    this.#options = options
  }

  get id(): string {
    return this.#options.id
  }

  get pid(): number | null {
    return this.#process?.pid ?? null
  }

  /** Kept when it has joined the group, or has ended without. */
  get takesPart(): Promise<void> {
    return this.#takesPart
  }

  /** The exit code; null when it was killed. */
  get ended(): Promise<number | null> {
    return this.#ended
  }

  /** A node like this one, but with other words. */
  as(twist: (command: readonly string[]) => readonly string[]): RunNode {
    return new RunNode({ ...this.#options, command: twist(this.#options.command) })
  }

  start(): void {
    if (this.#process !== null) return
    const [program = '', ...words] = this.#options.command
    const child = spawn(program, words, {
      stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
      env: { ...process.env, CONCLAVE_SUPERVISOR_FD: '3' },
    })
    this.#process = child
    this.#options.onStart(child)
    this.#ended = new Promise((resolve) => {
      child.once('exit', (code) => {
        if (this.#process === child) this.#process = null
        resolve(code)
      })
    })
    this.#line?.on('error', () => {})
    this.#takesPart = new Promise((resolve) => {
      child.once('exit', () => resolve())
      if (child.stderr === null) return
      linesOf(child.stderr, (line) => {
        this.said.push(line)
        if (line.includes(' takes part in ')) resolve()
      })
    })
    this.spoil(this.#faults)
  }

  /** The guardian of its command. */
  get guardian(): number | null {
    return this.pid === null ? null : (childrenOf(this.pid)[0] ?? null)
  }

  signal(name: NodeJS.Signals): void {
    if (this.pid !== null) signal(this.pid, name)
  }

  spoil(faults: Faults): void {
    this.#faults = faults
    this.#line?.write(`${JSON.stringify({ faults })}\n`)
  }

  get #line(): Duplex | null {
    return (this.#process?.stdio[3] as Duplex | undefined) ?? null
  }
}
