/** Boot, reboot, and the restart after a write of unknown outcome: the node reads its state from its own register. */
import { type Micros, NOTHING, type Plain, setTimer } from '../../core/index.ts'
import { type Block, blockOf, moreOf, ZERO } from './block.ts'
import {
  AGAIN_TIMER,
  constants,
  type EpochsStep,
  type Kit,
  raiseAlarm,
  roundOf,
  stopTimers,
  timeOf,
  withTime,
} from './kit.ts'
import { stopActing } from './lease.ts'
import { restartRemoval } from './membership.ts'
import { NO_PARTITION } from './partition.ts'
import type { EpochsState, Timed } from './state.ts'

export function start({ self, call, settings }: Kit, stable: Plain, now: Micros): EpochsStep {
  const kept = stable as Pick<EpochsState, 'phase' | 'diskWritten'> | null
  const state: EpochsState = {
    status: 'Starting',
    ctr: 0,
    phase: kept?.phase ?? 0,
    diskWritten: kept?.diskWritten ?? false,
    own: ZERO,
    writing: null,
    read: [],
    learned: null,
    time: settings.timing === null ? null : newTime(now),
  }
  return { state, effects: call.reads(0, [self]) }
}

/** The outcome of a write is unknown. As after a crash, the node reads its own register. */
export function restart(kit: Kit, state: EpochsState, cause: string, now: Micros): EpochsStep {
  const ended = stopActing(timeOf(state), cause)
  const next = kit.core.suspend(state, null)
  return {
    state: {
      ...next,
      status: 'Starting',
      phase: 0,
      diskWritten: false,
      read: [],
      time: {
        ...ended.time,
        looking: null,
        isDue: false,
        isLeaving: false,
        contends: false,
        hint: null,
        removal: restartRemoval(ended.time.removal),
      },
    },
    effects: [
      ...stopTimers(kit, state),
      ...ended.effects,
      setTimer(AGAIN_TIMER, now + constants(kit).access),
    ],
  }
}

/** Takes over the own register, and continues from the block in it. */
export function adopt(kit: Kit, state: EpochsState, value: Plain, now: Micros): EpochsStep {
  const { self, call, settings } = kit
  const block = blockOf(value)
  if (block === null) return raiseAlarm(kit, state, 'the own register does not hold a valid block')
  const ctr = settings.rules.recallCounter(block)
  if (state.time === null) {
    return { state: { ...state, status: 'Suspended', ctr, own: block }, effects: NOTHING }
  }
  const more = moreOf(block)
  if (more.gone) return raiseAlarm(kit, state, `${self} was removed from this group`)
  const own: Block = { ...block, more: { ...more, inc: more.inc + 1 } }
  // Work under the lease of the previous incarnation may still be in progress.
  const isFirst = moreOf(state.own).inc === 0
  const former =
    isFirst && more.lctr > 0
      ? [{ of: self, ctr, pbal: block.pbal, lctr: more.lctr, lbal: more.lbal, gone: false, at: now }]
      : state.time.seen
  const greatest = Math.max(state.time.greatest, ctr)
  const next = withTime({ ...state, ctr, own, writing: 'claim' }, { seen: former, greatest })
  return { state: next, effects: [call.write(roundOf(next), own)] }
}

function newTime(now: Micros): Timed {
  return {
    round: 0,
    looking: null,
    w: now,
    startAt: now,
    lease: null,
    seen: [],
    greatest: 0,
    advancedAt: now,
    hint: null,
    led: 0,
    term: 0,
    last: null,
    isVacant: false,
    oracle: null,
    contends: false,
    restarts: 0,
    isDue: false,
    candidacy: 'willing',
    isLeaving: false,
    alarm: null,
    removal: null,
    partition: NO_PARTITION,
  }
}
