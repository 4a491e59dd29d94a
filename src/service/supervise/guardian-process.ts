/** The node's handle on its guardian: starts the process, sends requests, and receives reports about the command. */
import { type ChildProcess, spawn } from 'node:child_process'
import { EventEmitter } from 'node:events'
import type { Duplex, Readable, Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Micros } from '../../core/index.ts'
import { monotonicNow } from '../runtime/clock.ts'
import { ControlGroup } from './control-group.ts'
import { type CommandTrail, Descendants } from './descendants.ts'
import {
  type GuardianReport,
  type GuardianRequest,
  REPORTS_DESCRIPTOR,
  REQUESTS_DESCRIPTOR,
} from './guardian-messages.ts'
import { readLines } from './lines.ts'
import { isStopped } from './processes.ts'

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

/** How long after a deadline the node itself kills the process group of the command, unless its end was reported. */
const KILL_DELAY_MS = 2
/** How long after that it scans for all descendants, if the guardian is busy. Not at once: a scan delays the election. */
const SCAN_DELAY_MS = 20
/** Longest interval between two checks of the deadline, which can move. */
const CHECK_INTERVAL_MS = 1000

type Waiting = { resolve(ending: CommandExit | null): void; reject(error: Error): void }

export class GuardianProcess extends EventEmitter<{ lost: [GuardianLostError] }> {
  readonly #process: ChildProcess
  /**
   * Two channels: a request that fails because the guardian has exited destroys its stream, and reports that were not
   * read yet would be lost with it. They may say that a command is running.
   */
  readonly #requests: Writable
  readonly #reports: Readable
  #waiting: Waiting | null = null
  /** How to find the running command and its descendants. */
  #command: CommandTrail | null = null
  /** Folder of the control group that the guardian has created; null without one. */
  #group: string | null = null
  #isClosed = false
  /** When the guardian must have killed the command: at the deadline of the lease, or after a stop request. */
  #kill: Micros = 0
  #stopKill: Micros = Number.POSITIVE_INFINITY
  /** The node has killed the command itself. */
  #hasKilled = false
  #timer: NodeJS.Timeout | null = null

  private constructor(child: ChildProcess) {
    super()
    this.#process = child
    this.#requests = child.stdio[REQUESTS_DESCRIPTOR] as Duplex
    this.#reports = child.stdio[REPORTS_DESCRIPTOR] as Duplex
    readLines(this.#reports, (text) => this.#handleReport(JSON.parse(text) as GuardianReport))
    child.once('exit', () => {
      if (!this.#isClosed) void this.#handleExit()
    })
    this.#requests.on('error', () => {})
    this.#reports.on('error', () => {})
  }

  /** Resolves when the guardian is ready. Started in advance, because starting a process can take longer than a lease. */
  static start(): Promise<GuardianProcess> {
    const file = fileURLToPath(new URL('./guardian.js', import.meta.url))
    const child = spawn(process.execPath, [file], {
      // In a process group of its own: a signal to the group of the node (Ctrl-Z, Ctrl-\, kill %1) would also stop or end
      // the guardian, and the command would run on. When the node exits, its channels close, and the guardian ends.
      detached: true,
      stdio: ['inherit', 'inherit', 'inherit', 'pipe', 'pipe'],
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

  /** Runs a command until it exits. Resolves to null if the command was not started because `kill` had passed. */
  run(
    command: readonly string[],
    env: { readonly [name: string]: string },
    end: Micros,
    kill: Micros,
  ): Promise<CommandExit | null> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
      this.#hasKilled = false
      this.#kill = kill
      this.#stopKill = Number.POSITIVE_INFINITY
      this.#send({ type: 'start', command, env, end, kill })
      this.#checkDeadline()
    })
  }

  /** The guardian sends SIGTERM at `end` and SIGKILL at `kill`, unless the deadline is moved before. */
  setDeadline(end: Micros, kill: Micros): void {
    this.#kill = kill
    this.#send({ type: 'deadline', end, kill })
  }

  stop(graceMs: number): void {
    this.#stopKill = monotonicNow() + graceMs * 1000
    this.#send({ type: 'stop', graceMs })
    this.#checkDeadline()
  }

  /** Ends the guardian, which kills a running command. */
  close(): void {
    this.#isClosed = true
    this.#setTimer(null)
    this.#requests.destroy()
    this.#reports.destroy()
  }

  get pid(): number | undefined {
    return this.#process.pid
  }

  /** The guardian has exited: kills the command, and only then reports the loss, so that the term is not given up first. */
  async #handleExit(): Promise<void> {
    // The exit can be noticed before the last reports are read. They may say that a command has started, or its pid.
    if (!this.#reports.closed) {
      const read = new Promise((resolve) => this.#reports.once('close', resolve))
      await Promise.race([read, sleep(READ_TIMEOUT_MS)])
    }
    const command = this.#command
    if (command !== null) await new Descendants(command).killAll()
    if (this.#group !== null) new ControlGroup(this.#group).remove()
    const error = new GuardianLostError(
      command === null
        ? 'the guardian exited; no command was running'
        : 'the guardian of the command exited, so the command was killed',
    )
    this.#settle()?.reject(error)
    this.emit('lost', error)
  }

  /** A guardian that is stopped or gets no CPU time cannot kill the command in time: then the node does. */
  #checkDeadline(): void {
    this.#setTimer(null)
    if (this.#waiting === null || this.#isClosed) return
    const lateMs = (monotonicNow() - Math.min(this.#kill, this.#stopKill)) / 1000 - KILL_DELAY_MS
    if (lateMs < 0) {
      this.#setTimer(Math.min(Math.ceil(-lateMs), CHECK_INTERVAL_MS))
      return
    }
    // The report of a start may be on its way, and calls this again.
    if (this.#command === null) return
    const descendants = new Descendants(this.#command)
    this.#hasKilled = descendants.killGroups() || this.#hasKilled
    if (lateMs >= SCAN_DELAY_MS || isStopped(this.#process.pid ?? 0)) void descendants.killAll()
    else this.#setTimer(SCAN_DELAY_MS)
  }

  /** Null: no next check. */
  #setTimer(delayMs: number | null): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    // If this process was stopped, a report may have arrived meanwhile. It is read before the check.
    const check = (): void => void setImmediate(() => this.#checkDeadline())
    this.#timer = delayMs === null ? null : setTimeout(check, delayMs)
  }

  /** The command has ended: there is nothing to kill. */
  #settle(): Waiting | null {
    const waiting = this.#waiting
    this.#waiting = null
    this.#command = null
    this.#setTimer(null)
    return waiting
  }

  #send(request: GuardianRequest): void {
    if (!this.#requests.destroyed) this.#requests.write(`${JSON.stringify(request)}\n`)
  }

  #handleReport(report: GuardianReport): void {
    switch (report.type) {
      case 'ready':
        this.#group = report.group
        this.#onReady()
        break
      case 'failed':
        this.#settle()?.reject(new CommandFailedError(report.message))
        break
      case 'skipped':
        this.#settle()?.resolve(null)
        break
      case 'ended': {
        const isTerminated = report.isTerminated || this.#hasKilled
        this.#settle()?.resolve(
          report.signal === null
            ? { code: report.code ?? 0, signal: null, isTerminated }
            : { code: null, signal: report.signal, isTerminated },
        )
        break
      }
      case 'started':
        this.#command = report.trail
        this.#checkDeadline()
        break
      default:
        report satisfies never
    }
  }
}
