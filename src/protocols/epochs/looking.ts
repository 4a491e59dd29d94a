/** Looking around: what is read, for whom, and whether it is time to begin an election. */
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
import { acknowledged, goesOn, judged, newRound, notBuried, tick } from './ballots.ts'
import { type Block, blockOf, moreOf } from './block.ts'
import {
  AGAIN_TIMER,
  alarmed,
  among,
  constants,
  type EpochsStep,
  type Kit,
  LOOK_TIMER,
  rest,
  roundOf,
  timed,
  unchanged,
  withTime,
} from './kit.ts'
import { nextOfRemoval, raisedTo } from './membership.ts'
import { contend, isChosen, mayContendAt } from './oracle.ts'
import { burying, raised, removing } from './removing.ts'
import { adopt, startAgain } from './starting.ts'
import type { EpochsState, Removal } from './state.ts'
import { noted, rankOf } from './watching.ts'

/** Others belong to the group than before: whatever was being read is read again, of all of them. */
export function regrouped(kit: Kit, state: EpochsState, now: Micros): EpochsStep {
  const { seen, hint, last, removal, looking } = timed(state)
  const { nodes } = kit
  const next = withTime(state, {
    seen: seen.filter(({ of }) => nodes.includes(of)),
    hint: among(kit, hint),
    last: among(kit, last),
    removal: removal !== null && nodes.includes(removal.of) ? removal : null,
    looking: null,
  })
  if (state.status === 'Starting')
    return { state: next, effects: state.writing === null ? [setTimer(AGAIN_TIMER, now)] : NOTHING }
  if (looking !== null) return state.status === 'Leader' ? goesOn(kit, next, now) : look(kit, next, now)
  return kit.core.missing(next).length === 0 ? { state: next, effects: NOTHING } : newRound(kit, next, now)
}

export function look(kit: Kit, state: EpochsState, now: Micros): EpochsStep {
  if (state.status !== 'Suspended' || state.writing !== null || state.time === null) return unchanged(state)
  if (kit.core.others.length === 0) return looked(kit, state, now)
  const next = withTime(state, { round: state.time.round + 1, looking: kit.core.others })
  return { state: next, effects: kit.call.reads(roundOf(next), kit.core.others) }
}

/** All registers were seen once more: is it time to tick? */
function looked(kit: Kit, state: EpochsState, now: Micros): EpochsStep {
  const time = timed(state)
  const idle = withTime(state, { looking: null })
  const task = nextOfRemoval(kit.self, time, state.ctr, constants(kit).wait, now)
  if (task !== null) return removing(kit, idle, task)
  const raise = raisedTo(time, state.ctr)
  if (raise !== null) return raised(kit, idle, raise)
  const { poll } = constants(kit)
  const due = dueAt(kit, idle)
  if (now >= due && time.campaign === 'stands') return begins(kit, idle, now)
  return {
    state: withTime(idle, { contends: false }),
    effects: [setTimer(LOOK_TIMER, due > now ? Math.min(due, now + poll) : now + poll)],
  }
}

/** When it is this node's turn to begin an election, should nothing advance before. */
function dueAt(kit: Kit, state: EpochsState): Micros {
  const { self, nodes, settings } = kit
  const { greatest, advancedAt, isVacant, last, contends } = timed(state)
  const { poll, patience, stagger } = constants(kit)
  // Where nobody has ever ticked, and where the last leader has given its lease up, there is none to wait for.
  const wait = isVacant ? 0 : greatest === 0 ? poll : patience
  switch (settings.turns) {
    case 'succession':
      return advancedAt + wait + rankOf(self, last, nodes) * stagger
    case 'oracle': {
      const from = contends ? null : mayContendAt(kit, state)
      return Math.max(advancedAt + wait, from ?? Number.NEGATIVE_INFINITY)
    }
    case 'none':
      return advancedAt + wait
    default:
      return unreachable(settings.turns)
  }
}

function begins(kit: Kit, state: EpochsState, now: Micros): EpochsStep {
  const { greatest, contends } = timed(state)
  if (kit.settings.turns !== 'oracle') return tick(kit, state, greatest + 1, now)
  if (!contends) return contend(kit, state)
  if (isChosen(kit, state)) return tick(kit, state, greatest + 1, now)
  return rest(kit, withTime(state, { contends: false }), now)
}

function readBack(
  kit: Kit,
  state: EpochsState,
  from: RegisterCall & { op: 'read' },
  value: Plain,
  now: Micros,
): EpochsStep {
  const { of } = from
  if (state.status === 'Starting') {
    // A reply to a read that was given up says nothing, and the register is taken over once.
    const isCurrent = kit.call.roundOf(from) === roundOf(state) && state.writing === null
    return of === kit.self && isCurrent ? adopt(kit, state, value, now) : unchanged(state)
  }
  const block = blockOf(value)
  if (block === null) return alarmed(kit, state, `the register of ${of} holds no block that can be read`)
  if (state.time === null) {
    return kit.core.missing(state).includes(of) ? taken(kit, state, of, block, now) : unchanged(state)
  }
  if (!kit.settings.rules.acceptsReply(kit.call.roundOf(from), state.time.round)) return unchanged(state)
  const time = noted(state.time, of, block, now)
  if (typeof time === 'string') return alarmed(kit, state, time)
  const seen = time === state.time ? state : { ...state, time }
  if (time.looking !== null) {
    if (time.removal?.stage === 'read' && time.removal.of === of) {
      const was = state.time.seen.find((other) => other.of === of)
      return removalRead(kit, seen, block, was?.gone === true, now)
    }
    const looking = time.looking.filter((id) => id !== of)
    const next = withTime(seen, { looking })
    return looking.length === 0 ? looked(kit, next, now) : { state: next, effects: NOTHING }
  }
  return kit.core.missing(seen).includes(of)
    ? taken(kit, seen, of, block, now)
    : { state: seen, effects: NOTHING }
}

/** The register of the node that is being removed was read. Another node may have been there before. */
function removalRead(
  kit: Kit,
  state: EpochsState,
  block: Block,
  wasTombstone: boolean,
  now: Micros,
): EpochsStep {
  const { removal } = timed(state)
  if (removal === null) return unchanged(state)
  if (wasTombstone && block.ctr === 0) {
    // Deleted since.
    return restOrLead(kit, withTime(state, { looking: null, removal: null }), now)
  }
  if (moreOf(block).gone) {
    const next: Removal = { of: removal.of, stage: 'wait', to: block.ctr, since: now }
    return restOrLead(kit, withTime(state, { looking: null, removal: next }), now)
  }
  return burying(kit, state, block)
}

function restOrLead(kit: Kit, state: EpochsState, now: Micros): EpochsStep {
  return state.status === 'Leader' ? goesOn(kit, state, now) : rest(kit, state, now)
}

function taken(kit: Kit, state: EpochsState, of: NodeId, block: Block, now: Micros): EpochsStep {
  const after = kit.core.took(state, of, block)
  const isComplete = state.read.length + 1 === kit.core.others.length
  return isComplete ? judged(kit, state, after, now) : { state: after, effects: NOTHING }
}

export function onReply(
  kit: Kit,
  state: EpochsState,
  input: Input & { type: 'register' },
  now: Micros,
): EpochsStep {
  const { call: from, outcome, value } = input
  if (state.status === 'Stopped') return unchanged(state)
  if (from.op !== 'read') {
    if (state.writing === null) return unchanged(state)
    if (outcome === 'ok') return acknowledged(kit, state, now)
    return from.op === 'bury'
      ? notBuried(kit, state, now)
      : startAgain(kit, state, 'nobody knows what became of its write', now)
  }
  if (outcome === 'ok') return readBack(kit, state, from, value, now)
  if (state.status === 'Starting') return { state, effects: [again(kit, now)] }
  // A read can be tried again; the round goes on.
  const isOld = kit.call.roundOf(from) !== roundOf(state)
  if (isOld || !wanted(kit, state).includes(from.of)) return unchanged(state)
  // Never at once: a store that cannot be reached fails at once, too, and nothing else would ever happen.
  return { state, effects: state.time === null ? kit.call.reads(0, [from.of]) : [again(kit, now)] }
}

/** What the round still waits for is read once more. */
export function readAgain(kit: Kit, state: EpochsState): EpochsStep {
  if (state.status === 'Stopped' || state.writing !== null) return unchanged(state)
  if (state.status === 'Starting') {
    const next = withTime(state, { round: timed(state).round + 1 })
    return { state: next, effects: kit.call.reads(roundOf(next), [kit.self]) }
  }
  const of = wanted(kit, state)
  return of.length === 0 ? unchanged(state) : { state, effects: kit.call.reads(roundOf(state), of) }
}

function wanted(kit: Kit, state: EpochsState): readonly NodeId[] {
  return state.time?.looking ?? kit.core.missing(state)
}

/** Nodes that lost the same store do not come back in step. */
function again(kit: Kit, now: Micros): Effect<never> {
  const { access } = constants(kit)
  return setTimer(AGAIN_TIMER, [now + Math.ceil(access / 2), now + access])
}
