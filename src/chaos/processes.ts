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

type Stat = { readonly state: string; readonly parent: number }

function statOf(pid: number): Stat | null {
  try {
    // The name, in parentheses, may have anything in it.
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const [state = '', parent] = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return { state, parent: Number(parent) }
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
