/**
 * A command and everything that it has started, so that all of it can be ended.
 *
 * With a control group the kernel knows them all. Without one they are looked for in /proc: those in the command's
 * process group or session, those that carry its mark in their environment, those seen before, and all children of
 * these. So a process that left its session and its parents is found by its mark. One that also began with an
 * environment of its own is found only if it was seen while it still had its parents. Where there is no /proc, only the
 * process group is known.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { ControlGroup } from './control-group.ts'

/** In the environment of the command: whose it is. */
export const MARK = 'CONCLAVE_RUN'

/** What must be known to end a command, from any process. Plain data. */
export type CommandTrail = {
  readonly pid: number
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

/** To die takes a turn of the processor: how long to see whether it came, and how often. */
const LONGEST_DYING_MS = 5000
const DYING_STEP_MS = 2

export class Descendants {
  readonly #trail: CommandTrail
  readonly #group: ControlGroup | null
  /** By number and start. */
  readonly #seen = new Set<string>()
  /** Whether any of them has left the command's session. */
  #hasEscaped = false
  /** Whether the last look met a process of which nothing could be told. */
  #isUnsure = false

  constructor(trail: CommandTrail) {
    this.#trail = trail
    this.#group = trail.group === null ? null : new ControlGroup(trail.group)
  }

  /** Remembers who is there now. Not needed where the kernel does. */
  note(): void {
    if (this.#group === null) this.#find()
  }

  /** Kills all that can be found now; false when there was nobody. */
  kill(): boolean {
    const isGroupThere = send(-this.#trail.pid, 'SIGKILL')
    if (this.#group !== null) {
      this.#group.kill()
      return this.#group.isPopulated
    }
    if (process.platform !== 'linux') return isGroupThere
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
    if (this.#group !== null || process.platform !== 'linux') return 1
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
    this.#isUnsure = false
    for (const pid of newestFirst()) {
      const each = processOf(pid)
      if (each === null) continue
      all.push(each)
      const isNear = pid === command || each.group === command || each.session === command
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
  if (process.platform !== 'linux') return []
  const last = Number(readFileSync('/proc/loadavg', 'latin1').trim().split(' ').at(-1))
  const age = (pid: number): number => (pid <= last ? last - pid : last - pid + MOST_PIDS)
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && pid !== process.pid)
    .sort((a, b) => age(a) - age(b))
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

/** Whether there was anybody to get it. */
function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, signal)
    return true
  } catch {
    return false
  }
}
