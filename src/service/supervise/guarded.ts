/** The node's side of the guardian: starts it, passes orders on, and hears what became of the command. */
import { type ChildProcess, spawn } from 'node:child_process'
import { EventEmitter } from 'node:events'
import type { Duplex } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Micros } from '../../core/index.ts'
import { ControlGroup } from './control-group.ts'
import { type CommandTrail, Descendants } from './descendants.ts'
import type { Order, Report } from './guardian.ts'
import { linesOf } from './lines.ts'

/** How a command ended: by itself with a code, by a signal, or not begun at all. */
export type Ending = (
  | { readonly code: number; readonly signal: null }
  | { readonly code: null; readonly signal: string }
) & {
  /** Whether the guardian ended it, and not the command itself. */
  readonly asked: boolean
}

export class GuardianLostError extends Error {
  override readonly name = 'GuardianLostError'
  readonly code = 'ERR_CONCLAVE_GUARDIAN_LOST'
}

export class CommandFailedError extends Error {
  override readonly name = 'CommandFailedError'
  readonly code = 'ERR_CONCLAVE_COMMAND_FAILED'
}

/** How long to wait for what a guardian that is gone has written. */
const LONGEST_READING_MS = 1000

export class Guarded extends EventEmitter<{ lost: [GuardianLostError] }> {
  readonly #process: ChildProcess
  readonly #line: Duplex
  #waiting: { resolve(ending: Ending): void; reject(error: Error): void } | null = null
  /** How to find the command and what it started, while it runs. */
  #command: CommandTrail | null = null
  #isClosed = false

  private constructor(child: ChildProcess) {
    super()
    this.#process = child
    this.#line = child.stdio[3] as Duplex
    linesOf(this.#line, (text) => this.#hear(JSON.parse(text) as Report))
    child.once('exit', () => {
      if (!this.#isClosed) void this.#bereft()
    })
    this.#line.on('error', () => {})
  }

  /** Ready when it can take orders: starting a process takes longer than a lease may last. */
  static start(): Promise<Guarded> {
    const file = fileURLToPath(new URL('./guardian.js', import.meta.url))
    const child = spawn(process.execPath, [file], { stdio: ['inherit', 'inherit', 'inherit', 'pipe'] })
    return new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('spawn', () => {
        const guarded = new Guarded(child)
        guarded.once('lost', reject)
        guarded.#whenReady = () => resolve(guarded)
      })
    })
  }

  #whenReady: () => void = () => {}

  /** Runs a command to its end. */
  run(
    command: readonly string[],
    env: { readonly [name: string]: string },
    end: Micros,
    kill: Micros,
  ): Promise<Ending> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
      this.#order({ do: 'start', command, env })
      this.deadline(end, kill)
    })
  }

  /** By when the command must be gone, unless this is said again with a later time. */
  deadline(end: Micros, kill: Micros): void {
    this.#order({ do: 'deadline', end, kill })
  }

  stop(graceMs: number): void {
    this.#order({ do: 'stop', graceMs })
  }

  /** The command, if it still runs, is killed. */
  close(): void {
    this.#isClosed = true
    this.#line.destroy()
  }

  get pid(): number | undefined {
    return this.#process.pid
  }

  /** Without its guardian the command is killed from here, before anybody hears of it: the lead is not given away first. */
  async #bereft(): Promise<void> {
    // Its end may be noticed before its last words are read: they may say that a command has started.
    if (this.#command === null && !this.#line.closed) {
      const read = new Promise((resolve) => this.#line.once('close', resolve))
      await Promise.race([read, setTimeout(LONGEST_READING_MS)])
    }
    if (this.#command !== null) {
      await new Descendants(this.#command).end()
      if (this.#command.group !== null) new ControlGroup(this.#command.group).remove()
    }
    const error = new GuardianLostError('the guardian of the command is gone: the command was killed')
    this.#waiting?.reject(error)
    this.#waiting = null
    this.emit('lost', error)
  }

  #order(order: Order): void {
    if (!this.#line.destroyed) this.#line.write(`${JSON.stringify(order)}\n`)
  }

  #hear(report: Report): void {
    switch (report.told) {
      case 'ready':
        this.#whenReady()
        break
      case 'failed':
        this.#waiting?.reject(new CommandFailedError(report.why))
        this.#waiting = null
        break
      case 'ended':
        this.#command = null
        this.#waiting?.resolve(
          report.signal === null
            ? { code: report.code ?? 0, signal: null, asked: report.asked }
            : { code: null, signal: report.signal, asked: report.asked },
        )
        this.#waiting = null
        break
      case 'started':
        this.#command = report.trail
        break
      default:
        report satisfies never
    }
  }
}
