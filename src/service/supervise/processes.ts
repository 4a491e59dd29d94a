/** Information about processes from /proc, and signals. */
import { readdirSync, readFileSync } from 'node:fs'

/** The running children of a process. */
export function childrenOf(pid: number): readonly number[] {
  return readdirSync('/proc').flatMap((name) =>
    /^\d+$/.test(name) && readStat(Number(name))?.parent === pid ? [Number(name)] : [],
  )
}

/** Whether the process exists and is not a zombie. */
export function isAlive(pid: number): boolean {
  const stat = readStat(pid)
  return stat !== null && stat.state !== 'Z' && stat.state !== 'X'
}

/** Whether a signal or a debugger has stopped the process. */
export function isStopped(pid: number): boolean {
  return /^[Tt]$/.test(readStat(pid)?.state ?? '')
}

/** The kernel counts CPU time in hundredths of a second on every Linux that Node.js runs on. */
const TICK_MS = 10
/** Index of utime and stime in /proc/PID/stat, after the name: see proc(5). */
const USER_TIME = 11
const SYSTEM_TIME = 12

/** CPU time used by a process; 0 if it has exited. */
export function cpuMsOf(pid: number): number {
  return readStat(pid)?.cpuMs ?? 0
}

type Stat = {
  readonly state: string
  readonly parent: number
  readonly cpuMs: number
}

function readStat(pid: number): Stat | null {
  try {
    // The name, in parentheses, can contain any character.
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const [state = '', parent] = fields
    const cpuMs = (Number(fields[USER_TIME]) + Number(fields[SYSTEM_TIME])) * TICK_MS
    return { state, parent: Number(parent), cpuMs }
  } catch {
    return null
  }
}

/** Sends a signal. Does nothing if the process has exited. */
export function trySignal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // The process has exited.
  }
}
