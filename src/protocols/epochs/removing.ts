/** The register calls of a removal. membership.ts decides the steps and explains them. */
import { present } from '../../core/index.ts'
import { type Block, moreOf } from './block.ts'
import { type EpochsStep, type Kit, roundOf, timeOf, withTime } from './kit.ts'
import type { RemovalTask } from './membership.ts'
import type { EpochsState } from './state.ts'

/** Reads the register of the removed node, or deletes it. */
export function continueRemoval({ call }: Kit, state: EpochsState, task: RemovalTask): EpochsStep {
  const { removal } = timeOf(state)
  if (task.do === 'read') {
    const next = withTime(state, { round: roundOf(state) + 1, looking: [task.of] })
    return { state: next, effects: call.reads(roundOf(next), [task.of]) }
  }
  const next = withTime(
    { ...state, writing: 'bury' },
    { removal: { ...present(removal, 'removal'), stage: 'delete' } },
  )
  return { state: next, effects: [call.bury(roundOf(next), task.of, null)] }
}

/** Writes a tombstone in the name of the removed node: its counter one above its last epoch, without a vote. */
export function bury({ call }: Kit, state: EpochsState, block: Block): EpochsStep {
  const { removal } = timeOf(state)
  const { of } = present(removal, 'removal')
  const to = block.ctr + 1
  const more = moreOf(block)
  const tombstone: Block = {
    ctr: to,
    pbal: block.pbal,
    bal: 0,
    val: null,
    more: { ...more, inc: more.inc + 1, gone: true },
  }
  const next = withTime(
    { ...state, writing: 'bury' },
    { looking: null, removal: { of, stage: 'tombstone', to, since: null } },
  )
  return { state: next, effects: [call.bury(roundOf(next), of, tombstone)] }
}

/** Raises this node's own counter so that a tombstone can be deleted. The node takes part in no election by this. */
export function raiseCounter({ call }: Kit, state: EpochsState, to: number): EpochsStep {
  const own: Block = { ...state.own, ctr: to, bal: 0, val: null }
  const next: EpochsState = { ...state, own, writing: 'raise' }
  return { state: next, effects: [call.write(roundOf(next), own)] }
}
