/**
 * Stepping down: a node ends its term or its candidacy, and releases its lease.
 *
 * The node stops acting first. Then it writes its block without the stamp of its votes: it will not act under any lease
 * that those stamps stand for. So no node has to wait for these leases. A follower that reads the block starts an election
 * at once, and its START ignores the block. Why this is safe: START counts the stamps that are read in phase 0. If a
 * block has none, its owner stopped acting before it issued the write that removed the stamp, hence before the read
 * ended. A later vote of the owner is either in the block that is read, or belongs to an epoch with a START of its own
 * (README.md).
 *
 * A lease that is left to expire is not released: work may still be in progress, and only the end of the lease ends it.
 * A node also releases nothing while a lease of its previous incarnation may last: that incarnation may have left work
 * in progress.
 */
import { type Effect, type Micros, NOTHING, setTimer } from '../../core/index.ts'
import { type Block, moreOf } from './block.ts'
import {
  constants,
  type EpochsStep,
  type Kit,
  rest,
  roundOf,
  stopTimers,
  termOf,
  timeOf,
  withTime,
} from './kit.ts'
import { RENEW_TIMER } from './lease.ts'
import { restartRemoval } from './membership.ts'
import type { EpochsState, Timed } from './state.ts'

/** Stops acting at once, even if a write is in progress. The release follows that write. */
export function resign(kit: Kit, state: EpochsState, cause: string, now: Micros): EpochsStep {
  const { core, settings } = kit
  if (state.time === null) return release(kit, core.suspend(state, null), state.own, NOTHING)
  const before = timeOf(state)
  const ended = settings.rules.stopBeforeRelease(before, cause)
  if (state.writing !== null) {
    return { state: { ...state, time: { ...ended.time, isLeaving: true } }, effects: ended.effects }
  }
  const time = {
    ...ended.time,
    isLeaving: false,
    isDue: false,
    looking: null,
    contends: false,
    advancedAt: now,
  }
  const done: EpochsState = { ...core.suspend(state, null), time }
  const effects = [...stopTimers(kit, state), ...ended.effects]
  const { own } = state
  const { wait } = constants(kit)
  const isFormerLeaseOver = before.seen.every(({ of, at }) => of !== kit.self || at + wait <= now)
  if (moreOf(own).lctr === 0 || before.candidacy === 'expiring' || !isFormerLeaseOver) {
    const resting = rest(kit, done, now)
    return { state: resting.state, effects: [...effects, ...resting.effects] }
  }
  const more = moreOf(own)
  const led =
    state.status === 'Leader' && state.ctr > more.led
      ? { led: state.ctr, term: termOf(state) || state.ctr }
      : {}
  return release(kit, done, { ...own, more: { ...more, ...led, lctr: 0, lbal: 0 } }, effects)
}

function release(
  { call }: Kit,
  state: EpochsState,
  own: Block,
  effects: readonly Effect<never>[],
): EpochsStep {
  const next: EpochsState = { ...state, own, writing: 'release' }
  return { state: next, effects: [...effects, call.write(roundOf(next), own)] }
}

/** The write that was in progress when the node stepped down is acknowledged. */
export function finishLeaving(kit: Kit, state: EpochsState, now: Micros): EpochsStep {
  const ticks = state.writing === 'tick' || state.writing === 'renewal'
  const done = ticks ? kit.core.completeTick(state) : { ...state, writing: null }
  const greatest = Math.max(timeOf(state).greatest, done.ctr)
  const removal = restartRemoval(timeOf(state).removal)
  return resign(kit, withTime(done, { greatest, removal }), 'it stepped down', now)
}

export function handleCampaign(
  kit: Kit,
  state: EpochsState,
  candidacy: Timed['candidacy'],
  now: Micros,
): EpochsStep {
  if (timeOf(state).candidacy === candidacy) return { state, effects: NOTHING }
  const next = withTime(state, { candidacy })
  const { status } = state
  const isElecting = status === 'Leader' || status === 'PreviousLeader' || status === 'Participant'
  if (candidacy === 'withdrawn' && isElecting) return resign(kit, next, 'it stepped down', now)
  // A leader that had stopped renewing its lease renews it again.
  const renew = candidacy === 'willing' && status === 'Leader' ? [setTimer(RENEW_TIMER, now)] : NOTHING
  return { state: next, effects: renew }
}
