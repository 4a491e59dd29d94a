/** The node's handle on its guardian: starts the process, sends requests, and receives reports about the command. */
import { type ChildProcess, spawn } from 'node:child_process'
import { EventEmitter } from 'node:events'
import type { Duplex } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Micros } from '../../core/index.ts'
import { ControlGroup } from './control-group.ts'
import { type CommandTrail, Descendants } from './descendants.ts'
import type { GuardianReport, GuardianRequest } from './guardian.ts'
import { readLines } from './lines.ts'

/** How a command ended: with an exit code, or by a signal. */
export type CommandExit = (
  | { readonly code: number; readonly signal: null }
  | { readonly code: null; readonly signal: string }
) & {
  /** Whether the guardian terminated the command. */
  readonly isTerminated: boolean
}

export class GuardianLostError extends Error {
  override readonly name = 'GuardianLostError'
  readonly code = 'ERR_CONCLAVE_GUARDIAN_LOST'
}

export class CommandFailedError extends Error {
  override readonly name = 'CommandFailedError'
  readonly code = 'ERR_CONCLAVE_COMMAND_FAILED'
}

/** Limit for reading the last reports of a guardian that has exited. */
const READ_TIMEOUT_MS = 1000

export class GuardianProcess extends EventEmitter<{ lost: [GuardianLostError] }> {
  readonly #process: ChildProcess
  readonly #channel: Duplex
  #waiting: { resolve(ending: CommandExit): void; reject(error: Error): void } | null = null
  /** How to find the running command and its descendants. */
  #command: CommandTrail | null = null
  #isClosed = false

  private constructor(child: ChildProcess) {
    super()
    this.#process = child
    this.#channel = child.stdio[3] as Duplex
    readLines(this.#channel, (text) => this.#handleReport(JSON.parse(text) as GuardianReport))
    child.once('exit', () => {
      if (!this.#isClosed) void this.#handleExit()
    })
    this.#channel.on('error', () => {})
  }

  /** Resolves when the guardian is ready. Started in advance, because starting a process can take longer than a lease. */
  static start(): Promise<GuardianProcess> {
    const file = fileURLToPath(new URL('./guardian.js', import.meta.url))
    const child = spawn(process.execPath, [file], {
      // In a process group of its own: a signal to the group of the node (Ctrl-Z, Ctrl-\, kill %1) would also stop or end
      // the guardian, and the command would run on. When the node exits, the channel closes, and the guardian ends.
      detached: true,
      stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
    })
    return new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('spawn', () => {
        const guardian = new GuardianProcess(child)
        guardian.once('lost', reject)
        guardian.#onReady = () => resolve(guardian)
      })
    })
  }

  #onReady: () => void = () => {}

  /** Runs a command until it exits. */
  run(
    command: readonly string[],
    env: { readonly [name: string]: string },
    end: Micros,
    kill: Micros,
  ): Promise<CommandExit> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
      this.#send({ type: 'start', command, env })
      this.setDeadline(end, kill)
    })
  }

  /** The guardian sends SIGTERM at `end` and SIGKILL at `kill`, unless the deadline is moved before. */
  setDeadline(end: Micros, kill: Micros): void {
    this.#send({ type: 'deadline', end, kill })
  }

  stop(graceMs: number): void {
    this.#send({ type: 'stop', graceMs })
  }

  /** Ends the guardian, which kills a running command. */
  close(): void {
    this.#isClosed = true
    this.#channel.destroy()
  }

  get pid(): number | undefined {
    return this.#process.pid
  }

  /** The guardian has exited: kills the command, and only then reports the loss, so that the term is not given up first. */
  async #handleExit(): Promise<void> {
    // The exit can be noticed before the last reports are read. They may say that a command has started, or its pid.
    if (!this.#channel.closed) {
      const read = new Promise((resolve) => this.#channel.once('close', resolve))
      await Promise.race([read, setTimeout(READ_TIMEOUT_MS)])
    }
    if (this.#command !== null) {
      await new Descendants(this.#command).killAll()
      if (this.#command.group !== null) new ControlGroup(this.#command.group).remove()
    }
    const error = new GuardianLostError('the guardian of the command exited, so the command was killed')
    this.#waiting?.reject(error)
    this.#waiting = null
    this.emit('lost', error)
  }

  #send(request: GuardianRequest): void {
    if (!this.#channel.destroyed) this.#channel.write(`${JSON.stringify(request)}\n`)
  }

  #handleReport(report: GuardianReport): void {
    switch (report.type) {
      case 'ready':
        this.#onReady()
        break
      case 'failed':
        this.#command = null
        this.#waiting?.reject(new CommandFailedError(report.message))
        this.#waiting = null
        break
      case 'ended':
        this.#command = null
        this.#waiting?.resolve(
          report.signal === null
            ? { code: report.code ?? 0, signal: null, isTerminated: report.isTerminated }
            : { code: null, signal: report.signal, isTerminated: report.isTerminated },
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
