/**
 * The clock of a real process: monotonic, in whole microseconds; and a second one that tells when the first stood still.
 *
 * On Linux the monotonic clock stops while the host is suspended; the time since boot, which /proc/uptime shows in
 * hundredths of a second, does not. When the second runs ahead of the first, the host slept.
 */
import { closeSync, openSync, readFileSync, readlinkSync, readSync } from 'node:fs'
import type { Micros } from '../../core/index.ts'

export type HostClock = {
  /** Time on this process's own clock. */
  now(): Micros
  /** For how long the host slept since this was last asked; 0 as a rule. */
  sleptFor(): Micros
  close(): void
}

/** The second clock shows hundredths of a second: less than two of them is no sleep. */
export const LEAST_SLEEP: Micros = 20_000

export function monotonicNow(): Micros {
  return Number(process.hrtime.bigint() / 1000n)
}

/**
 * Which clock it is: processes that get the same text read the same clock, so their times can be compared. The start of
 * the host makes it, and the time namespace, which may shift it. Null where that cannot be told.
 */
export function clockName(): string | null {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()
    return `${boot} ${readlinkSync('/proc/self/ns/time')}`
  } catch {
    return null
  }
}

/** `bootTime` is the second clock, in microseconds, or null where the host has none. */
export function hostClock(
  bootTime: (() => Micros) | null,
  now: () => Micros = monotonicNow,
  close: () => void = () => {},
): HostClock {
  // How far the second clock is ahead, when everything is as it should be.
  let ahead = bootTime === null ? 0 : -now() + bootTime()
  return {
    now,
    sleptFor() {
      if (bootTime === null) return 0
      // Whoever reads may be held up in between. So what the difference is at most comes from a reading before, and
      // what it is at least from one after: nothing but a sleep makes the second exceed the first by so much.
      const before = now()
      const boot = bootTime()
      const gap = boot - now() - ahead
      if (gap < LEAST_SLEEP) {
        // The two run in different steps: keep the least difference ever seen.
        ahead = Math.min(ahead, boot - before)
        return 0
      }
      ahead += gap
      return gap
    },
    close,
  }
}

/** The second clock is asked at least so often, whatever the wall clock shows. */
export const ASK_EVERY: Micros = 20_000

/**
 * The same clock, asked about sleeps more cheaply. The second clock costs a call into the system, at each of some hundred
 * steps a second. The wall clock costs next to nothing and does not stand still either, but it may be set. So the second
 * is asked when the wall clock has run ahead of the first, and now and then in any case. What is noticed later by that,
 * and by no more than `ASK_EVERY`, is a sleep during which the wall clock was also set back by as much.
 */
export function seldomAsked(clock: HostClock, wall: () => number = Date.now): HostClock {
  let askedAt = Number.NEGATIVE_INFINITY
  let aheadThen = 0
  return {
    now: () => clock.now(),
    sleptFor() {
      // Whoever reads may be held up in between: then the wall clock seems to be ahead now, and never to have been.
      const before = clock.now()
      const shown = wall() * 1000
      if (shown - before - aheadThen < LEAST_SLEEP / 2 && before - askedAt < ASK_EVERY) return 0
      askedAt = clock.now()
      aheadThen = shown - askedAt
      return clock.sleptFor()
    },
    close: () => clock.close(),
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
  return seldomAsked(hostClock(bootTime, monotonicNow, () => closeSync(descriptor)))
}
