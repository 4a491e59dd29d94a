/**
 * The election's steps as calls and timers: ticks, ballots and votes, what a round that is complete leads to, and what a
 * leader does between two renewals.
 */
import { type Micros, NOTHING, output, present, setTimer, unreachable } from '../../core/index.ts'
import { LARGEST, moreOf } from './block.ts'
import {
  alarmed,
  constants,
  type EpochsStep,
  type Kit,
  LOOK_TIMER,
  quiet,
  rest,
  roundOf,
  termOf,
  timed,
  unchanged,
  WRITE_TIMER,
  withTime,
} from './kit.ts'
import { stopped, won } from './lease.ts'
import { left, resigned } from './leaving.ts'
import { begunAgain, nextOfRemoval } from './membership.ts'
import { contended } from './oracle.ts'
import { toFence } from './partition.ts'
import { removing } from './removing.ts'
import type { EpochsState } from './state.ts'
import { startAfter } from './watching.ts'

/** Doubling a wait more often than this helps nobody. */
const MOST_DOUBLINGS = 6

export function tick(kit: Kit, state: EpochsState, to: number, now: Micros): EpochsStep {
  if (state.writing !== null || state.status === 'Starting' || state.status === 'Stopped') {
    return unchanged(state)
  }
  if (to <= state.ctr) return unchanged(state)
  if (to > LARGEST) return alarmed(kit, state, `epoch ${to} is beyond reason: a register holds damage`)
  const ticking = kit.core.tick(state, to)
  const renews = ticking.writing === 'renewal'
  const { own } = ticking
  const stamped: EpochsState =
    own.more === null
      ? ticking
      : {
          ...ticking,
          own: {
            ...own,
            more: renews
              ? { ...own.more, lctr: to, lbal: own.bal, led: state.ctr, term: termOf(state) }
              : own.more,
          },
        }
  if (stamped.time === null) {
    return { state: stamped, effects: [...quiet(kit, state), kit.call.write(0, stamped.own)] }
  }
  const { time } = stamped
  const ended = renews ? { time, effects: NOTHING } : stopped(time, `its epoch ${state.ctr} was missed`)
  const next = withTime(
    { ...stamped, time: ended.time },
    {
      w: now,
      looking: null,
      isDue: false,
      restarts: 0,
      isVacant: false,
      contends: false,
      ...(renews ? {} : { hint: null }),
    },
  )
  return {
    state: next,
    effects: [...quiet(kit, state), ...ended.effects, kit.call.write(roundOf(next), next.own)],
  }
}

/** The write of phase 1 or 2 that is due. */
export function write(kit: Kit, state: EpochsState, now: Micros): EpochsStep {
  if (!kit.core.mayWrite(state)) return unchanged(state)
  const writing = kit.core.write(state)
  const { own } = writing
  const isVote = writing.writing === 'vote'
  const more =
    own.more !== null && isVote && own.val === kit.self
      ? { ...own.more, lctr: writing.ctr, lbal: own.bal }
      : own.more
  const next = withTime({ ...writing, own: { ...own, more } }, isVote ? { w: now } : {})
  return { state: next, effects: [kit.call.write(roundOf(next), next.own)] }
}

export function acknowledged(kit: Kit, state: EpochsState, now: Micros): EpochsStep {
  if (state.time?.isLeaving === true) return left(kit, state, now)
  switch (state.writing) {
    case 'tick':
    case 'renewal': {
      const ticked = kit.core.ticked(state)
      const { time } = ticked
      if (time === null) return newRound(kit, ticked, now)
      const greatest = Math.max(time.greatest, ticked.ctr)
      const isNew = state.writing === 'tick' && kit.settings.start === 'simple'
      return newRound(
        kit,
        withTime(ticked, {
          greatest,
          advancedAt: now,
          ...(isNew ? { startAt: now + constants(kit).wait } : {}),
        }),
        now,
      )
    }
    case 'ballot':
    case 'vote':
      return newRound(kit, kit.core.written(state), now)
    case 'claim':
      return rest(kit, { ...state, status: 'Suspended', writing: null }, now)
    case 'raise':
      return rest(kit, { ...state, ctr: state.own.ctr, learned: null, writing: null }, now)
    case 'led': {
      const idle: EpochsState = { ...state, writing: null }
      return goesOn(kit, idle, now)
    }
    case 'release':
      return rest(kit, { ...state, writing: null }, now)
    case 'contend':
      return state.time === null
        ? unchanged({ ...state, writing: null })
        : { state: contended(kit, state, now), effects: [setTimer(LOOK_TIMER, now + constants(kit).settle)] }
    case 'bury':
      return buried(kit, state, now)
    case null:
      return unchanged(state)
    default:
      return unreachable(state.writing)
  }
}

/** Reads what the round lacks; a round that lacks nothing is judged at once. */
export function newRound(kit: Kit, state: EpochsState, now: Micros): EpochsStep {
  const missing = kit.core.missing(state)
  if (missing.length === 0) return judged(kit, state, kit.core.judged(state), now)
  const next = withTime(state, { round: roundOf(state) + 1 })
  return { state: next, effects: kit.call.reads(roundOf(next), missing) }
}

/** What follows from the case analysis, once a round was complete. */
export function judged(kit: Kit, before: EpochsState, after: EpochsState, now: Micros): EpochsStep {
  switch (after.status) {
    case 'Leader':
      return leads(kit, after, now)
    case 'Suspended': {
      const told =
        after.learned === null ? [] : [output({ type: 'learned', epoch: after.ctr, leader: after.learned })]
      if (after.time === null) return { state: after, effects: told }
      const cause =
        after.learned === null ? 'it was overtaken by a higher epoch' : `${after.learned} leads its epoch`
      const ended = stopped(after.time, cause)
      const hint = after.learned === null ? {} : { hint: after.learned, last: after.learned }
      const resting = rest(kit, { ...after, time: { ...ended.time, ...hint, advancedAt: now } }, now)
      return { state: resting.state, effects: [...told, ...ended.effects, ...resting.effects] }
    }
    default:
      return toWrite(kit, before, after, now)
  }
}

/** A ballot or a vote is next. Whoever begins anew gives the others time, more each time. */
function toWrite(kit: Kit, before: EpochsState, after: EpochsState, now: Micros): EpochsStep {
  const isAnew = before.phase > 0 && after.phase === 1 && !after.diskWritten && before.diskWritten
  const { time } = after
  if (time === null) {
    return { state: after, effects: kit.core.mayWrite(after) ? [setTimer(WRITE_TIMER, now)] : NOTHING }
  }
  const { wait, full } = constants(kit)
  const passedPhase0 = before.phase === 0 && after.phase === 1
  const leasesEnd =
    passedPhase0 && kit.settings.start === 'stamps' ? startAfter(time.seen, wait, now) : time.startAt
  const startAt = kit.settings.rules.actsFrom(leasesEnd, now)
  const restarts = isAnew ? time.restarts + 1 : time.restarts
  const longest = full * 2 ** Math.min(restarts, MOST_DOUBLINGS)
  return {
    state: withTime(after, { startAt, restarts }),
    effects: [setTimer(WRITE_TIMER, isAnew ? [now, now + longest] : now)],
  }
}

function leads(kit: Kit, state: EpochsState, now: Micros): EpochsStep {
  const told = output({ type: 'learned', epoch: state.ctr, leader: kit.self })
  if (state.time === null) return { state, effects: [told] }
  const isFirst = state.time.lead === null
  if (isFirst && state.time.campaign !== 'stands') return resigned(kit, state, 'it does not stand', now)
  const { partition: before } = state.time
  const partition = isFirst ? toFence(before, state.ctr, kit.nodes) : before
  const change = won({ ...state.time, partition, hint: null, last: kit.self }, state.ctr, constants(kit), now)
  const leading: EpochsState = { ...state, time: change.time }
  const effects = [told, ...change.effects]
  const { own } = leading
  if (own.more === null || moreOf(own).led >= state.ctr - 1) {
    const next = goesOn(kit, leading, now)
    return { state: next.state, effects: [...effects, ...next.effects] }
  }
  // Only after a first election: from then on each renewal says it.
  const next: EpochsState = {
    ...leading,
    own: { ...own, more: { ...own.more, led: state.ctr, term: termOf(leading) } },
    writing: 'led',
  }
  return { state: next, effects: [...effects, kit.call.write(roundOf(next), next.own)] }
}

/** What a leader does between two renewals: the one that fell due meanwhile, or a step of a removal. */
export function goesOn(kit: Kit, state: EpochsState, now: Micros): EpochsStep {
  const time = timed(state)
  if (time.isDue) return tick(kit, withTime(state, { isDue: false }), state.ctr + 1, now)
  const task = nextOfRemoval(kit.self, time, state.ctr, constants(kit).wait, now)
  return task === null ? { state, effects: NOTHING } : removing(kit, state, task)
}

function buried(kit: Kit, state: EpochsState, now: Micros): EpochsStep {
  const { removal } = timed(state)
  const { of, stage, to } = present(removal, 'removal')
  const isDone = stage === 'delete'
  const next = withTime(
    { ...state, writing: null },
    { removal: isDone ? null : { of, stage: 'wait', to, since: now } },
  )
  const resting = state.status === 'Leader' ? goesOn(kit, next, now) : rest(kit, next, now)
  return isDone
    ? { state: resting.state, effects: [...resting.effects, output({ type: 'removed', node: of })] }
    : resting
}

/**
 * A tombstone, or the end of a register, was refused, or it is not known whether it was written. The own register is as
 * it was, so the node goes on; the removal begins again with a read, at the next look or renewal. A write that lands
 * late does no harm: it counts only if the register is still as it was read.
 */
export function notBuried(kit: Kit, state: EpochsState, now: Micros): EpochsStep {
  const time = timed(state)
  if (time.isLeaving) return left(kit, state, now)
  const next = withTime({ ...state, writing: null }, { removal: begunAgain(time.removal) })
  if (state.status !== 'Leader') return rest(kit, next, now)
  return time.isDue ? goesOn(kit, next, now) : { state: next, effects: NOTHING }
}
