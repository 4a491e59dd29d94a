/** Looks at the other registers, handles replies to reads, and decides when to start an election. */
import {
  type Effect,
  type Input,
  type Micros,
  NOTHING,
  type NodeId,
  type Plain,
  type RegisterCall,
  setTimer,
  unreachable,
} from '../../core/index.ts'
import { continueLeading, handleBuryFailed, handleRound, handleWritten, startRound, tick } from './ballots.ts'
import { type Block, blockOf, moreOf } from './block.ts'
import {
  AGAIN_TIMER,
  constants,
  type EpochsStep,
  type Kit,
  LOOK_TIMER,
  nodeOrNull,
  raiseAlarm,
  rest,
  roundOf,
  timeOf,
  unchanged,
  withTime,
} from './kit.ts'
import { counterToReach, nextRemovalTask } from './membership.ts'
import { contend, earliestContention, isChosen } from './oracle.ts'
import { bury, continueRemoval, raiseCounter } from './removing.ts'
import { adopt, restart } from './starting.ts'
import type { EpochsState, Removal } from './state.ts'
import { noteBlock, rankOf } from './watching.ts'

/** The nodes of the group have changed: a round in progress starts again, with the registers of all of them. */
export function handleRegrouped(kit: Kit, state: EpochsState, now: Micros): EpochsStep {
  const { seen, hint, last, removal, looking } = timeOf(state)
  const { nodes } = kit
  const next = withTime(state, {
    seen: seen.filter(({ of }) => nodes.includes(of)),
    hint: nodeOrNull(kit, hint),
    last: nodeOrNull(kit, last),
    removal: removal !== null && nodes.includes(removal.of) ? removal : null,
    looking: null,
  })
  if (state.status === 'Starting')
    return { state: next, effects: state.writing === null ? [setTimer(AGAIN_TIMER, now)] : NOTHING }
  if (looking !== null)
    return state.status === 'Leader' ? continueLeading(kit, next, now) : look(kit, next, now)
  return kit.core.findMissing(next).length === 0
    ? { state: next, effects: NOTHING }
    : startRound(kit, next, now)
}

/** Reads all other registers once. */
export function look(kit: Kit, state: EpochsState, now: Micros): EpochsStep {
  if (state.status !== 'Suspended' || state.writing !== null || state.time === null) return unchanged(state)
  if (kit.core.others.length === 0) return finishLook(kit, state, now)
  const next = withTime(state, { round: state.time.round + 1, looking: kit.core.others })
  return { state: next, effects: kit.call.reads(roundOf(next), kit.core.others) }
}

/** All registers have been read: continues a removal, starts an election if it is time, or looks again later. */
function finishLook(kit: Kit, state: EpochsState, now: Micros): EpochsStep {
  const time = timeOf(state)
  const idle = withTime(state, { looking: null })
  const task = nextRemovalTask(kit.self, time, state.ctr, constants(kit).wait, now)
  if (task !== null) return continueRemoval(kit, idle, task)
  const raise = counterToReach(time, state.ctr)
  if (raise !== null) return raiseCounter(kit, idle, raise)
  const { poll } = constants(kit)
  const due = dueAt(kit, idle)
  if (now >= due && time.candidacy === 'willing') return beginElection(kit, idle, now)
  return {
    state: withTime(idle, { contends: false }),
    effects: [setTimer(LOOK_TIMER, due > now ? Math.min(due, now + poll) : now + poll)],
  }
}

/** When this node may start an election, if no counter advances before. */
function dueAt(kit: Kit, state: EpochsState): Micros {
  const { self, nodes, settings } = kit
  const { greatest, advancedAt, isVacant, last, contends } = timeOf(state)
  const { poll, patience, stagger } = constants(kit)
  // If no node has ever ticked, or the last leader has released its lease, there is no lease to wait for.
  const wait = isVacant ? 0 : greatest === 0 ? poll : patience
  switch (settings.order) {
    case 'succession':
      return advancedAt + wait + rankOf(self, last, nodes) * stagger
    case 'oracle': {
      const from = contends ? null : earliestContention(kit, state)
      return Math.max(advancedAt + wait, from ?? Number.NEGATIVE_INFINITY)
    }
    case 'none':
      return advancedAt + wait
    default:
      return unreachable(settings.order)
  }
}

function beginElection(kit: Kit, state: EpochsState, now: Micros): EpochsStep {
  const { greatest, contends } = timeOf(state)
  if (kit.settings.order !== 'oracle') return tick(kit, state, greatest + 1, now)
  if (!contends) return contend(kit, state)
  if (isChosen(kit, state)) return tick(kit, state, greatest + 1, now)
  return rest(kit, withTime(state, { contends: false }), now)
}

function handleRead(
  kit: Kit,
  state: EpochsState,
  from: RegisterCall & { op: 'read' },
  value: Plain,
  now: Micros,
): EpochsStep {
  const { of } = from
  if (state.status === 'Starting') {
    // Replies to abandoned reads are ignored, and the node takes over its register only once.
    const isCurrent = kit.call.roundOf(from) === roundOf(state) && state.writing === null
    return of === kit.self && isCurrent ? adopt(kit, state, value, now) : unchanged(state)
  }
  const block = blockOf(value)
  if (block === null) return raiseAlarm(kit, state, `the register of ${of} does not hold a valid block`)
  if (state.time === null) {
    return kit.core.findMissing(state).includes(of)
      ? handleBlock(kit, state, of, block, now)
      : unchanged(state)
  }
  if (!kit.settings.rules.acceptsReply(kit.call.roundOf(from), state.time.round)) return unchanged(state)
  const time = noteBlock(state.time, of, block, now)
  if (typeof time === 'string') return raiseAlarm(kit, state, time)
  const seen = time === state.time ? state : { ...state, time }
  if (time.looking !== null) {
    if (time.removal?.stage === 'read' && time.removal.of === of) {
      const was = state.time.seen.find((other) => other.of === of)
      return handleRemovalRead(kit, seen, block, was?.gone === true, now)
    }
    const looking = time.looking.filter((id) => id !== of)
    const next = withTime(seen, { looking })
    return looking.length === 0 ? finishLook(kit, next, now) : { state: next, effects: NOTHING }
  }
  return kit.core.findMissing(seen).includes(of)
    ? handleBlock(kit, seen, of, block, now)
    : { state: seen, effects: NOTHING }
}

/** Handles the block of the node that is being removed. Another node may be ahead with the same removal. */
function handleRemovalRead(
  kit: Kit,
  state: EpochsState,
  block: Block,
  wasTombstone: boolean,
  now: Micros,
): EpochsStep {
  const { removal } = timeOf(state)
  if (removal === null) return unchanged(state)
  if (wasTombstone && block.ctr === 0) {
    // Another node has deleted the register.
    return restOrContinue(kit, withTime(state, { looking: null, removal: null }), now)
  }
  if (moreOf(block).gone) {
    const next: Removal = { of: removal.of, stage: 'wait', to: block.ctr, since: now }
    return restOrContinue(kit, withTime(state, { looking: null, removal: next }), now)
  }
  return bury(kit, state, block)
}

function restOrContinue(kit: Kit, state: EpochsState, now: Micros): EpochsStep {
  return state.status === 'Leader' ? continueLeading(kit, state, now) : rest(kit, state, now)
}

function handleBlock(kit: Kit, state: EpochsState, of: NodeId, block: Block, now: Micros): EpochsStep {
  const after = kit.core.addBlock(state, of, block)
  const isComplete = state.read.length + 1 === kit.core.others.length
  return isComplete ? handleRound(kit, state, after, now) : { state: after, effects: NOTHING }
}

export function handleReply(
  kit: Kit,
  state: EpochsState,
  input: Input & { type: 'register' },
  now: Micros,
): EpochsStep {
  const { call: from, outcome, value } = input
  if (state.status === 'Stopped') return unchanged(state)
  if (from.op !== 'read') {
    if (state.writing === null) return unchanged(state)
    if (outcome === 'ok') return handleWritten(kit, state, now)
    return from.op === 'bury'
      ? handleBuryFailed(kit, state, now)
      : restart(kit, state, 'the outcome of its write is unknown', now)
  }
  if (outcome === 'ok') return handleRead(kit, state, from, value, now)
  if (state.status === 'Starting') return { state, effects: [retryTimer(kit, now)] }
  // A failed read is retried in the same round.
  const isOld = kit.call.roundOf(from) !== roundOf(state)
  if (isOld || !findAwaited(kit, state).includes(from.of)) return unchanged(state)
  // Never at once: an unreachable store may fail at once, and the node would do nothing else.
  return { state, effects: state.time === null ? kit.call.reads(0, [from.of]) : [retryTimer(kit, now)] }
}

/** Reads the registers that the round still waits for again. */
export function readAgain(kit: Kit, state: EpochsState): EpochsStep {
  if (state.status === 'Stopped' || state.writing !== null) return unchanged(state)
  if (state.status === 'Starting') {
    const next = withTime(state, { round: timeOf(state).round + 1 })
    return { state: next, effects: kit.call.reads(roundOf(next), [kit.self]) }
  }
  const of = findAwaited(kit, state)
  return of.length === 0 ? unchanged(state) : { state, effects: kit.call.reads(roundOf(state), of) }
}

function findAwaited(kit: Kit, state: EpochsState): readonly NodeId[] {
  return state.time?.looking ?? kit.core.findMissing(state)
}

/** With jitter, so that nodes that lost the same store do not retry in step. */
function retryTimer(kit: Kit, now: Micros): Effect<never> {
  const { access } = constants(kit)
  return setTimer(AGAIN_TIMER, [now + Math.ceil(access / 2), now + access])
}
