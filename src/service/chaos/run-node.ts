/** One `conclave run` process of the group under test: start, fault injection, signals, log. */
import { type ChildProcess, spawn } from 'node:child_process'
import type { Duplex } from 'node:stream'
import { readLines } from '../supervise/lines.ts'
import { childrenOf, trySignal } from '../supervise/processes.ts'

export type RunNodeOptions = {
  readonly id: string
  /** Program and arguments. */
  readonly command: readonly string[]
  readonly onStart: (child: ChildProcess) => void
}

/** Faults to inject into datagrams from each peer, in the format of the supervisor link of `conclave run`. */
export type Faults = { readonly [from: string]: { readonly cut: true } }

/** What every line of the log begins with. */
const TIME_AND_EVENT = /^\d{4}-\S+Z \S+ +/

export class RunNode {
  readonly #options: RunNodeOptions
  #process: ChildProcess | null = null
  #joined: Promise<void> = Promise.resolve()
  #ended: Promise<number | null> = Promise.resolve(null)
  #faults: Faults = {}
  /** Log lines of all incarnations. */
  readonly log: string[] = []

  constructor(options: RunNodeOptions) {
    this.#options = options
  }

  get id(): string {
    return this.#options.id
  }

  get pid(): number | null {
    return this.#process?.pid ?? null
  }

  /** Resolves when the node has joined the group or has exited. */
  get joined(): Promise<void> {
    return this.#joined
  }

  /** Resolves to the exit code; null if the process was killed. */
  get exited(): Promise<number | null> {
    return this.#ended
  }

  /** A node like this one with a changed command line. */
  withCommand(change: (command: readonly string[]) => readonly string[]): RunNode {
    return new RunNode({ ...this.#options, command: change(this.#options.command) })
  }

  start(): void {
    if (this.#process !== null) return
    const [program = '', ...args] = this.#options.command
    const child = spawn(program, args, {
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
    this.#supervisorLink?.on('error', () => {})
    this.#joined = new Promise((resolve) => {
      child.once('exit', () => resolve())
      if (child.stderr === null) return
      readLines(child.stderr, (line) => {
        this.log.push(line.replace(TIME_AND_EVENT, ''))
        if (line.includes(`${this.id} joined `)) resolve()
      })
    })
    this.injectFaults(this.#faults)
  }

  /** Process id of the guardian of its command. */
  get guardianPid(): number | null {
    return this.pid === null ? null : (childrenOf(this.pid)[0] ?? null)
  }

  signal(name: NodeJS.Signals): void {
    if (this.pid !== null) trySignal(this.pid, name)
  }

  injectFaults(faults: Faults): void {
    this.#faults = faults
    this.#supervisorLink?.write(`${JSON.stringify({ faults })}\n`)
  }

  get #supervisorLink(): Duplex | null {
    return (this.#process?.stdio[3] as Duplex | undefined) ?? null
  }
}
