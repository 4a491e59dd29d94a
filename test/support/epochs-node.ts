/** Node b of three in the protocol epochs, just started at 1000 µs, with round constants and no drift. */
import { type Block, type More, NO_MORE } from '../../src/protocols/epochs/block.ts'
import { type Kit, kitOf } from '../../src/protocols/epochs/kit.ts'
import { RULES } from '../../src/protocols/epochs/rules.ts'
import { start } from '../../src/protocols/epochs/starting.ts'
import type { EpochsState, Timed } from '../../src/protocols/epochs/state.ts'
import { timingOf } from '../../src/protocols/epochs/timing.ts'

export const TIMING = timingOf({ period: 8000, access: 100, drift: 0, lease: null })
export const KIT: Kit = kitOf(
  { self: 'b', nodes: ['a', 'b', 'c'] },
  { timing: TIMING, start: 'stamps', order: 'succession', rules: RULES, ballots: null, keepsRead: false },
)
export const STATE: EpochsState = start(KIT, null, 1000).state
export const TIME = STATE.time as Timed

/** The block of a node in its first incarnation. */
export function blockAt(ctr: number, more: Partial<More> = {}, pbal = 1): Block {
  return { ctr, pbal, bal: 0, val: null, more: { ...NO_MORE, inc: 1, ...more } }
}
