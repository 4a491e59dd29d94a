/**
 * Election in shared memory: n registers, each written by one node and read by all.
 *
 * The election itself stands in election.ts and knows neither time nor calls. This file turns its steps into calls on
 * registers and timers, and adds what the paper leaves to its reader: who ticks when (a leader every T; a follower only
 * when no counter has advanced for longer than any lease), what becomes of a write whose outcome nobody knows (the node
 * behaves as if it had crashed), the lease (lease.ts), and the alarm on a store that is no register.
 *
 * Without `timing` there is no time: nodes tick when they are told to, and nothing else happens by itself.
 */
import {
  type Effect,
  type Identity,
  type Input,
  type Micros,
  NOTHING,
  type NodeId,
  output,
  type Plain,
  type Protocol,
  persist,
  present,
  type RegisterCall,
  type Step,
  setTimer,
  stopTimer,
  unlessSame,
  unreachable,
  type View,
} from '../../core/index.ts'
import { type Block, blockOf, LARGEST, moreOf, ZERO } from './block.ts'
import { calls } from './calls.ts'
import { election, type Rules } from './election.ts'
import { begun, isActing, RENEW_TIMER, START_TIMER, STOP_TIMER, slept, stopped, won } from './lease.ts'
import { begunAgain, nextOfRemoval, raisedTo, type Task } from './membership.ts'
import type { EpochsCommand } from './options.ts'
import { confirmed, fence, isPrimary, NO_PARTITION } from './partition.ts'
import type { EpochsState, Timed } from './state.ts'
import type { Timing } from './timing.ts'
import { noted, rankOf, shiftedTime, startAfter } from './watching.ts'

export type EpochsSettings = Rules & {
  readonly timing: Timing | null
  readonly start: 'stamps' | 'simple'
}

type EpochsStep = Step<EpochsState, never>
type Effects = readonly Effect<never>[]

/** The next write of phase 1 or 2 is due. */
export const WRITE_TIMER = 'write'
const LOOK_TIMER = 'look'
const AGAIN_TIMER = 'again'
/** Doubling a wait more often than this helps nobody. */
const MOST_DOUBLINGS = 6

export function epochs(
  identity: Identity,
  settings: EpochsSettings,
): Protocol<EpochsState, never, EpochsCommand> {
  const { self, nodes } = identity
  const { timing, misreading } = settings
  const core = election(identity, settings)
  const call = calls(identity)

  /** For what happens only where there is time. */
  function timed({ time }: EpochsState): Timed {
    return present(time, 'time')
  }

  function constants(): Timing {
    return present(timing, 'timing')
  }

  function withTime(state: EpochsState, change: Partial<Timed>): EpochsState {
    return state.time === null ? state : { ...state, time: { ...state.time, ...change } }
  }

  function roundOf({ time }: EpochsState): number {
    return time?.round ?? 0
  }

  // Starting

  function begin(stable: Plain, now: Micros): EpochsStep {
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
      time: timing === null ? null : newTime(now),
    }
    return { state, effects: call.reads(0, [self]) }
  }

  /** A write may have taken place or not: as after a crash, only the register knows. */
  function startAgain(state: EpochsState, cause: string, now: Micros): EpochsStep {
    const ended = stopped(timed(state), cause)
    const next = core.suspended(state, null)
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
          hint: null,
          removal: begunAgain(ended.time.removal),
        },
      },
      effects: [...quiet(state), ...ended.effects, setTimer(AGAIN_TIMER, now + constants().access)],
    }
  }

  /** Takes the own register over: what it holds is where this node stands. */
  function adopt(state: EpochsState, value: Plain, now: Micros): EpochsStep {
    const block = blockOf(value)
    if (block === null) return alarmed(state, `the own register holds no block that can be read`)
    const ctr = misreading === 'forgotten-counter' ? 0 : block.ctr
    if (state.time === null) {
      return { state: { ...state, status: 'Suspended', ctr, own: block }, effects: NOTHING }
    }
    const more = moreOf(block)
    if (more.gone) return alarmed(state, `${self} was removed from this group`)
    const own: Block = { ...block, more: { ...more, inc: more.inc + 1 } }
    // The lease of this node's former life may still be used by somebody who does not know that it is over.
    const former =
      state.time.round === 0 && more.lctr > 0
        ? [{ of: self, ctr, pbal: block.pbal, lctr: more.lctr, lbal: more.lbal, gone: false, at: now }]
        : state.time.seen
    const greatest = Math.max(state.time.greatest, ctr)
    const next = withTime({ ...state, ctr, own, writing: 'claim' }, { seen: former, greatest })
    return { state: next, effects: [call.write(roundOf(next), own)] }
  }

  function alarmed(state: EpochsState, alarm: string): EpochsStep {
    const ended = state.time === null ? { time: null, effects: [] } : stopped(state.time, alarm)
    return {
      state: {
        ...core.suspended(state, null),
        status: 'Stopped',
        phase: 0,
        diskWritten: false,
        read: [],
        time: ended.time === null ? null : { ...ended.time, looking: null, alarm, hint: null },
      },
      effects: [...quiet(state), ...ended.effects, output({ type: 'alarm', why: alarm })],
    }
  }

  /** Timers of what the node was about to do. */
  function quiet(state: EpochsState): Effects {
    const due = core.mayWrite(state) ? [stopTimer(WRITE_TIMER)] : []
    return state.time === null ? due : [...due, stopTimer(LOOK_TIMER), stopTimer(RENEW_TIMER)]
  }

  // The election

  function tick(state: EpochsState, to: number, now: Micros): EpochsStep {
    if (state.writing !== null || state.status === 'Starting' || state.status === 'Stopped') {
      return unchanged(state)
    }
    if (to <= state.ctr) return unchanged(state)
    if (to > LARGEST) return alarmed(state, `epoch ${to} is beyond reason: a register holds damage`)
    const ticking = core.tick(state, to)
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
      return { state: stamped, effects: [...quiet(state), call.write(0, stamped.own)] }
    }
    const { time } = stamped
    const ended = renews ? { time, effects: NOTHING } : stopped(time, `its epoch ${state.ctr} was missed`)
    const next = withTime(
      { ...stamped, time: ended.time },
      { w: now, looking: null, isDue: false, restarts: 0, ...(renews ? {} : { hint: null }) },
    )
    return {
      state: next,
      effects: [...quiet(state), ...ended.effects, call.write(roundOf(next), next.own)],
    }
  }

  /** The write of phase 1 or 2 that is due. */
  function write(state: EpochsState, now: Micros): EpochsStep {
    if (!core.mayWrite(state)) return unchanged(state)
    const writing = core.write(state)
    const { own } = writing
    const isVote = writing.writing === 'vote'
    const more =
      own.more !== null && isVote && own.val === self
        ? { ...own.more, lctr: writing.ctr, lbal: own.bal }
        : own.more
    const next = withTime({ ...writing, own: { ...own, more } }, isVote ? { w: now } : {})
    return { state: next, effects: [call.write(roundOf(next), next.own)] }
  }

  function acknowledged(state: EpochsState, now: Micros): EpochsStep {
    if (state.time?.isLeaving === true) return left(state, now)
    switch (state.writing) {
      case 'tick':
      case 'renewal': {
        const ticked = core.ticked(state)
        const { time } = ticked
        if (time === null) return newRound(ticked, now)
        const greatest = Math.max(time.greatest, ticked.ctr)
        const isNew = state.writing === 'tick' && settings.start === 'simple'
        return newRound(
          withTime(ticked, {
            greatest,
            advancedAt: now,
            ...(isNew ? { startAt: now + constants().wait } : {}),
          }),
          now,
        )
      }
      case 'ballot':
      case 'vote':
        return newRound(core.written(state), now)
      case 'claim':
        return rest({ ...state, status: 'Suspended', writing: null }, now)
      case 'raise':
        return rest({ ...state, ctr: state.own.ctr, learned: null, writing: null }, now)
      case 'led': {
        const idle: EpochsState = { ...state, writing: null }
        return goesOn(idle, now)
      }
      case 'bury':
        return buried(state, now)
      case null:
        return unchanged(state)
      default:
        return unreachable(state.writing)
    }
  }

  /** Reads what the round lacks; a round that lacks nothing is judged at once. */
  function newRound(state: EpochsState, now: Micros): EpochsStep {
    const missing = core.missing(state)
    if (missing.length === 0) return judged(state, core.judged(state), now)
    const next = withTime(state, { round: roundOf(state) + 1 })
    return { state: next, effects: call.reads(roundOf(next), missing) }
  }

  /** What follows from the case analysis, once a round was complete. */
  function judged(before: EpochsState, after: EpochsState, now: Micros): EpochsStep {
    switch (after.status) {
      case 'Leader':
        return leads(after, now)
      case 'Suspended': {
        const told =
          after.learned === null ? [] : [output({ type: 'learned', epoch: after.ctr, leader: after.learned })]
        if (after.time === null) return { state: after, effects: told }
        const cause =
          after.learned === null ? 'it was overtaken by a higher epoch' : `${after.learned} leads its epoch`
        const ended = stopped(after.time, cause)
        const hint = after.learned === null ? {} : { hint: after.learned, last: after.learned }
        const resting = rest({ ...after, time: { ...ended.time, ...hint, advancedAt: now } }, now)
        return { state: resting.state, effects: [...told, ...ended.effects, ...resting.effects] }
      }
      default:
        return toWrite(before, after, now)
    }
  }

  /** A ballot or a vote is next. Whoever begins anew gives the others time, more each time. */
  function toWrite(before: EpochsState, after: EpochsState, now: Micros): EpochsStep {
    const isAnew = before.phase > 0 && after.phase === 1 && !after.diskWritten && before.diskWritten
    const { time } = after
    if (time === null) {
      return { state: after, effects: core.mayWrite(after) ? [setTimer(WRITE_TIMER, now)] : NOTHING }
    }
    const { wait, full } = constants()
    const passedPhase0 = before.phase === 0 && after.phase === 1
    const startAt =
      misreading === 'no-start'
        ? now
        : passedPhase0 && settings.start === 'stamps'
          ? startAfter(time.seen, wait, now)
          : time.startAt
    const restarts = isAnew ? time.restarts + 1 : time.restarts
    const longest = full * 2 ** Math.min(restarts, MOST_DOUBLINGS)
    return {
      state: withTime(after, { startAt, restarts }),
      effects: [setTimer(WRITE_TIMER, isAnew ? [now, now + longest] : now)],
    }
  }

  function leads(state: EpochsState, now: Micros): EpochsStep {
    const told = output({ type: 'learned', epoch: state.ctr, leader: self })
    if (state.time === null) return { state, effects: [told] }
    const isFirst = state.time.lead === null
    if (isFirst && state.time.campaign !== 'stands') return resigned(state, 'it does not stand', now)
    const toFence = isFirst
      ? fence(state.time, state.ctr, nodes)
      : { partition: state.time.partition, effects: [] }
    const change = won(
      { ...state.time, partition: toFence.partition, hint: null, last: self },
      state.ctr,
      constants(),
      now,
    )
    const leading: EpochsState = { ...state, time: change.time }
    const effects = [told, ...toFence.effects, ...change.effects]
    const { own } = leading
    if (own.more === null || moreOf(own).led >= state.ctr - 1) {
      const next = goesOn(leading, now)
      return { state: next.state, effects: [...effects, ...next.effects] }
    }
    // Only after a first election: from then on each renewal says it.
    const next: EpochsState = {
      ...leading,
      own: { ...own, more: { ...own.more, led: state.ctr, term: termOf(leading) } },
      writing: 'led',
    }
    return { state: next, effects: [...effects, call.write(roundOf(next), next.own)] }
  }

  /** What a leader does between two renewals: the one that fell due meanwhile, or a step of a removal. */
  function goesOn(state: EpochsState, now: Micros): EpochsStep {
    const time = timed(state)
    if (time.isDue) return tick(withTime(state, { isDue: false }), state.ctr + 1, now)
    const task = nextOfRemoval(time, state.ctr, constants().wait, now)
    return task === null ? { state, effects: NOTHING } : removing(state, task)
  }

  function termOf({ time }: EpochsState): number {
    return time?.lead?.token ?? 0
  }

  // Whether it stands

  /** Gives up its lead, or what it does to get one; at once, though what it writes may still be under way. */
  function resigned(state: EpochsState, cause: string, now: Micros): EpochsStep {
    const ended = stopped(timed(state), cause)
    if (state.writing !== null) {
      return { state: { ...state, time: { ...ended.time, isLeaving: true } }, effects: ended.effects }
    }
    const time = { ...ended.time, isLeaving: false, isDue: false, looking: null, advancedAt: now }
    const resting = rest({ ...core.suspended(state, null), time }, now)
    return { state: resting.state, effects: [...quiet(state), ...ended.effects, ...resting.effects] }
  }

  /** What it wrote when it gave up is written. */
  function left(state: EpochsState, now: Micros): EpochsStep {
    const ticks = state.writing === 'tick' || state.writing === 'renewal'
    const done = ticks ? core.ticked(state) : { ...state, writing: null }
    const greatest = Math.max(timed(state).greatest, done.ctr)
    const removal = begunAgain(timed(state).removal)
    return resigned(withTime(done, { greatest, removal }), 'it stepped down', now)
  }

  function campaigns(state: EpochsState, campaign: Timed['campaign'], now: Micros): EpochsStep {
    const before = timed(state).campaign
    if (before === campaign) return unchanged(state)
    const next = withTime(state, { campaign })
    const { status } = state
    const isElecting = status === 'Leader' || status === 'PreviousLeader' || status === 'Participant'
    if (campaign === 'aside' && isElecting) return resigned(next, 'it stepped down', now)
    // What was not renewed may be renewed again.
    const renew = campaign === 'stands' && status === 'Leader' ? [setTimer(RENEW_TIMER, now)] : NOTHING
    return { state: next, effects: renew }
  }

  /** Others belong to the group than before: whatever was being read is read again, of all of them. */
  function regrouped(state: EpochsState, now: Micros): EpochsStep {
    const { seen, hint, last, removal, looking } = timed(state)
    const among = (id: NodeId | null): NodeId | null => (id !== null && nodes.includes(id) ? id : null)
    const next = withTime(state, {
      seen: seen.filter(({ of }) => nodes.includes(of)),
      hint: among(hint),
      last: among(last),
      removal: removal !== null && nodes.includes(removal.of) ? removal : null,
      looking: null,
    })
    if (state.status === 'Starting') return { state: next, effects: [setTimer(AGAIN_TIMER, now)] }
    if (looking !== null) return state.status === 'Leader' ? goesOn(next, now) : look(next, now)
    return core.missing(next).length === 0 ? { state: next, effects: NOTHING } : newRound(next, now)
  }

  // Looking around

  /** Nothing to do in this epoch any more: watch the others. */
  function rest(state: EpochsState, now: Micros): EpochsStep {
    if (state.time === null) return { state, effects: NOTHING }
    return { state, effects: [setTimer(LOOK_TIMER, now + constants().poll)] }
  }

  function look(state: EpochsState, now: Micros): EpochsStep {
    if (state.status !== 'Suspended' || state.writing !== null || state.time === null) return unchanged(state)
    if (core.others.length === 0) return looked(state, now)
    const next = withTime(state, { round: state.time.round + 1, looking: core.others })
    return { state: next, effects: call.reads(roundOf(next), core.others) }
  }

  /** All registers were seen once more: is it time to tick? */
  function looked(state: EpochsState, now: Micros): EpochsStep {
    const time = timed(state)
    const idle = withTime(state, { looking: null })
    const task = nextOfRemoval(time, state.ctr, constants().wait, now)
    if (task !== null) return removing(idle, task)
    const raise = raisedTo(time, state.ctr)
    if (raise !== null) return raised(idle, raise)
    const { poll, patience, full } = constants()
    // Where nobody has ever ticked there is no lease to wait for.
    const wait = time.greatest === 0 ? poll : patience
    const due = time.advancedAt + wait + rankOf(self, time.last, nodes) * full
    if (now >= due && time.campaign === 'stands') return tick(idle, time.greatest + 1, now)
    return {
      state: idle,
      effects: [setTimer(LOOK_TIMER, due > now ? Math.min(due, now + poll) : now + poll)],
    }
  }

  function readBack(
    state: EpochsState,
    from: RegisterCall & { op: 'read' },
    value: Plain,
    now: Micros,
  ): EpochsStep {
    const { of } = from
    if (state.status === 'Starting') return of === self ? adopt(state, value, now) : unchanged(state)
    const block = blockOf(value)
    if (block === null) return alarmed(state, `the register of ${of} holds no block that can be read`)
    if (state.time === null) {
      return core.missing(state).includes(of) ? taken(state, of, block, now) : unchanged(state)
    }
    const isOld = call.roundOf(from) !== state.time.round
    if (isOld && misreading !== 'no-rounds') return unchanged(state)
    const time = noted(state.time, of, block, now)
    if (typeof time === 'string') return alarmed(state, time)
    const seen = time === state.time ? state : { ...state, time }
    if (time.looking !== null) {
      if (time.removal?.stage === 'read' && time.removal.of === of) return burying(seen, block)
      const looking = time.looking.filter((id) => id !== of)
      const next = withTime(seen, { looking })
      return looking.length === 0 ? looked(next, now) : { state: next, effects: NOTHING }
    }
    return core.missing(seen).includes(of) ? taken(seen, of, block, now) : { state: seen, effects: NOTHING }
  }

  function taken(state: EpochsState, of: NodeId, block: Block, now: Micros): EpochsStep {
    const after = core.took(state, of, block)
    const isComplete = state.read.length + 1 === core.others.length
    return isComplete ? judged(state, after, now) : { state: after, effects: NOTHING }
  }

  function onReply(state: EpochsState, input: Input & { type: 'register' }, now: Micros): EpochsStep {
    const { call: from, outcome, value } = input
    if (state.status === 'Stopped') return unchanged(state)
    if (from.op !== 'read') {
      if (state.writing === null) return unchanged(state)
      return outcome === 'ok'
        ? acknowledged(state, now)
        : startAgain(state, 'nobody knows what became of its write', now)
    }
    if (outcome === 'ok') return readBack(state, from, value, now)
    if (state.status === 'Starting')
      return { state, effects: [setTimer(AGAIN_TIMER, now + constants().access)] }
    // A read can be tried again; the round goes on.
    const isOld = call.roundOf(from) !== roundOf(state)
    const isWanted = (state.time?.looking ?? core.missing(state)).includes(from.of)
    return isOld || !isWanted ? unchanged(state) : { state, effects: call.reads(roundOf(state), [from.of]) }
  }

  // Membership

  function removing(state: EpochsState, task: Task): EpochsStep {
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

  /** The tombstone: in the name of a process that is gone, its counter goes beyond every epoch that anybody has seen. */
  function burying(state: EpochsState, block: Block): EpochsStep {
    const { removal, greatest } = timed(state)
    const { of } = present(removal, 'removal')
    const to = Math.max(greatest, block.ctr) + 1
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
      { looking: null, removal: { of, stage: 'tombstone', to } },
    )
    return { state: next, effects: [call.bury(roundOf(next), of, tombstone)] }
  }

  function buried(state: EpochsState, now: Micros): EpochsStep {
    const { removal } = timed(state)
    const { of, stage, to } = present(removal, 'removal')
    const isDone = stage === 'delete'
    const next = withTime({ ...state, writing: null }, { removal: isDone ? null : { of, stage: 'wait', to } })
    const resting = state.status === 'Leader' ? goesOn(next, now) : rest(next, now)
    return isDone
      ? { state: resting.state, effects: [...resting.effects, output({ type: 'removed', node: of })] }
      : resting
  }

  /** A step that takes no part in any election: only so that a tombstone can be deleted. */
  function raised(state: EpochsState, to: number): EpochsStep {
    const own: Block = { ...state.own, ctr: to, bal: 0, val: null }
    const next: EpochsState = { ...state, own, writing: 'raise' }
    return { state: next, effects: [call.write(roundOf(next), own)] }
  }

  // Everything else

  function onTimer(state: EpochsState, name: string, now: Micros): EpochsStep {
    if (name === WRITE_TIMER) return write(state, now)
    if (state.time === null) return unchanged(state)
    switch (name) {
      case LOOK_TIMER:
        return look(state, now)
      case AGAIN_TIMER: {
        if (state.status !== 'Starting') return unchanged(state)
        const next = withTime(state, { round: state.time.round + 1 })
        return { state: next, effects: call.reads(roundOf(next), [self]) }
      }
      case RENEW_TIMER:
        if (state.status !== 'Leader' || state.time.campaign === 'lapses') return unchanged(state)
        return state.writing === null
          ? tick(state, state.ctr + 1, now)
          : { state: withTime(state, { isDue: true }), effects: NOTHING }
      case START_TIMER:
        return changed(state, begun(state.time, now))
      case STOP_TIMER: {
        const { lead } = state.time
        if (lead === null) return unchanged(state)
        if (lead.until > now) return { state, effects: [setTimer(STOP_TIMER, lead.until)] }
        return state.time.campaign === 'stands'
          ? changed(state, stopped(state.time, 'its lease ran out'))
          : resigned(state, 'its lease ran out', now)
      }
      default:
        return unchanged(state)
    }
  }

  function changed(
    state: EpochsState,
    { time, effects }: { readonly time: Timed; readonly effects: Effects },
  ): EpochsStep {
    return { state: time === state.time ? state : { ...state, time }, effects }
  }

  function onCommand(state: EpochsState, command: EpochsCommand, now: Micros): EpochsStep {
    if (command.do === 'tick') return tick(state, command.to ?? state.ctr + 1, now)
    if (state.time === null || state.status === 'Stopped') return unchanged(state)
    switch (command.do) {
      case 'stepDown': {
        const isLeader = state.status === 'Leader' || state.status === 'PreviousLeader'
        return isLeader || state.time.lead !== null
          ? resigned(state, 'it stepped down', now)
          : unchanged(state)
      }
      case 'campaign':
        return campaigns(state, command.willing ? 'stands' : command.lapse ? 'lapses' : 'aside', now)
      case 'regrouped':
        return regrouped(state, now)
      case 'remove': {
        if (command.of === self || state.time.removal !== null) return unchanged(state)
        return {
          state: withTime(state, { removal: { of: command.of, stage: 'read', to: 0 } }),
          effects: NOTHING,
        }
      }
      case 'view':
        return viewed(state, command.members, now)
      case 'fenced': {
        const partition = confirmed(state.time.partition, command.of, command.token)
        if (partition === state.time.partition) return unchanged(state)
        return changed(state, begun({ ...state.time, partition }, now))
      }
      default:
        return unreachable(command)
    }
  }

  /** Who can be talked to has changed: a leader fences again, with the epoch it is in by now. */
  function viewed(state: EpochsState, members: readonly NodeId[], now: Micros): EpochsStep {
    const time = timed(state)
    const view = nodes.filter((id) => id === self || members.includes(id))
    const was = time.partition.view
    if (was !== null && was.length === view.length && was.every((id) => view.includes(id)))
      return unchanged(state)
    const partition = { ...time.partition, view }
    if (time.lead === null) return { state: withTime(state, { partition }), effects: NOTHING }
    const toFence = fence({ ...time, partition }, state.ctr, nodes)
    const next = { ...time, partition: toFence.partition }
    if (toFence.effects.length === 0) return changed(state, begun(next, now))
    // It serves nobody until all of them are fenced; the lease itself goes on.
    const told = time.lead.acting
      ? [output({ type: 'demoted', cause: 'its view has changed: it fences first' })]
      : []
    const lead = { ...time.lead, acting: false, token: state.ctr }
    return { state: { ...state, time: { ...next, lead } }, effects: [...told, ...toFence.effects] }
  }

  function react(state: EpochsState, input: Input<never, EpochsCommand>, now: Micros): EpochsStep {
    switch (input.type) {
      case 'register':
        return onReply(state, input, now)
      case 'timer':
        return onTimer(state, input.name, now)
      case 'command':
        return onCommand(state, input.command, now)
      case 'suspended': {
        if (state.time === null) return unchanged(state)
        const time = slept(state.time, input.by)
        const isOver = time.lead !== null && time.lead.until <= now
        return changed(
          state,
          isOver ? stopped(time, 'its clock stood still for too long') : { time, effects: NOTHING },
        )
      }
      case 'message':
      case 'link':
        return unchanged(state)
      default:
        return unreachable(input)
    }
  }

  /** The same object where nothing changed; and what the application wants to hear of. */
  function withNews(before: EpochsState, step: EpochsStep): EpochsStep {
    const state = step.state === before ? before : sameOr(before, step.state)
    const hint = state.time?.hint ?? null
    const effects: Effect<never>[] = [...step.effects]
    if (
      misreading === 'kept-phase' &&
      (state.phase !== before.phase || state.diskWritten !== before.diskWritten)
    ) {
      effects.unshift(persist({ phase: state.phase, diskWritten: state.diskWritten }))
    }
    if (hint !== null && hint !== (before.time?.hint ?? null))
      effects.push(output({ type: 'following', leader: hint }))
    return { state, effects: effects.length === 0 ? NOTHING : effects }
  }

  return {
    start: begin,
    step: (state, input, now) => withNews(state, react(state, input, now)),
    view: (state, now) => viewOf(state, now),
    shift: (state, by) => (state.time === null ? state : { ...state, time: shiftedTime(state.time, by) }),
  }

  function viewOf(state: EpochsState, now: Micros): View {
    const { status, ctr, learned, time } = state
    const acts = isActing(state, now)
    const follows = status === 'Suspended' ? (time === null ? learned : time.hint) : null
    const primary = isPrimary(state)
    return {
      role: acts ? 'leader' : roleOf(state),
      leader: acts ? self : follows,
      token: acts ? (time?.lead?.token ?? ctr) : null,
      until: acts ? (time?.lead?.until ?? null) : null,
      members: null,
      detail: {
        epoch: ctr,
        learned,
        ...(primary === null ? {} : { primary }),
        ...(time === null || time.alarm === null ? {} : { alarm: time.alarm }),
      },
    }
  }
}

function roleOf({ status, time }: EpochsState): View['role'] {
  switch (status) {
    case 'Stopped':
      return 'dead'
    case 'Starting':
      return 'suspended'
    case 'Suspended':
      return time !== null && time.hint !== null ? 'follower' : 'suspended'
    default:
      return 'candidate'
  }
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
    restarts: 0,
    isDue: false,
    campaign: 'stands',
    isLeaving: false,
    alarm: null,
    removal: null,
    partition: NO_PARTITION,
  }
}

function sameOr(before: EpochsState, after: EpochsState): EpochsState {
  const { time } = after
  const kept = time !== null && before.time !== null ? unlessSame(before.time, time) : time
  return unlessSame(before, kept === time ? after : { ...after, time: kept })
}

function unchanged(state: EpochsState): EpochsStep {
  return { state, effects: NOTHING }
}
