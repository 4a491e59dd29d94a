/**
 * A command and everything that it has started, so that all of it can be ended.
 *
 * With a control group the kernel knows them all. Without one they are looked for in /proc: those in the command's
 * process group or session, those that carry its mark in their environment, those seen before, and all children of
 * these. So a process that left its session and its parents is found by its mark. One that also began with an
 * environment of its own is found only if it was seen while it still had its parents. Where there is no /proc, only the
 * process group is known.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { ControlGroup } from './control-group.ts'

/** In the environment of the command: whose it is. */
export const MARK = 'CONCLAVE_RUN'

/** What must be known to end a command, from any process. Plain data. */
export type CommandTrail = {
  readonly pid: number
  /** When that process was started, as the kernel counts: its number may be given again. Null where that is unknown. */
  readonly startedAt: string | null
  /** The value of the mark. */
  readonly mark: string
  /** The folder of the control group; null where there is none. */
  readonly group: string | null
}

type Process = {
  readonly pid: number
  readonly parent: number
  readonly group: number
  readonly session: number
  /** When it was started: a number may be given again. */
  readonly startedAt: string
  readonly isAlive: boolean
}

/** How to find a command that has just been started: nobody has waited for it yet, so its number is its own. */
export function trailOf(pid: number, mark: string, group: string | null): CommandTrail {
  return { pid, startedAt: processOf(pid)?.startedAt ?? null, mark, group }
}

/** To die takes a turn of the processor: how long to see whether it came, and how often. */
const LONGEST_DYING_MS = 5000
const DYING_STEP_MS = 2

export class Descendants {
  readonly #trail: CommandTrail
  readonly #group: ControlGroup | null
  /** By number and start. */
  readonly #seen = new Set<string>()
  /** Nobody is left in the command's process group: its number may be given to others from now on. */
  #isGroupGone = false
  /** As long as the last look took; before the first, as long as it takes with some hundred processes. */
  #lookTakesMs = 20
  /** Whether any of them has left the command's session. */
  #hasEscaped = false
  /** Whether the last look met a process of which nothing could be told. */
  #isUnsure = false

  constructor(trail: CommandTrail) {
    this.#trail = trail
    this.#group = trail.group === null ? null : new ControlGroup(trail.group)
  }

  /**
   * Remembers who is there now. Not needed where the kernel does. On a machine with many processes that takes longer
   * than a command may outlive its time: so it is left out if it might last for more than half of `leftMs`.
   */
  note(leftMs: number): void {
    if (this.#group !== null || 2 * this.#lookTakesMs > leftMs) return
    const began = performance.now()
    this.#find()
    this.#lookTakesMs = performance.now() - began
  }

  /** Kills all that can be found now; false when there was nobody. */
  kill(): boolean {
    const isGroupThere = this.#killGroup()
    if (this.#group !== null) {
      this.#group.kill()
      return this.#group.isPopulated
    }
    if (!canLook()) return isGroupThere
    // What is stopped starts nothing more: so this ends, whatever they do.
    const stopped = new Set<number>()
    const stop = (pid: number): void => {
      if (!stopped.has(pid)) send(pid, 'SIGSTOP')
      stopped.add(pid)
    }
    for (let before = -1; before !== stopped.size && stopped.size < MOST_STOPPED; ) {
      before = stopped.size
      for (const pid of this.#find(stop)) stop(pid)
    }
    for (const pid of stopped) send(pid, 'SIGKILL')
    return stopped.size > 0
  }

  #killGroup(): boolean {
    this.#isGroupGone ||= !this.#hasOwnNumber || !isThere(-this.#trail.pid)
    if (!this.#isGroupGone) send(-this.#trail.pid, 'SIGKILL')
    return !this.#isGroupGone
  }

  /** Whether the command's number is not that of another process by now. It is given to nobody while its group or its session has anybody in it. */
  get #hasOwnNumber(): boolean {
    const { pid, startedAt } = this.#trail
    return startedAt === null || (processOf(pid)?.startedAt ?? startedAt) === startedAt
  }

  /** Kills until nothing of it runs any more. */
  async end(): Promise<void> {
    const until = performance.now() + LONGEST_DYING_MS
    let quiet = 0
    for (;;) {
      quiet = this.kill() ? 0 : quiet + 1
      if (quiet >= this.#looksNeeded || performance.now() >= until) break
      // oxlint-disable-next-line no-await-in-loop -- until it is gone
      await setTimeout(DYING_STEP_MS)
    }
  }

  /**
   * A process that forks while /proc is read may be missed, and one that is about to run another program shows no
   * environment for a moment: so one look is not enough, and the less so if any got away or cannot be told.
   */
  get #looksNeeded(): number {
    if (this.#group !== null || !canLook()) return 1
    return this.#hasEscaped || this.#isUnsure ? 6 : 2
  }

  /**
   * Everybody who runs and belongs to the command. To look at all takes longer than some processes last: so the newest
   * are looked at first, and `met` is told of each at once.
   */
  #find(met: (pid: number) => void = () => {}): readonly number[] {
    const { pid: command, mark } = this.#trail
    const all: Process[] = []
    const found = new Set<number>()
    const hasOwnNumber = this.#hasOwnNumber
    this.#isUnsure = false
    for (const pid of newestFirst()) {
      const each = processOf(pid)
      if (each === null) continue
      all.push(each)
      const isNear = hasOwnNumber && (pid === command || each.group === command || each.session === command)
      const marked = isNear || this.#seen.has(nameOf(each)) || isMarked(pid, mark)
      if (marked === true) {
        found.add(pid)
        if (each.isAlive) met(pid)
      } else if (marked === null && each.isAlive && !isOfKernel(each)) this.#isUnsure = true
    }
    withChildren(all, found)
    const here = all.filter(({ pid }) => found.has(pid))
    for (const each of here) {
      this.#seen.add(nameOf(each))
      this.#hasEscaped ||= each.session !== command
    }
    return here.filter(({ isAlive }) => isAlive).map(({ pid }) => pid)
  }
}

/** A process that forks faster than others are stopped is killed in several rounds. */
const MOST_STOPPED = 10_000

function nameOf({ pid, startedAt }: Process): string {
  return `${pid} ${startedAt}`
}

/** The kernel's own threads have no environment: they are children of one of them, or of nobody. */
function isOfKernel({ pid, parent }: Process): boolean {
  return pid === 2 || parent === 2 || parent === 0
}

function withChildren(all: readonly Process[], found: Set<number>): void {
  for (let before = -1; before !== found.size; ) {
    before = found.size
    for (const { pid, parent } of all) if (found.has(parent)) found.add(pid)
  }
}

/** Null when it shows no environment at all. */
function isMarked(pid: number, mark: string): boolean | null {
  try {
    const environment = readFileSync(`/proc/${pid}/environ`, 'latin1')
    return environment === '' ? null : environment.split('\0').includes(`${MARK}=${mark}`)
  } catch {
    // It is gone, or somebody else's.
    return false
  }
}

/** The numbers of all processes but this one. Numbers are given in turn, from the least again after the largest. */
function newestFirst(): readonly number[] {
  if (!canLook()) return []
  const last = lastGiven()
  const age = (pid: number): number => (pid <= last ? last - pid : last - pid + MOST_PIDS)
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && pid !== process.pid)
    .sort((a, b) => age(a) - age(b))
}

/** Whether processes can be looked for here. */
function canLook(): boolean {
  return process.platform === 'linux' && existsSync('/proc/self/stat')
}

/** The number that was given last; the largest where that is not shown, as in some containers. */
function lastGiven(): number {
  try {
    return Number(readFileSync('/proc/loadavg', 'latin1').trim().split(' ').at(-1)) || MOST_PIDS
  } catch {
    return MOST_PIDS
  }
}

/** As many as Linux has at most. */
const MOST_PIDS = 2 ** 22

/** Null when it is gone. */
function processOf(pid: number): Process | null {
  try {
    // The name, in parentheses, may have anything in it.
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const [state = '', parent, group, session] = fields
    return {
      pid,
      parent: Number(parent),
      group: Number(group),
      session: Number(session),
      startedAt: fields[19] ?? '',
      isAlive: state !== 'Z' && state !== 'X',
    }
  } catch {
    return null
  }
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It is gone already, or somebody else's.
  }
}

/** Somebody else's process is there, too. */
function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}
