/**
 * Finds and kills a command with all its descendants.
 *
 * With a control group the kernel knows them all. Without one, /proc is searched for processes in the command's process
 * group or session, processes with its mark in their environment, processes that an earlier scan found, and all children
 * of these. A process that left its session and its parents is found by its mark. A process that also cleared its
 * environment is found only if a scan saw it while it still had its parents. Without /proc only the process group is known.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { ControlGroup } from './control-group.ts'

/** Environment variable that marks the command and its descendants. */
export const MARK_VARIABLE = 'CONCLAVE_RUN'

/** What another process needs to find and kill the command. Plain data. */
export type CommandTrail = {
  /** Null if the command may have been started, but its pid is not known: then its mark finds it. */
  readonly pid: number | null
  /** Start time in kernel ticks, because pids are reused. Null if unknown. */
  readonly startedAt: string | null
  /** The value of the mark. */
  readonly mark: string
  /** Folder of the control group; null without one. */
  readonly group: string | null
}

type Process = {
  readonly pid: number
  readonly parent: number
  readonly group: number
  readonly session: number
  /** Start time in kernel ticks, because pids are reused. */
  readonly startedAt: string
  readonly isAlive: boolean
}

/** The trail of a command that was just started. It has not been reaped, so its pid cannot have been reused. */
export function createTrail(
  pid: number,
  mark: string,
  group: string | null,
): CommandTrail & { readonly pid: number } {
  return { pid, startedAt: readProcess(pid)?.startedAt ?? null, mark, group }
}

/** A killed process needs CPU time to die: how long to wait for that, and how often to check. */
const KILL_TIMEOUT_MS = 5000
const KILL_POLL_MS = 2

export class Descendants {
  readonly #trail: CommandTrail
  readonly #group: ControlGroup | null
  readonly #seen = new Set<string>()
  /** The command's process group is empty, so its id can be reused. */
  #isGroupGone = false
  /** Duration of the last scan; the initial value is typical for some hundred processes. */
  #scanMs = 20
  /** Whether a descendant has left the command's session. */
  #hasEscaped = false
  /** Whether the last scan met a process whose environment was not readable. */
  #hasUnreadable = false

  constructor(trail: CommandTrail) {
    this.#trail = trail
    this.#group = trail.group === null ? null : new ControlGroup(trail.group)
  }

  /**
   * Scans for descendants and remembers them. Not needed with a control group. A scan can take long on a machine with
   * many processes, so it is skipped if it might take more than half of `leftMs`, the time to the next deadline.
   */
  recordProcesses(leftMs: number): void {
    if (this.#group !== null || 2 * this.#scanMs > leftMs) return
    const startedAt = performance.now()
    this.#find()
    this.#scanMs = performance.now() - startedAt
  }

  /** Kills the command's process group and its control group, without a scan. Returns false without a process group. */
  killGroups(): boolean {
    this.#group?.kill()
    return this.#killProcessGroup()
  }

  /** Kills all descendants that a scan finds. Returns false if there were none. */
  kill(): boolean {
    const hasGroup = this.killGroups()
    const isPopulated = this.#group?.isPopulated ?? false
    if (this.#hasAllInGroup) return isPopulated
    if (!hasProc()) return hasGroup
    // Stop them all before killing: a stopped process cannot fork, so the loop terminates.
    const stopped = new Set<number>()
    const stop = (pid: number): void => {
      if (!stopped.has(pid)) trySignal(pid, 'SIGSTOP')
      stopped.add(pid)
    }
    for (let before = -1; before !== stopped.size && stopped.size < MAX_STOPPED; ) {
      before = stopped.size
      for (const pid of this.#find(stop)) stop(pid)
    }
    for (const pid of stopped) trySignal(pid, 'SIGKILL')
    return isPopulated || stopped.size > 0
  }

  /** Whether the control group contains the command and all descendants. A command without pid may not have entered yet. */
  get #hasAllInGroup(): boolean {
    return this.#group !== null && this.#trail.pid !== null
  }

  #killProcessGroup(): boolean {
    const { pid } = this.#trail
    if (pid === null) return false
    this.#isGroupGone ||= !this.#isPidUnchanged || !exists(-pid)
    if (!this.#isGroupGone) trySignal(-pid, 'SIGKILL')
    return !this.#isGroupGone
  }

  /** Whether the command's pid has not been reused. A pid stays reserved while its process group or session has members. */
  get #isPidUnchanged(): boolean {
    const { pid, startedAt } = this.#trail
    if (pid === null) return false
    return startedAt === null || (readProcess(pid)?.startedAt ?? startedAt) === startedAt
  }

  /** Kills until no descendant is left. */
  async killAll(): Promise<void> {
    const until = performance.now() + KILL_TIMEOUT_MS
    let quiet = 0
    for (;;) {
      quiet = this.kill() ? 0 : quiet + 1
      if (quiet >= this.#emptyScansNeeded || performance.now() >= until) break
      // oxlint-disable-next-line no-await-in-loop -- poll until all are gone
      await setTimeout(KILL_POLL_MS)
    }
  }

  /**
   * Number of consecutive empty scans that prove that no descendant is left. A scan can miss a process that forks while
   * /proc is read, and a process in exec shows no environment for a moment, so one scan is not enough.
   */
  get #emptyScansNeeded(): number {
    if (this.#hasAllInGroup || !hasProc()) return 1
    return this.#hasEscaped || this.#hasUnreadable ? 6 : 2
  }

  /**
   * Scans /proc for running descendants. A scan takes longer than some processes live, so it starts with the newest and
   * calls `onFound` for each at once.
   */
  #find(onFound: (pid: number) => void = () => {}): readonly number[] {
    const { pid: command, mark } = this.#trail
    const all: Process[] = []
    const found = new Set<number>()
    const isPidUnchanged = this.#isPidUnchanged
    this.#hasUnreadable = false
    for (const pid of listNewestFirst()) {
      const each = readProcess(pid)
      if (each === null) continue
      all.push(each)
      const isNear = isPidUnchanged && (pid === command || each.group === command || each.session === command)
      const marked = isNear || this.#seen.has(processKey(each)) || hasMark(pid, mark)
      if (marked === true) {
        found.add(pid)
        if (each.isAlive) onFound(pid)
      } else if (marked === null && each.isAlive && !isKernelThread(each)) this.#hasUnreadable = true
    }
    addChildren(all, found)
    const here = all.filter(({ pid }) => found.has(pid))
    for (const each of here) {
      this.#seen.add(processKey(each))
      this.#hasEscaped ||= each.session !== command
    }
    return here.filter(({ isAlive }) => isAlive).map(({ pid }) => pid)
  }
}

/** Limit per round: a process that forks faster than others are stopped is killed in several rounds. */
const MAX_STOPPED = 10_000

function processKey({ pid, startedAt }: Process): string {
  return `${pid} ${startedAt}`
}

/** Kernel threads have no environment. They are children of kthreadd (pid 2) or have no parent. */
function isKernelThread({ pid, parent }: Process): boolean {
  return pid === 2 || parent === 2 || parent === 0
}

function addChildren(all: readonly Process[], found: Set<number>): void {
  for (let before = -1; before !== found.size; ) {
    before = found.size
    for (const { pid, parent } of all) if (found.has(parent)) found.add(pid)
  }
}

/** Null if the process shows no environment. */
function hasMark(pid: number, mark: string): boolean | null {
  try {
    const environment = readFileSync(`/proc/${pid}/environ`, 'latin1')
    return environment === '' ? null : environment.split('\0').includes(`${MARK_VARIABLE}=${mark}`)
  } catch {
    // The process has exited, or belongs to another user.
    return false
  }
}

/** All pids except our own, newest first. The kernel assigns pids in a cycle. */
function listNewestFirst(): readonly number[] {
  if (!hasProc()) return []
  const last = readLastPid()
  const age = (pid: number): number => (pid <= last ? last - pid : last - pid + MAX_PID)
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && pid !== process.pid)
    .sort((a, b) => age(a) - age(b))
}

/** Whether /proc can be scanned. */
function hasProc(): boolean {
  return process.platform === 'linux' && existsSync('/proc/self/stat')
}

/** The pid that was assigned last; the largest pid where that is hidden, as in some containers. */
function readLastPid(): number {
  try {
    return Number(readFileSync('/proc/loadavg', 'latin1').trim().split(' ').at(-1)) || MAX_PID
  } catch {
    return MAX_PID
  }
}

/** Upper limit of pids on Linux. */
const MAX_PID = 2 ** 22

/** Null if the process has exited. */
function readProcess(pid: number): Process | null {
  try {
    // The name, in parentheses, can contain any character.
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

function trySignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // The process has exited, or belongs to another user.
  }
}

/** Also true for processes of other users. */
function exists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}
