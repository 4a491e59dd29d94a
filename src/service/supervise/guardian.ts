/**
 * The guardian: a small separate process that starts a command and terminates it in time.
 *
 * The node gives it a deadline on the machine's monotonic clock, which all processes share, and moves the deadline with
 * every renewal. Before the deadline the guardian sends SIGTERM to the command's process group; at the deadline it kills
 * the command with all its descendants (descendants.ts). If the node exits, the guardian kills at once. So a node that
 * stalls, is stopped or is killed never leaves its command running next to the next leader's command.
 *
 * guardian-messages.ts describes the requests and reports. The command inherits the standard streams.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { Socket } from 'node:net'
import { constants, getPriority, setPriority } from 'node:os'
import type { Micros } from '../../core/index.ts'
// No other import from runtime: this process must start fast and stay small.
import { monotonicNow } from '../runtime/clock.ts'
import { ControlGroup } from './control-group.ts'
import { createTrail, Descendants, MARK_VARIABLE } from './descendants.ts'
import {
  type GuardianReport,
  type GuardianRequest,
  REPORTS_DESCRIPTOR,
  REQUESTS_DESCRIPTOR,
} from './guardian-messages.ts'
import { readLines } from './lines.ts'

type StartRequest = Extract<GuardianRequest, { readonly type: 'start' }>

/** Node's timers have a resolution of one millisecond and can fire this much early. */
const TIMER_SLACK_MS = 1

/** Interval of process scans on machines without control groups. */
const SCAN_INTERVAL_MS = 500

const NEVER = Number.POSITIVE_INFINITY

/** Priority of the command: the initial priority of this process. */
const commandPriority = getPriority()

class Guardian {
  readonly #report: (report: GuardianReport) => void
  #child: ChildProcess | null = null
  #descendants: Descendants | null = null
  readonly #group: ControlGroup | null
  /** Deadlines of the lease: SIGTERM and SIGKILL. */
  #end: Micros = NEVER
  #kill: Micros = NEVER
  /** Deadlines of a stop request: SIGTERM and SIGKILL. */
  #stopAt: Micros = NEVER
  #stopKill: Micros = NEVER
  #isTerminated = false
  #isAbandoned = false
  #timer: NodeJS.Timeout | null = null

  constructor(report: (report: GuardianReport) => void, group: ControlGroup | null) {
    this.#report = report
    this.#group = group
  }

  handle(request: GuardianRequest): void {
    switch (request.type) {
      case 'start':
        this.#start(request)
        break
      case 'deadline':
        this.#end = request.end
        this.#kill = request.kill
        break
      case 'stop':
        this.#stopAt = monotonicNow()
        this.#stopKill = this.#stopAt + request.graceMs * 1000
        break
      default:
        request satisfies never
    }
    this.#checkDeadlines()
  }

  /** The node has exited: kills the command and exits. */
  abandon(): void {
    this.#isAbandoned = true
    this.#signal('SIGKILL')
    if (this.#child === null) process.exit(0)
  }

  #start({ command, env, end, kill }: StartRequest): void {
    if (monotonicNow() >= kill) {
      this.#report({ type: 'skipped' })
      return
    }
    const mark = randomBytes(16).toString('hex')
    const environment = { ...process.env, ...env, [MARK_VARIABLE]: mark }
    const [program, ...args] = this.#group?.wrapCommand(command, environment) ?? command
    if (program === undefined || this.#child !== null) return
    this.#isTerminated = false
    // Requests for the previous command may have arrived after its exit was reported.
    this.#forgetDeadlines()
    this.#end = end
    this.#kill = kill
    // The guardian may be killed before it can report the pid.
    this.#report({
      type: 'started',
      trail: { pid: null, startedAt: null, mark, group: this.#group?.folder ?? null },
    })
    // A separate process group and a mark in the environment, so that all descendants can be found.
    const child = spawn(program, args, {
      detached: true,
      stdio: 'inherit',
      env: environment,
    })
    const trail = child.pid === undefined ? null : createTrail(child.pid, mark, this.#group?.folder ?? null)
    const descendants = trail === null ? null : new Descendants(trail)
    this.#descendants = descendants
    const scanning = setInterval(() => {
      const now = monotonicNow()
      descendants?.recordProcesses((this.#nextDeadline(now) - now) / 1000)
    }, SCAN_INTERVAL_MS)
    // The command must not inherit the guardian's priority.
    if (child.pid !== undefined) trySetPriority(child.pid, commandPriority)
    this.#child = child
    child.once('spawn', () => {
      if (trail !== null) this.#report({ type: 'started', trail })
    })
    child.once('error', (error) => {
      clearInterval(scanning)
      this.#clearCommand()
      this.#report({ type: 'failed', message: error.message })
    })
    child.once('exit', (code, signal) => {
      const isTerminated = this.#isTerminated
      clearInterval(scanning)
      // Descendants must not outlive it: the node may end its term as soon as the exit is reported.
      void descendants?.killAll().then(() => {
        this.#clearCommand()
        if (this.#isAbandoned) process.exit(0)
        this.#report({ type: 'ended', code, signal, isTerminated })
      })
    })
  }

  #clearCommand(): void {
    this.#child = null
    this.#descendants = null
    this.#forgetDeadlines()
  }

  #forgetDeadlines(): void {
    this.#end = NEVER
    this.#kill = NEVER
    this.#stopAt = NEVER
    this.#stopKill = NEVER
  }

  #checkDeadlines(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    if (this.#child === null) return
    const now = monotonicNow()
    const end = Math.min(this.#end, this.#stopAt)
    const kill = Math.min(this.#kill, this.#stopKill)
    if (now >= kill) {
      this.#isTerminated = true
      this.#signal('SIGKILL')
    } else if (now >= end && !this.#isTerminated) {
      this.#isTerminated = true
      this.#signal('SIGTERM')
    }
    const next = this.#nextDeadline(now)
    if (now >= next || next === NEVER) return
    this.#timer = setTimeout(() => this.#checkDeadlines(), Math.ceil((next - now) / 1000) + TIMER_SLACK_MS)
  }

  /** The next deadline. */
  #nextDeadline(now: Micros): Micros {
    const end = Math.min(this.#end, this.#stopAt)
    const kill = Math.min(this.#kill, this.#stopKill)
    return now < end ? Math.min(end, kill) : kill
  }

  #signal(signal: 'SIGTERM' | 'SIGKILL'): void {
    const child = this.#child
    const group = child?.pid
    if (child === null || group === undefined) return
    // Its descendants are being killed already, and its pid may have been reused.
    if (child.exitCode !== null || child.signalCode !== null) return
    // A killed process needs CPU time to die; raise its priority so that this is fast on a loaded machine.
    if (signal === 'SIGKILL') {
      trySetPriority(group, constants.priority.PRIORITY_HIGHEST)
      this.#descendants?.kill()
      return
    }
    try {
      process.kill(-group, signal)
    } catch {
      // The process group no longer exists.
    }
  }
}

/** Sets the priority where that is permitted. */
function trySetPriority(pid: number, priority: number): void {
  try {
    setPriority(pid, priority)
  } catch {
    // Not permitted, or the process has exited.
  }
}

function main(): void {
  // It does little work, but must do it in time.
  trySetPriority(process.pid, constants.priority.PRIORITY_HIGHEST)
  const requests = new Socket({ fd: REQUESTS_DESCRIPTOR })
  const reports = new Socket({ fd: REPORTS_DESCRIPTOR })
  const group = ControlGroup.create(`conclave-run-${process.pid}-${randomBytes(4).toString('hex')}`)
  process.on('exit', () => group?.remove())
  const send = (report: GuardianReport): void => void reports.write(`${JSON.stringify(report)}\n`)
  const guardian = new Guardian(send, group)
  for (const channel of [requests, reports])
    for (const event of ['error', 'close', 'end']) channel.on(event, () => guardian.abandon())
  readLines(requests, (text) => guardian.handle(JSON.parse(text) as GuardianRequest))
  // The end of a stream that is not read is never noticed.
  reports.resume()
  // A service manager may send its stop signal to every process of a service. The node handles it: it sends a stop
  // request, or exits.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const) process.on(signal, () => {})
  send({ type: 'ready', group: group?.folder ?? null })
}

main()
