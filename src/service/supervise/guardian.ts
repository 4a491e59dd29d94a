/**
 * The guardian: a small process of its own that starts a command and ends it in time.
 *
 * It is told by which instant the command must be gone unless it hears otherwise; the clock is the machine's monotonic
 * one, which all its processes share. Some time before, it asks the command's whole process group to end; then it kills
 * it, with everything that it has started (descendants.ts). When whoever it works for is gone, it kills at once. So a node that stalls, is stopped or is killed never leaves
 * its command running beside the next leader's.
 *
 * Orders and reports are lines of JSON on descriptor 3; the command has this process's standard streams.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { Socket } from 'node:net'
import { constants, getPriority, setPriority } from 'node:os'
import type { Micros } from '../../core/index.ts'
// Nothing else of that room: this process must be there fast and stay small.
import { monotonicNow } from '../runtime/clock.ts'
import { ControlGroup } from './control-group.ts'
import { type CommandTrail, Descendants, MARK, trailOf } from './descendants.ts'
import { linesOf } from './lines.ts'

export type Order =
  | {
      readonly do: 'start'
      readonly command: readonly string[]
      readonly env: { readonly [name: string]: string }
    }
  /** Asked to end at `end`, killed at `kill`. */
  | { readonly do: 'deadline'; readonly end: Micros; readonly kill: Micros }
  /** Asked to end now, killed after so long. */
  | { readonly do: 'stop'; readonly graceMs: number }

export type Report =
  | { readonly told: 'ready' }
  /** Whoever hears this can end the command, should the guardian be gone. */
  | { readonly told: 'started'; readonly trail: CommandTrail }
  | { readonly told: 'failed'; readonly why: string }
  | {
      readonly told: 'ended'
      readonly code: number | null
      readonly signal: string | null
      /** Whether it was asked to end, or killed, from here. */
      readonly asked: boolean
    }

/** Node's timers fire up to this much early, and count in whole milliseconds. */
const TIMER_STEP_MS = 1

/** How often the guardian remembers what the command has started, where the kernel does not. */
const NOTE_MS = 500

const NEVER = Number.POSITIVE_INFINITY

/** How urgent the command is, which is how urgent this process was when it began. */
const usual = getPriority()

class Guardian {
  readonly #report: (report: Report) => void
  #child: ChildProcess | null = null
  #descendants: Descendants | null = null
  readonly #group: ControlGroup | null
  /** By the lease: when the command is asked to end, and when it is killed. */
  #end: Micros = NEVER
  #kill: Micros = NEVER
  /** By an order to stop: the same. */
  #stopAt: Micros = NEVER
  #stopKill: Micros = NEVER
  #isAsked = false
  #isAbandoned = false
  #alarm: NodeJS.Timeout | null = null

  constructor(report: (report: Report) => void, group: ControlGroup | null) {
    this.#report = report
    this.#group = group
  }

  obey(order: Order): void {
    switch (order.do) {
      case 'start':
        this.#start(order.command, order.env)
        break
      case 'deadline':
        this.#end = order.end
        this.#kill = order.kill
        break
      case 'stop':
        this.#stopAt = monotonicNow()
        this.#stopKill = this.#stopAt + order.graceMs * 1000
        break
      default:
        order satisfies never
    }
    this.#look()
  }

  /** Nobody is left to work for. */
  abandon(): void {
    this.#isAbandoned = true
    this.#signal('SIGKILL')
    if (this.#child === null) process.exit(0)
  }

  #start(command: readonly string[], env: { readonly [name: string]: string }): void {
    const mark = randomBytes(16).toString('hex')
    const environment = { ...process.env, ...env, [MARK]: mark }
    const [program, ...words] = this.#group?.entering(command, environment) ?? command
    if (program === undefined || this.#child !== null) return
    this.#isAsked = false
    // Orders for the one before may have come after its end was told.
    this.#forgetDeadlines()
    // A process group of its own, and a mark: whatever it starts ends with it.
    const child = spawn(program, words, {
      detached: true,
      stdio: 'inherit',
      env: environment,
    })
    const trail = child.pid === undefined ? null : trailOf(child.pid, mark, this.#group?.folder ?? null)
    const descendants = trail === null ? null : new Descendants(trail)
    this.#descendants = descendants
    const noting = setInterval(() => {
      const now = monotonicNow()
      descendants?.note((this.#dueAfter(now) - now) / 1000)
    }, NOTE_MS)
    // What it starts does not share its precedence.
    if (child.pid !== undefined) urgency(child.pid, usual)
    this.#child = child
    child.once('spawn', () => {
      if (trail !== null) this.#report({ told: 'started', trail })
    })
    child.once('error', (error) => {
      clearInterval(noting)
      this.#gone()
      this.#report({ told: 'failed', why: error.message })
    })
    child.once('exit', (code, signal) => {
      const asked = this.#isAsked
      clearInterval(noting)
      // What it started and left behind does not outlive it: the lead may be given away as soon as this is told.
      void descendants?.end().then(() => {
        this.#gone()
        if (this.#isAbandoned) process.exit(0)
        this.#report({ told: 'ended', code, signal, asked })
      })
    })
  }

  #gone(): void {
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

  #look(): void {
    if (this.#alarm !== null) clearTimeout(this.#alarm)
    this.#alarm = null
    if (this.#child === null) return
    const now = monotonicNow()
    const end = Math.min(this.#end, this.#stopAt)
    const kill = Math.min(this.#kill, this.#stopKill)
    if (now >= kill) {
      this.#isAsked = true
      this.#signal('SIGKILL')
    } else if (now >= end && !this.#isAsked) {
      this.#isAsked = true
      this.#signal('SIGTERM')
    }
    const next = this.#dueAfter(now)
    if (now >= next || next === NEVER) return
    this.#alarm = setTimeout(() => this.#look(), Math.ceil((next - now) / 1000) + TIMER_STEP_MS)
  }

  /** When something is to be done next. */
  #dueAfter(now: Micros): Micros {
    const end = Math.min(this.#end, this.#stopAt)
    const kill = Math.min(this.#kill, this.#stopKill)
    return now < end ? Math.min(end, kill) : kill
  }

  #signal(signal: 'SIGTERM' | 'SIGKILL'): void {
    const child = this.#child
    const group = child?.pid
    if (child === null || group === undefined) return
    // What it has left behind is being killed already, and its number may be somebody else's.
    if (child.exitCode !== null || child.signalCode !== null) return
    // To die takes a turn of the processor, and on a busy machine that is waited for.
    if (signal === 'SIGKILL') {
      urgency(group, constants.priority.PRIORITY_HIGHEST)
      this.#descendants?.kill()
      return
    }
    try {
      process.kill(-group, signal)
    } catch {
      // It is gone already.
    }
  }
}

/** Where it is allowed. */
function urgency(pid: number, priority: number): void {
  try {
    setPriority(pid, priority)
  } catch {
    // Then it takes its turn like everybody; or it is gone already.
  }
}

function main(): void {
  // It has little to do, and must not be late for it.
  urgency(process.pid, constants.priority.PRIORITY_HIGHEST)
  const line = new Socket({ fd: 3 })
  const group = ControlGroup.make(`conclave-run-${process.pid}-${randomBytes(4).toString('hex')}`)
  process.on('exit', () => group?.remove())
  const guardian = new Guardian((report) => line.write(`${JSON.stringify(report)}\n`), group)
  line.on('error', () => guardian.abandon())
  line.on('close', () => guardian.abandon())
  line.on('end', () => guardian.abandon())
  linesOf(line, (text) => guardian.obey(JSON.parse(text) as Order))
  // Ends asked of the whole foreground group are the node's to act on: it says when.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
  line.write(`${JSON.stringify({ told: 'ready' } satisfies Report)}\n`)
}

main()
