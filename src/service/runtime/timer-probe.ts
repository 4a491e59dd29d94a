/** What the timers of this host can do at best: some fire in steps of several milliseconds. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Micros, microsOf } from '../../core/index.ts'
import { monotonicNow } from './clock.ts'
import { TIMER_STEP_MS } from './loop.ts'

/** A busy host is late now and then. The best of a few shows the granularity. */
const ROUNDS = 6
const WAIT_MS = 1

type Probe = { now(): Micros; sleep(ms: number): Promise<unknown> }

const HOST: Probe = { now: monotonicNow, sleep: (ms) => sleep(ms, undefined, { ref: false }) }

/** How late a timer of an election fires at least. Takes some milliseconds, and little CPU time. */
export async function probeTimers(probe: Probe = HOST): Promise<Micros> {
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < ROUNDS; round++) {
    const due = probe.now() + microsOf(WAIT_MS)
    // oxlint-disable-next-line no-await-in-loop -- one timer after the other
    await probe.sleep(WAIT_MS + TIMER_STEP_MS)
    // The first begins at any time within a step, the others at the beginning of one.
    if (round > 0) least = Math.min(least, Math.max(0, probe.now() - due))
  }
  return least
}
