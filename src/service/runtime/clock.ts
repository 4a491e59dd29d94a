/**
 * The clock of a real process: monotonic, in whole microseconds. A second clock detects when the first one stopped.
 *
 * On Linux the monotonic clock stops while the host is suspended. The time since boot, which /proc/uptime shows in
 * hundredths of a second, does not. When the second clock runs ahead of the first, the host slept.
 */
import { closeSync, openSync, readFileSync, readlinkSync, readSync } from 'node:fs'
import type { Micros } from '../../core/index.ts'

export type HostClock = {
  /** Time on this process's own clock. */
  now(): Micros
  /** How long the host slept since the last call; usually 0. */
  suspendedFor(): Micros
  close(): void
}

/** The second clock has a resolution of a hundredth of a second: a difference of less than two of them is no sleep. */
export const MIN_SUSPENSION: Micros = 20_000

export function monotonicNow(): Micros {
  // Cheaper than the difference of two large integers: it is read some ten times per datagram.
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1_000_000 + Math.floor(nanoseconds / 1000)
}

/**
 * Identifies the clock. Processes with the same text read the same clock, so their times can be compared. It consists
 * of the boot id of the host and the time namespace, which may shift the clock. Null where it is unknown.
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
  // How far the second clock is ahead while the host is awake.
  let ahead = bootTime === null ? 0 : -now() + bootTime()
  return {
    now,
    suspendedFor() {
      if (bootTime === null) return 0
      // The thread may be delayed between two readings. So the upper bound of the difference uses a reading before, and
      // the lower bound a reading after: only a sleep can make the lower bound exceed the upper one by this much.
      const before = now()
      const boot = bootTime()
      const gap = boot - now() - ahead
      if (gap < MIN_SUSPENSION) {
        // The clocks have different resolutions: keep the least difference ever seen.
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
 * The same clock with a cheaper check for sleeps. Reading the second clock costs a system call at each of some hundred
 * steps per second. The wall clock is almost free and does not stop either, but it may be set. So the second clock is
 * read when the wall clock has run ahead of the first, and periodically. Only a sleep during which the wall clock was
 * also set back is detected later, by at most `MAX_CHECK_INTERVAL`.
 */
export function checkSeldom(clock: HostClock, wall: () => number = Date.now): HostClock {
  let askedAt = Number.NEGATIVE_INFINITY
  let aheadThen = 0
  return {
    now: () => clock.now(),
    suspendedFor() {
      // The thread may be delayed between the two readings: then the wall clock seems to be ahead now, never earlier.
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
    return firstNumberIn(buffer.subarray(0, length))
  }
  return checkSeldom(hostClock(bootTime, monotonicNow, () => closeSync(descriptor)))
}

/** The characters of a number, as bytes. */
const POINT = 46
const ZERO = 48
const NINE = 57

/** Seconds with decimals, up to a space, in microseconds. It is read too often to make texts of it. */
function firstNumberIn(text: Uint8Array): Micros {
  let digits = 0
  let unit = 1_000_000
  let hasPoint = false
  for (const byte of text) {
    if (byte === POINT) hasPoint = true
    else if (byte < ZERO || byte > NINE) break
    else {
      digits = 10 * digits + byte - ZERO
      if (hasPoint) unit /= 10
    }
  }
  return Math.round(digits * unit)
}
