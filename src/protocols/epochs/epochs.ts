/**
 * Election in shared memory: n registers, each written by one node and read by all.
 *
 * The election itself stands in election.ts and knows neither time nor calls. This file hands inputs to the parts:
 *
 *  - starting.ts: boot, and what follows a write of unknown outcome (the node behaves as if it had crashed);
 *  - ballots.ts: the election's steps as calls and timers; a leader ticks every T;
 *  - looking.ts: what is read; a follower begins when no counter has advanced for longer than any lease (oracle.ts: and
 *    when it is chosen), and a store that is no register raises the alarm;
 *  - lease.ts and leaving.ts: from when to when a leader acts, and how it gives that up;
 *  - removing.ts: members that are gone for good.
 *
 * Without `timing` there is no time: nodes tick when they are told to, and nothing else happens by itself.
 */
import {
  assertLease,
  assertNoDecrease,
  type Effect,
  type Identity,
  type Input,
  type Micros,
  NOTHING,
  type NodeId,
  output,
  type Protocol,
  persist,
  setTimer,
  unlessSame,
  unreachable,
  type View,
} from '../../core/index.ts'
import { tick, write } from './ballots.ts'
import {
  AGAIN_TIMER,
  changed,
  type EpochsSettings,
  type EpochsStep,
  type Kit,
  kitOf,
  LOOK_TIMER,
  timed,
  unchanged,
  WRITE_TIMER,
  withTime,
} from './kit.ts'
import { begun, isActing, RENEW_TIMER, START_TIMER, STOP_TIMER, slept, stopped } from './lease.ts'
import { campaigns, resigned } from './leaving.ts'
import { look, onReply, readAgain, regrouped } from './looking.ts'
import type { EpochsCommand } from './options.ts'
import { contend } from './oracle.ts'
import { confirmed, isPrimary, toFence } from './partition.ts'
import { begin } from './starting.ts'
import type { EpochsState } from './state.ts'
import { shiftedTime } from './watching.ts'

export function epochs(
  identity: Identity,
  settings: EpochsSettings,
): Protocol<EpochsState, never, EpochsCommand> {
  const kit = kitOf(identity, settings)
  return {
    start: (stable, now) => begin(kit, stable, now),
    step: (state, input, now) => withNews(kit, state, react(kit, state, input, now)),
    view: (state, now) => viewOf(kit, state, now),
    shift: (state, by) => (state.time === null ? state : { ...state, time: shiftedTime(state.time, by) }),
  }
}

function onTimer(kit: Kit, state: EpochsState, name: string, now: Micros): EpochsStep {
  if (name === WRITE_TIMER) return write(kit, state, now)
  if (state.time === null) return unchanged(state)
  switch (name) {
    case LOOK_TIMER:
      return look(kit, state, now)
    case AGAIN_TIMER:
      return readAgain(kit, state)
    case RENEW_TIMER:
      if (state.status !== 'Leader' || state.time.campaign === 'lapses') return unchanged(state)
      return state.writing === null
        ? tick(kit, state, state.ctr + 1, now)
        : { state: withTime(state, { isDue: true }), effects: NOTHING }
    case START_TIMER:
      return changed(state, begun(state.time, now))
    case STOP_TIMER: {
      const { lead } = state.time
      if (lead === null) return unchanged(state)
      if (lead.until > now) return { state, effects: [setTimer(STOP_TIMER, lead.until)] }
      return state.time.campaign === 'stands'
        ? changed(state, stopped(state.time, 'its lease ran out'))
        : resigned(kit, state, 'its lease ran out', now)
    }
    default:
      return unchanged(state)
  }
}

function onCommand(kit: Kit, state: EpochsState, command: EpochsCommand, now: Micros): EpochsStep {
  if (command.do === 'tick') return tick(kit, state, command.to ?? state.ctr + 1, now)
  if (state.status === 'Stopped') return unchanged(state)
  if (command.do === 'contend') return contend(kit, state)
  if (command.do === 'stepDown' && state.time === null) {
    const mayLeave = state.status === 'Leader' && state.writing === null
    return mayLeave ? resigned(kit, state, 'it stepped down', now) : unchanged(state)
  }
  if (state.time === null) return unchanged(state)
  switch (command.do) {
    case 'stepDown': {
      const isLeader = state.status === 'Leader' || state.status === 'PreviousLeader'
      return isLeader || state.time.lead !== null
        ? resigned(kit, state, 'it stepped down', now)
        : unchanged(state)
    }
    case 'campaign':
      return campaigns(kit, state, command.willing ? 'stands' : command.lapse ? 'lapses' : 'aside', now)
    case 'regrouped':
      return regrouped(kit, state, now)
    case 'remove': {
      if (command.of === kit.self || state.time.removal !== null) return unchanged(state)
      return {
        state: withTime(state, { removal: { of: command.of, stage: 'read', to: 0, since: null } }),
        effects: NOTHING,
      }
    }
    case 'view':
      return viewed(kit, state, command.members, now)
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
function viewed(kit: Kit, state: EpochsState, members: readonly NodeId[], now: Micros): EpochsStep {
  const time = timed(state)
  const { self, nodes } = kit
  const view = nodes.filter((id) => id === self || members.includes(id))
  const was = time.partition.view
  if (was !== null && was.length === view.length && was.every((id) => view.includes(id)))
    return unchanged(state)
  const partition = { ...time.partition, view }
  if (time.lead === null) return { state: withTime(state, { partition }), effects: NOTHING }
  const next = { ...time, partition: toFence(partition, state.ctr, nodes) }
  if (next.partition.fencing === null) return changed(state, begun(next, now))
  // It serves nobody until all of them are fenced; the lease itself goes on.
  const told = time.lead.acting
    ? [output({ type: 'demoted', cause: 'its view has changed: it fences first' })]
    : []
  const lead = { ...time.lead, acting: false, token: state.ctr }
  const asking = begun({ ...next, lead }, now)
  return { state: { ...state, time: asking.time }, effects: [...told, ...asking.effects] }
}

function react(kit: Kit, state: EpochsState, input: Input<never, EpochsCommand>, now: Micros): EpochsStep {
  switch (input.type) {
    case 'register':
      return onReply(kit, state, input, now)
    case 'timer':
      return onTimer(kit, state, input.name, now)
    case 'command':
      return onCommand(kit, state, input.command, now)
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

function assertInvariants({ settings }: Kit, before: EpochsState, after: EpochsState): void {
  // A node that stops or starts over has no epoch: it reads its register again first.
  if (after.status === 'Stopped' || after.status === 'Starting') return
  assertNoDecrease('the epoch', before.ctr, after.ctr)
  const lead = after.time?.lead ?? null
  const former = before.time?.lead ?? null
  if (lead === null || lead === former || after.time === null) return
  if (former !== null) assertNoDecrease('the token', former.token, lead.token)
  if (settings.timing !== null) assertLease(lead.until, after.time.w, settings.timing.lease)
}

/** The same object where nothing changed; and what the application wants to hear of. */
function withNews(kit: Kit, before: EpochsState, step: EpochsStep): EpochsStep {
  const state = step.state === before ? before : sameOr(before, step.state)
  if (state !== before) assertInvariants(kit, before, state)
  const hint = state.time?.hint ?? null
  const effects: Effect<never>[] = [...step.effects]
  const kept = kit.settings.rules.persistedPhase(before, state)
  if (kept !== null) effects.unshift(persist(kept))
  if (hint !== null && hint !== (before.time?.hint ?? null))
    effects.push(output({ type: 'following', leader: hint }))
  return { state, effects: effects.length === 0 ? NOTHING : effects }
}

function viewOf(kit: Kit, state: EpochsState, now: Micros): View {
  const { status, ctr, learned, time } = state
  const acts = isActing(state, now)
  const follows = status === 'Suspended' ? (time === null ? learned : time.hint) : null
  const primary = isPrimary(state)
  return {
    role: acts ? 'leader' : roleOf(state),
    leader: acts ? kit.self : follows,
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

function sameOr(before: EpochsState, after: EpochsState): EpochsState {
  const { time } = after
  const kept = time !== null && before.time !== null ? unlessSame(before.time, time) : time
  return unlessSame(before, kept === time ? after : { ...after, time: kept })
}
