/**
 * Notices that the wall clock was set. Elections do not use it. But logs do, and so do the tokens of nodes without a data
 * directory.
 */
import type { Micros } from '../../core/index.ts'

/** A smaller difference may be the delay between two readings, or NTP that slews the clock. */
const LEAST_JUMP: Micros = 500_000

export class WallClockWatch {
  readonly #wall: () => number
  /** How far the wall clock is ahead of the monotonic one. */
  #ahead: Micros

  constructor(now: Micros, wall: () => number = Date.now) {
    this.#wall = wall
    this.#ahead = wall() * 1000 - now
  }

  /** The warning, if the clock was set since the last call. `slept`: how long the host was suspended in between. */
  check(now: Micros, slept: Micros): string | null {
    const ahead = this.#wall() * 1000 - now
    const jump = ahead - this.#ahead - slept
    this.#ahead = ahead
    if (slept > 0) return `the host was suspended for ${seconds(slept)}: its leases are void`
    if (Math.abs(jump) < LEAST_JUMP) return null
    const way = jump > 0 ? 'forward' : 'back'
    return `the wall clock was set ${way} by ${seconds(Math.abs(jump))}: leases do not use it, but logs do, and the tokens of nodes without \`data\`; let NTP slew it`
  }
}

function seconds(micros: Micros): string {
  return `${(micros / 1_000_000).toFixed(1)} s`
}
