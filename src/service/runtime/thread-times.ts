/**
 * Why a thread was late: it was busy itself, it waited for a CPU, or it was stopped.
 *
 * Linux counts for each thread how long it ran and how long it waited for a CPU. Time that is in neither was spent asleep
 * or stopped: by SIGSTOP, a frozen control group, or a paused virtual machine.
 */
import { closeSync, openSync, readSync } from 'node:fs'
import type { Micros } from '../../core/index.ts'

export type WhyLate = 'busy' | 'starved' | 'stopped' | 'unknown'

/** How long a thread has run and waited for a CPU. */
export type ThreadTimes = { readonly ran: Micros; readonly waited: Micros }

export type ThreadClock = { read(): ThreadTimes | null; close(): void }

/** The clock of the thread that calls this. */
export function openThreadClock(file = '/proc/thread-self/schedstat'): ThreadClock {
  let descriptor: number
  try {
    descriptor = openSync(file, 'r')
  } catch {
    return { read: () => null, close() {} }
  }
  const buffer = Buffer.alloc(96)
  return {
    read() {
      try {
        const length = readSync(descriptor, buffer, 0, buffer.length, 0)
        const [ran, waited] = buffer.toString('latin1', 0, length).split(' ', 2).map(Number)
        if (ran === undefined || waited === undefined || Number.isNaN(ran + waited)) return null
        return { ran: ran / 1000, waited: waited / 1000 }
      } catch {
        return null
      }
    },
    close: () => closeSync(descriptor),
  }
}

/** What most of the time `by` was spent on, between two readings. */
export function whyLate(by: Micros, before: ThreadTimes | null, after: ThreadTimes | null): WhyLate {
  if (before === null || after === null) return 'unknown'
  const ran = after.ran - before.ran
  const waited = after.waited - before.waited
  if (ran + waited < by / 2) return 'stopped'
  return waited >= ran ? 'starved' : 'busy'
}
