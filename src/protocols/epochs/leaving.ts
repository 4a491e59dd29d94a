/**
 * Giving up a lead, or what was done to get one.
 *
 * Whoever gives up stops acting first, and then writes its block without the stamp of its votes: it will act under none
 * of the leases that those tell of. So nobody waits for them: a follower that reads it begins at once, and START has
 * nothing of it to wait for. Why that is safe: START counts the stamp that is read in phase 0. Without one, its owner
 * had stopped before the write that took it away was issued, hence before that read ended; and a vote that it might
 * have cast since stands in the block that is read, or belongs to an epoch whose own START looks back (README.md).
 *
 * A lead that lapses is not released: work may still be under way, and only the clock ends what it was done under. Nor is
 * anything released while the lease of this node's former life may last: it has not stopped what that life did.
 */
import { type Effect, type Micros, NOTHING, setTimer } from '../../core/index.ts'
import { type Block, moreOf } from './block.ts'
import { constants, type EpochsStep, type Kit, quiet, rest, roundOf, termOf, timed, withTime } from './kit.ts'
import { RENEW_TIMER } from './lease.ts'
import { begunAgain } from './membership.ts'
import type { EpochsState, Timed } from './state.ts'

/** At once, though what it writes may still be under way. */
export function resigned(kit: Kit, state: EpochsState, cause: string, now: Micros): EpochsStep {
  const { core, settings } = kit
  if (state.time === null) return released(kit, core.suspended(state, null), state.own, NOTHING)
  const before = timed(state)
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
  const done: EpochsState = { ...core.suspended(state, null), time }
  const effects = [...quiet(kit, state), ...ended.effects]
  const { own } = state
  const { wait } = constants(kit)
  const isFormerOver = before.seen.every(({ of, at }) => of !== kit.self || at + wait <= now)
  if (moreOf(own).lctr === 0 || before.campaign === 'lapses' || !isFormerOver) {
    const resting = rest(kit, done, now)
    return { state: resting.state, effects: [...effects, ...resting.effects] }
  }
  const more = moreOf(own)
  const led =
    state.status === 'Leader' && state.ctr > more.led
      ? { led: state.ctr, term: termOf(state) || state.ctr }
      : {}
  return released(kit, done, { ...own, more: { ...more, ...led, lctr: 0, lbal: 0 } }, effects)
}

function released(
  { call }: Kit,
  state: EpochsState,
  own: Block,
  effects: readonly Effect<never>[],
): EpochsStep {
  const next: EpochsState = { ...state, own, writing: 'release' }
  return { state: next, effects: [...effects, call.write(roundOf(next), own)] }
}

/** What it wrote when it gave up is written. */
export function left(kit: Kit, state: EpochsState, now: Micros): EpochsStep {
  const ticks = state.writing === 'tick' || state.writing === 'renewal'
  const done = ticks ? kit.core.ticked(state) : { ...state, writing: null }
  const greatest = Math.max(timed(state).greatest, done.ctr)
  const removal = begunAgain(timed(state).removal)
  return resigned(kit, withTime(done, { greatest, removal }), 'it stepped down', now)
}

export function campaigns(
  kit: Kit,
  state: EpochsState,
  campaign: Timed['campaign'],
  now: Micros,
): EpochsStep {
  const before = timed(state).campaign
  if (before === campaign) return { state, effects: NOTHING }
  const next = withTime(state, { campaign })
  const { status } = state
  const isElecting = status === 'Leader' || status === 'PreviousLeader' || status === 'Participant'
  if (campaign === 'aside' && isElecting) return resigned(kit, next, 'it stepped down', now)
  // What was not renewed may be renewed again.
  const renew = campaign === 'stands' && status === 'Leader' ? [setTimer(RENEW_TIMER, now)] : NOTHING
  return { state: next, effects: renew }
}
