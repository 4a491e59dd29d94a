/** Boot, reboot, and what follows a write of unknown outcome: only the own register knows where this node stands. */
import { type Micros, NOTHING, type Plain, setTimer } from '../../core/index.ts'
import { type Block, blockOf, moreOf, ZERO } from './block.ts'
import {
  AGAIN_TIMER,
  alarmed,
  constants,
  type EpochsStep,
  type Kit,
  quiet,
  roundOf,
  timed,
  withTime,
} from './kit.ts'
import { stopped } from './lease.ts'
import { begunAgain } from './membership.ts'
import { NO_PARTITION } from './partition.ts'
import type { EpochsState, Timed } from './state.ts'

export function begin({ self, call, settings }: Kit, stable: Plain, now: Micros): EpochsStep {
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

/** A write may have taken place or not: as after a crash, only the register knows. */
export function startAgain(kit: Kit, state: EpochsState, cause: string, now: Micros): EpochsStep {
  const ended = stopped(timed(state), cause)
  const next = kit.core.suspended(state, null)
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
        removal: begunAgain(ended.time.removal),
      },
    },
    effects: [...quiet(kit, state), ...ended.effects, setTimer(AGAIN_TIMER, now + constants(kit).access)],
  }
}

/** Takes the own register over: what it holds is where this node stands. */
export function adopt(kit: Kit, state: EpochsState, value: Plain, now: Micros): EpochsStep {
  const { self, call, settings } = kit
  const block = blockOf(value)
  if (block === null) return alarmed(kit, state, `the own register holds no block that can be read`)
  const ctr = settings.rules.recallCounter(block)
  if (state.time === null) {
    return { state: { ...state, status: 'Suspended', ctr, own: block }, effects: NOTHING }
  }
  const more = moreOf(block)
  if (more.gone) return alarmed(kit, state, `${self} was removed from this group`)
  const own: Block = { ...block, more: { ...more, inc: more.inc + 1 } }
  // The lease of this node's former life may still be used by somebody who does not know that it is over.
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
    lead: null,
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
    campaign: 'stands',
    isLeaving: false,
    alarm: null,
    removal: null,
    partition: NO_PARTITION,
  }
}
