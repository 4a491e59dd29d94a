/**
 * The leader oracle of Chockler and Malkhi, an option: it chooses the node that starts an election, so that contention
 * ends.
 *
 * Their oracle is one register that all nodes write, x = (owner, stamp, generation). A node that finds x unchanged for
 * longer than any lease writes itself into x with the next generation. It waits until every node that had read the old
 * value must have written too, and reads x again. If it is still the owner, it is chosen and runs the election alone. All
 * other nodes give it the time for that. While the owner of x leads, each renewal of its counter is a new stamp.
 *
 * Here x consists of the existing registers: each node has a cell in its own block, its generation, and x is the cell with
 * the greatest (generation, id). The election does not depend on the oracle. If two nodes were chosen, their elections
 * would collide as they do without an oracle, and be just as safe.
 */
import type { Micros, NodeId } from '../../core/index.ts'
import { type Block, isAfter, moreOf } from './block.ts'
import { constants, type EpochsStep, type Kit, roundOf, timeOf, unchanged, withTime } from './kit.ts'
import type { EpochsState, Oracle } from './state.ts'

/** The value of x after this block was read; the same object if x has not changed. */
export function oracleAfter(x: Oracle | null, of: NodeId, block: Block, now: Micros): Oracle | null {
  const { gen } = moreOf(block)
  if (gen === 0 || (x !== null && !isAfter(gen, of, x.gen, x.of))) return x
  return { gen, of, at: now }
}

/** Writes this node into x. */
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

/** This node is in x. Other nodes that read the old value may still write themselves into it. */
export function finishContending(kit: Kit, state: EpochsState, now: Micros): EpochsState {
  const own = { gen: moreOf(state.own).gen, of: kit.self, at: now }
  const { oracle } = timeOf(state)
  const isGreatest = oracle === null || isAfter(own.gen, own.of, oracle.gen, oracle.of)
  return withTime({ ...state, writing: null }, { oracle: isGreatest ? own : oracle, contends: true })
}

/** Whether this node is chosen, by the registers that it read after the wait. */
export function isChosen({ self }: Kit, state: EpochsState): boolean {
  return timeOf(state).oracle?.of === self
}

/** When this node may contend: another owner of x first gets the time to win. Null: at any time. */
export function earliestContention(kit: Kit, state: EpochsState): Micros | null {
  const { oracle } = timeOf(state)
  return oracle === null || oracle.of === kit.self ? null : oracle.at + constants(kit).deference
}
