/** Processes of this machine, as /proc shows them. */
import { readdirSync, readFileSync } from 'node:fs'

/** The processes that this one has started and that still are. */
export function childrenOf(pid: number): readonly number[] {
  return readdirSync('/proc').flatMap((name) =>
    /^\d+$/.test(name) && statOf(Number(name))?.parent === pid ? [Number(name)] : [],
  )
}

/** Whether it exists and is not merely waiting to be counted as dead. */
export function isAlive(pid: number): boolean {
  const stat = statOf(pid)
  return stat !== null && stat.state !== 'Z' && stat.state !== 'X'
}

/** The kernel counts CPU time in hundredths of a second on every Linux that Node.js runs on. */
const TICK_MS = 10
/** Places in /proc/PID/stat behind the name: see proc(5), utime and stime. */
const USER_TIME = 11
const SYSTEM_TIME = 12

/** The CPU time that a process has used; 0 for one that is gone. */
export function cpuMsOf(pid: number): number {
  return statOf(pid)?.cpuMs ?? 0
}

type Stat = {
  readonly state: string
  readonly parent: number
  readonly cpuMs: number
}

function statOf(pid: number): Stat | null {
  try {
    // The name, in parentheses, may have anything in it.
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const [state = '', parent] = fields
    const cpuMs = (Number(fields[USER_TIME]) + Number(fields[SYSTEM_TIME])) * TICK_MS
    return { state, parent: Number(parent), cpuMs }
  } catch {
    return null
  }
}

/** Sends a signal; a process that is gone does not mind. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // It is gone.
  }
}
