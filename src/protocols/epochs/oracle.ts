/**
 * The leader oracle of Chockler and Malkhi, as an option: who may begin an election, so that contention ends.
 *
 * Theirs is one register that all write, x = (owner, stamp, generation). Whoever finds that x has not changed for longer
 * than any lease writes itself into it with the next generation, waits until everybody who had read the old value must
 * have written too, and reads again: whoever still stands there is chosen, and runs the election alone. All others give
 * it the time for that. While x's owner leads, each renewal of its counter is a new stamp.
 *
 * Here x is made of the registers that there are: each node has a cell in its own block, its generation, and x is the
 * cell with the greatest (generation, id). None of it enters a test of the election: were two chosen, elections would
 * collide as they do without, and be as safe.
 */
import type { Micros, NodeId } from '../../core/index.ts'
import { type Block, isAfter, moreOf } from './block.ts'
import { constants, type EpochsStep, type Kit, roundOf, timed, unchanged, withTime } from './kit.ts'
import type { EpochsState, Oracle } from './state.ts'

/** What x is, once this block was read; the same object where it has not changed. */
export function oracleAfter(x: Oracle | null, of: NodeId, block: Block, now: Micros): Oracle | null {
  const { gen } = moreOf(block)
  if (gen === 0 || (x !== null && !isAfter(gen, of, x.gen, x.of))) return x
  return { gen, of, at: now }
}

/** Writes itself into x. */
export function contend(kit: Kit, state: EpochsState): EpochsStep {
  if (state.writing !== null || state.status !== 'Suspended') return unchanged(state)
  const { own, time } = state
  const next: EpochsState =
    time === null
      ? { ...state, writing: 'contend' }
      : {
          ...state,
          own: { ...own, more: { ...moreOf(own), gen: (time.oracle?.gen ?? 0) + 1 } },
          writing: 'contend',
        }
  return { state: next, effects: [kit.call.write(roundOf(next), next.own)] }
}

/** It stands in x: others may, too, until all who read the old value have written. */
export function contended(kit: Kit, state: EpochsState, now: Micros): EpochsState {
  const own = { gen: moreOf(state.own).gen, of: kit.self, at: now }
  const { oracle } = timed(state)
  const isGreatest = oracle === null || isAfter(own.gen, own.of, oracle.gen, oracle.of)
  return withTime({ ...state, writing: null }, { oracle: isGreatest ? own : oracle, contends: true })
}

/** Whether it is chosen, by what was read after it waited. */
export function isChosen({ self }: Kit, state: EpochsState): boolean {
  return timed(state).oracle?.of === self
}

/** From when on a node may contend: whoever else stands in x is given the time to win. */
export function mayContendAt(kit: Kit, state: EpochsState): Micros | null {
  const { oracle } = timed(state)
  return oracle === null || oracle.of === kit.self ? null : oracle.at + constants(kit).deference
}
