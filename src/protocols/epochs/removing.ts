/** The calls of a removal; what comes next, and why, is told in membership.ts. */
import { present } from '../../core/index.ts'
import { type Block, moreOf } from './block.ts'
import { type EpochsStep, type Kit, roundOf, timed, withTime } from './kit.ts'
import type { Task } from './membership.ts'
import type { EpochsState } from './state.ts'

export function removing({ call }: Kit, state: EpochsState, task: Task): EpochsStep {
  const { removal } = timed(state)
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

/** The tombstone: in the name of a process that is gone, its counter goes one beyond its last epoch, without a vote. */
export function burying({ call }: Kit, state: EpochsState, block: Block): EpochsStep {
  const { removal } = timed(state)
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

/** A step that takes no part in any election: only so that a tombstone can be deleted. */
export function raised({ call }: Kit, state: EpochsState, to: number): EpochsStep {
  const own: Block = { ...state.own, ctr: to, bal: 0, val: null }
  const next: EpochsState = { ...state, own, writing: 'raise' }
  return { state: next, effects: [call.write(roundOf(next), own)] }
}
