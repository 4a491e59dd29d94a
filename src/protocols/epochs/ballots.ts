/**
 * The steps of an election as register calls and timers: ticks, ballots, votes and completed rounds. Also what a leader
 * does between two renewals.
 */
import { type Micros, NOTHING, output, present, setTimer, unreachable } from '../../core/index.ts'
import { LARGEST, moreOf } from './block.ts'
import {
  constants,
  type EpochsStep,
  type Kit,
  LOOK_TIMER,
  raiseAlarm,
  rest,
  roundOf,
  stopTimers,
  termOf,
  timeOf,
  unchanged,
  WRITE_TIMER,
  withTime,
} from './kit.ts'
import { stopActing, takeLease } from './lease.ts'
import { finishLeaving, resign } from './leaving.ts'
import { nextRemovalTask, restartRemoval } from './membership.ts'
import { finishContending } from './oracle.ts'
import { withFencing } from './partition.ts'
import { continueRemoval } from './removing.ts'
import type { EpochsState } from './state.ts'
import { startAfter } from './watching.ts'

/** Limits the exponential backoff. */
const MOST_DOUBLINGS = 6

export function tick(kit: Kit, state: EpochsState, to: number, now: Micros): EpochsStep {
  if (state.writing !== null || state.status === 'Starting' || state.status === 'Stopped') {
    return unchanged(state)
  }
  if (to <= state.ctr) return unchanged(state)
  if (to > LARGEST) return raiseAlarm(kit, state, `epoch ${to} is implausibly large: a register is damaged`)
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
    return { state: stamped, effects: [...stopTimers(kit, state), kit.call.write(0, stamped.own)] }
  }
  const { time } = stamped
  const ended = renews ? { time, effects: NOTHING } : stopActing(time, `it did not renew epoch ${state.ctr}`)
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
    effects: [...stopTimers(kit, state), ...ended.effects, kit.call.write(roundOf(next), next.own)],
  }
}

/** Writes the ballot of phase 1 or the vote of phase 2. */
export function write(kit: Kit, state: EpochsState, now: Micros): EpochsStep {
  if (!kit.core.canWrite(state)) return unchanged(state)
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

/** A write to the own register was acknowledged, or a step of a removal. */
export function handleWritten(kit: Kit, state: EpochsState, now: Micros): EpochsStep {
  if (state.time?.isLeaving === true) return finishLeaving(kit, state, now)
  switch (state.writing) {
    case 'tick':
    case 'renewal': {
      const ticked = kit.core.completeTick(state)
      const { time } = ticked
      if (time === null) return startRound(kit, ticked, now)
      const greatest = Math.max(time.greatest, ticked.ctr)
      const isNew = state.writing === 'tick' && kit.settings.start === 'simple'
      return startRound(
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
      return startRound(kit, kit.core.completeWrite(state), now)
    case 'claim':
      return rest(kit, { ...state, status: 'Suspended', writing: null }, now)
    case 'raise':
      return rest(kit, { ...state, ctr: state.own.ctr, learned: null, writing: null }, now)
    case 'led': {
      const idle: EpochsState = { ...state, writing: null }
      return continueLeading(kit, idle, now)
    }
    case 'release':
      return rest(kit, { ...state, writing: null }, now)
    case 'contend':
      return state.time === null
        ? unchanged({ ...state, writing: null })
        : {
            state: finishContending(kit, state, now),
            effects: [setTimer(LOOK_TIMER, now + constants(kit).settle)],
          }
    case 'bury':
      return handleBuried(kit, state, now)
    case null:
      return unchanged(state)
    default:
      return unreachable(state.writing)
  }
}

/** Reads the blocks that the round needs. A round that needs none is complete at once. */
export function startRound(kit: Kit, state: EpochsState, now: Micros): EpochsStep {
  const missing = kit.core.findMissing(state)
  if (missing.length === 0) return handleRound(kit, state, kit.core.judgeRound(state), now)
  const next = withTime(state, { round: roundOf(state) + 1 })
  return { state: next, effects: kit.call.reads(roundOf(next), missing) }
}

/** A round is complete: acts on the result of the case analysis. */
export function handleRound(kit: Kit, before: EpochsState, after: EpochsState, now: Micros): EpochsStep {
  switch (after.status) {
    case 'Leader':
      return becomeLeader(kit, after, now)
    case 'Suspended': {
      const learned =
        after.learned === null ? [] : [output({ type: 'learned', epoch: after.ctr, leader: after.learned })]
      if (after.time === null) return { state: after, effects: learned }
      const cause =
        after.learned === null ? 'it was overtaken by a higher epoch' : `${after.learned} leads its epoch`
      const ended = stopActing(after.time, cause)
      const hint = after.learned === null ? {} : { hint: after.learned, last: after.learned }
      const resting = rest(kit, { ...after, time: { ...ended.time, ...hint, advancedAt: now } }, now)
      return { state: resting.state, effects: [...learned, ...ended.effects, ...resting.effects] }
    }
    default:
      return scheduleWrite(kit, before, after, now)
  }
}

/** The next step is a ballot or a vote. A node that starts phase 1 again backs off: exponential, with jitter. */
function scheduleWrite(kit: Kit, before: EpochsState, after: EpochsState, now: Micros): EpochsStep {
  const isRetry = before.phase > 0 && after.phase === 1 && !after.diskWritten && before.diskWritten
  const { time } = after
  if (time === null) {
    return { state: after, effects: kit.core.canWrite(after) ? [setTimer(WRITE_TIMER, now)] : NOTHING }
  }
  const { wait, full } = constants(kit)
  const passedPhase0 = before.phase === 0 && after.phase === 1
  const leasesEnd =
    passedPhase0 && kit.settings.start === 'stamps' ? startAfter(time.seen, wait, now) : time.startAt
  const startAt = kit.settings.rules.actsFrom(leasesEnd, now)
  const restarts = isRetry ? time.restarts + 1 : time.restarts
  const longest = full * 2 ** Math.min(restarts, MOST_DOUBLINGS)
  return {
    state: withTime(after, { startAt, restarts }),
    effects: [setTimer(WRITE_TIMER, isRetry ? [now, now + longest] : now)],
  }
}

function becomeLeader(kit: Kit, state: EpochsState, now: Micros): EpochsStep {
  const learned = output({ type: 'learned', epoch: state.ctr, leader: kit.self })
  if (state.time === null) return { state, effects: [learned] }
  const isFirst = state.time.lease === null
  if (isFirst && state.time.candidacy !== 'willing') return resign(kit, state, 'it is not a candidate', now)
  const { partition: before } = state.time
  const partition = isFirst ? withFencing(before, state.ctr, kit.nodes) : before
  const change = takeLease(
    { ...state.time, partition, hint: null, last: kit.self },
    state.ctr,
    constants(kit),
    now,
  )
  const leading: EpochsState = { ...state, time: change.time }
  const effects = [learned, ...change.effects]
  const { own } = leading
  if (own.more === null || moreOf(own).led >= state.ctr - 1) {
    const next = continueLeading(kit, leading, now)
    return { state: next.state, effects: [...effects, ...next.effects] }
  }
  // Needed only after the first election of a term: later, every renewal publishes `led`.
  const next: EpochsState = {
    ...leading,
    own: { ...own, more: { ...own.more, led: state.ctr, term: termOf(leading) } },
    writing: 'led',
  }
  return { state: next, effects: [...effects, kit.call.write(roundOf(next), next.own)] }
}

/** A leader between two renewals: starts the renewal that became due meanwhile, or the next step of a removal. */
export function continueLeading(kit: Kit, state: EpochsState, now: Micros): EpochsStep {
  const time = timeOf(state)
  if (time.isDue) return tick(kit, withTime(state, { isDue: false }), state.ctr + 1, now)
  const task = nextRemovalTask(kit.self, time, state.ctr, constants(kit).wait, now)
  return task === null ? { state, effects: NOTHING } : continueRemoval(kit, state, task)
}

/** A tombstone was written, or a register was deleted. */
function handleBuried(kit: Kit, state: EpochsState, now: Micros): EpochsStep {
  const { removal } = timeOf(state)
  const { of, stage, to } = present(removal, 'removal')
  const isDone = stage === 'delete'
  const next = withTime(
    { ...state, writing: null },
    { removal: isDone ? null : { of, stage: 'wait', to, since: now } },
  )
  const resting = state.status === 'Leader' ? continueLeading(kit, next, now) : rest(kit, next, now)
  return isDone
    ? { state: resting.state, effects: [...resting.effects, output({ type: 'removed', node: of })] }
    : resting
}

/**
 * The store refused to write a tombstone or to delete a register, or the outcome is unknown. The node's own register has
 * not changed, so the node continues. The removal starts again with a read, at the next look or renewal. A write that
 * arrives late does no harm: it takes effect only if the register still holds the block that was read (compare-and-swap).
 */
export function handleBuryFailed(kit: Kit, state: EpochsState, now: Micros): EpochsStep {
  const time = timeOf(state)
  if (time.isLeaving) return finishLeaving(kit, state, now)
  const next = withTime({ ...state, writing: null }, { removal: restartRemoval(time.removal) })
  if (state.status !== 'Leader') return rest(kit, next, now)
  return time.isDue ? continueLeading(kit, next, now) : { state: next, effects: NOTHING }
}
