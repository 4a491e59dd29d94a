/**
 * The clock of a real process: monotonic, in whole microseconds; and a second one that tells when the first stood still.
 *
 * On Linux the monotonic clock stops while the host is suspended; the time since boot, which /proc/uptime shows in
 * hundredths of a second, does not. When the second runs ahead of the first, the host slept.
 */
import { closeSync, openSync, readSync } from 'node:fs'
import type { Micros } from '../core/index.ts'

export type HostClock = {
  /** Time on this process's own clock. */
  now(): Micros
  /** For how long the host slept since this was last asked; 0 as a rule. */
  sleptFor(): Micros
  close(): void
}

/** The second clock shows hundredths of a second: less than two of them is no sleep. */
const LEAST_SLEEP: Micros = 20_000

/** Two readings of a clock no further apart than this are one. */
const PROMPT: Micros = 1_000
const TRIES = 5

export function monotonicNow(): Micros {
  return Number(process.hrtime.bigint() / 1000n)
}

/** `bootTime` is the second clock, in microseconds, or null where the host has none. */
export function hostClock(
  bootTime: (() => Micros) | null,
  now: () => Micros = monotonicNow,
  close: () => void = () => {},
): HostClock {
  /** How far the second clock is ahead: somewhere between two readings of the first, which may be apart. */
  const lead = (): { readonly least: Micros; readonly most: Micros } => {
    if (bootTime === null) return { least: 0, most: 0 }
    for (let tries = 1; ; tries++) {
      const before = now()
      const boot = bootTime()
      const after = now()
      // A process that is held up in between learns little: it looks again.
      if (after - before <= PROMPT || tries === TRIES) return { least: boot - after, most: boot - before }
    }
  }
  // When everything is as it should be: the least that it surely was.
  let ahead = lead().most
  return {
    now,
    sleptFor() {
      if (bootTime === null) return 0
      const { least, most } = lead()
      const gap = least - ahead
      if (gap < LEAST_SLEEP) {
        if (most < ahead) ahead = most
        return 0
      }
      ahead = most
      return gap
    },
    close,
  }
}

/** Linux: the time since boot, through one descriptor that stays open. */
export function openHostClock(file = '/proc/uptime'): HostClock {
  let descriptor: number
  try {
    descriptor = openSync(file, 'r')
  } catch {
    return hostClock(null)
  }
  const buffer = Buffer.alloc(64)
  const bootTime = (): Micros => {
    const length = readSync(descriptor, buffer, 0, buffer.length, 0)
    const [seconds = '0'] = buffer.toString('latin1', 0, length).split(' ')
    return Math.round(Number(seconds) * 1_000_000)
  }
  return hostClock(bootTime, monotonicNow, () => closeSync(descriptor))
}
