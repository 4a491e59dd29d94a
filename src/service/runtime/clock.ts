/**
 * The clock of a real process: monotonic, in whole microseconds. A second clock detects when the first stood still.
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
  suspendedFor(): Micros
  close(): void
}

/** The second clock shows hundredths of a second: less than two of them is no sleep. */
export const MIN_SUSPENSION: Micros = 20_000

export function monotonicNow(): Micros {
  return Number(process.hrtime.bigint() / 1000n)
}

/**
 * Which clock it is: processes that get the same text read the same clock, so their times can be compared. The start of
 * the host makes it, and the time namespace, which may shift it. Null where it is not known.
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
    suspendedFor() {
      if (bootTime === null) return 0
      // The thread may be delayed between the readings. So what the difference is at most comes from a reading before, and
      // what it is at least from one after: nothing but a sleep makes the second exceed the first by so much.
      const before = now()
      const boot = bootTime()
      const gap = boot - now() - ahead
      if (gap < MIN_SUSPENSION) {
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

/** The longest interval between two readings of the second clock, regardless of the wall clock. */
export const MAX_CHECK_INTERVAL: Micros = 20_000

/**
 * The same clock, asked about sleeps more cheaply. The second clock costs a call into the system, at each of some hundred
 * steps a second. The wall clock costs next to nothing and does not stand still either, but it may be set. So the second
 * is asked when the wall clock has run ahead of the first, and now and then in any case. What is noticed later by that,
 * and by no more than `MAX_CHECK_INTERVAL`, is a sleep during which the wall clock was also set back by as much.
 */
export function checkedSeldom(clock: HostClock, wall: () => number = Date.now): HostClock {
  let askedAt = Number.NEGATIVE_INFINITY
  let aheadThen = 0
  return {
    now: () => clock.now(),
    suspendedFor() {
      // The thread may be delayed between the two readings: then the wall clock seems to be ahead now, never before.
      const before = clock.now()
      const shown = wall() * 1000
      if (shown - before - aheadThen < MIN_SUSPENSION / 2 && before - askedAt < MAX_CHECK_INTERVAL) return 0
      askedAt = clock.now()
      aheadThen = shown - askedAt
      return clock.suspendedFor()
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
  return checkedSeldom(hostClock(bootTime, monotonicNow, () => closeSync(descriptor)))
}
