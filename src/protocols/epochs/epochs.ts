/**
 * Election in shared memory: n registers, each written by one node and read by all.
 *
 * The election itself is in election.ts, which knows neither time nor calls. This file dispatches inputs to the parts:
 *
 *  - starting.ts: boot, and the restart after a write of unknown outcome (the node behaves as if it had crashed);
 *  - ballots.ts: the steps of an election as calls and timers; a leader ticks every T;
 *  - looking.ts: replies to reads. A follower starts an election when no counter has advanced for longer than any lease
 *    (with oracle.ts: and when it is chosen). A store that does not behave like a register raises the alarm;
 *  - lease.ts and leaving.ts: from when to when a leader acts, and how it releases its lease;
 *  - removing.ts: removes nodes that are permanently gone.
 *
 * Without `timing` the world is untimed: nodes tick only on command, and nothing happens by itself.
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
  applyChange,
  type EpochsSettings,
  type EpochsStep,
  type Kit,
  kitOf,
  LOOK_TIMER,
  timeOf,
  unchanged,
  WRITE_TIMER,
  withTime,
} from './kit.ts'
import {
  accountForSuspension,
  isActing,
  RENEW_TIMER,
  START_TIMER,
  STOP_TIMER,
  startActing,
  stopActing,
} from './lease.ts'
import { handleCampaign, resign } from './leaving.ts'
import { handleRegrouped, handleReply, look, readAgain } from './looking.ts'
import type { EpochsCommand } from './options.ts'
import { contend } from './oracle.ts'
import { confirmFenced, isPrimary, withFencing } from './partition.ts'
import { start } from './starting.ts'
import type { EpochsState } from './state.ts'
import { shiftTime } from './watching.ts'

export function epochs(
  identity: Identity,
  settings: EpochsSettings,
): Protocol<EpochsState, never, EpochsCommand> {
  const kit = kitOf(identity, settings)
  return {
    start: (stable, now) => start(kit, stable, now),
    step: (state, input, now) => withNews(kit, state, handleInput(kit, state, input, now)),
    view: (state, now) => viewOf(kit, state, now),
    shift: (state, by) => (state.time === null ? state : { ...state, time: shiftTime(state.time, by) }),
  }
}

function handleTimer(kit: Kit, state: EpochsState, name: string, now: Micros): EpochsStep {
  if (name === WRITE_TIMER) return write(kit, state, now)
  if (state.time === null) return unchanged(state)
  switch (name) {
    case LOOK_TIMER:
      return look(kit, state, now)
    case AGAIN_TIMER:
      return readAgain(kit, state)
    case RENEW_TIMER:
      if (state.status !== 'Leader' || state.time.candidacy === 'expiring') return unchanged(state)
      return state.writing === null
        ? tick(kit, state, state.ctr + 1, now)
        : { state: withTime(state, { isDue: true }), effects: NOTHING }
    case START_TIMER:
      return applyChange(state, startActing(state.time, now))
    case STOP_TIMER: {
      const { lease } = state.time
      if (lease === null) return unchanged(state)
      if (lease.until > now) return { state, effects: [setTimer(STOP_TIMER, lease.until)] }
      return state.time.candidacy === 'willing'
        ? applyChange(state, stopActing(state.time, 'its lease ran out'))
        : resign(kit, state, 'its lease ran out', now)
    }
    default:
      return unchanged(state)
  }
}

function handleCommand(kit: Kit, state: EpochsState, command: EpochsCommand, now: Micros): EpochsStep {
  if (command.do === 'tick') return tick(kit, state, command.to ?? state.ctr + 1, now)
  if (state.status === 'Stopped') return unchanged(state)
  if (command.do === 'contend') return contend(kit, state)
  if (command.do === 'stepDown' && state.time === null) {
    const mayLeave = state.status === 'Leader' && state.writing === null
    return mayLeave ? resign(kit, state, 'it stepped down', now) : unchanged(state)
  }
  if (state.time === null) return unchanged(state)
  switch (command.do) {
    case 'stepDown': {
      const isLeader = state.status === 'Leader' || state.status === 'PreviousLeader'
      return isLeader || state.time.lease !== null
        ? resign(kit, state, 'it stepped down', now)
        : unchanged(state)
    }
    case 'campaign':
      return handleCampaign(
        kit,
        state,
        command.willing ? 'willing' : command.lapse ? 'expiring' : 'withdrawn',
        now,
      )
    case 'regrouped':
      return handleRegrouped(kit, state, now)
    case 'remove': {
      if (command.of === kit.self || state.time.removal !== null) return unchanged(state)
      return {
        state: withTime(state, { removal: { of: command.of, stage: 'read', to: 0, since: null } }),
        effects: NOTHING,
      }
    }
    case 'view':
      return handleView(kit, state, command.members, now)
    case 'fenced': {
      const partition = confirmFenced(state.time.partition, command.of, command.token)
      if (partition === state.time.partition) return unchanged(state)
      return applyChange(state, startActing({ ...state.time, partition }, now))
    }
    default:
      return unreachable(command)
  }
}

/** The set of reachable nodes has changed: a leader fences again, with its current epoch as the token. */
function handleView(kit: Kit, state: EpochsState, members: readonly NodeId[], now: Micros): EpochsStep {
  const time = timeOf(state)
  const { self, nodes } = kit
  const view = nodes.filter((id) => id === self || members.includes(id))
  const was = time.partition.view
  if (was !== null && was.length === view.length && was.every((id) => view.includes(id)))
    return unchanged(state)
  const partition = { ...time.partition, view }
  if (time.lease === null) return { state: withTime(state, { partition }), effects: NOTHING }
  const next = { ...time, partition: withFencing(partition, state.ctr, nodes) }
  if (next.partition.fencing === null) return applyChange(state, startActing(next, now))
  // The leader stops acting until all of them are fenced. Its lease continues.
  const demoted = time.lease.acting
    ? [output({ type: 'demoted', cause: 'its view has changed: it must fence nodes first' })]
    : []
  const lease = { ...time.lease, acting: false, token: state.ctr }
  const asking = startActing({ ...next, lease }, now)
  return { state: { ...state, time: asking.time }, effects: [...demoted, ...asking.effects] }
}

function handleInput(
  kit: Kit,
  state: EpochsState,
  input: Input<never, EpochsCommand>,
  now: Micros,
): EpochsStep {
  switch (input.type) {
    case 'register':
      return handleReply(kit, state, input, now)
    case 'timer':
      return handleTimer(kit, state, input.name, now)
    case 'command':
      return handleCommand(kit, state, input.command, now)
    case 'suspended': {
      if (state.time === null) return unchanged(state)
      const time = accountForSuspension(state.time, input.by)
      const isOver = time.lease !== null && time.lease.until <= now
      return applyChange(
        state,
        isOver ? stopActing(time, 'its clock stood still for too long') : { time, effects: NOTHING },
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
  // A node that has stopped or restarts has no epoch: it must read its register first.
  if (after.status === 'Stopped' || after.status === 'Starting') return
  assertNoDecrease('the epoch', before.ctr, after.ctr)
  const lease = after.time?.lease ?? null
  const former = before.time?.lease ?? null
  if (lease === null || lease === former || after.time === null) return
  if (former !== null) assertNoDecrease('the token', former.token, lease.token)
  if (settings.timing !== null) assertLease(lease.until, after.time.w, settings.timing.lease)
}

/** Returns the same state object if nothing changed. Adds the outputs for the application. */
function withNews(kit: Kit, before: EpochsState, step: EpochsStep): EpochsStep {
  const state = step.state === before ? before : keepSame(before, step.state)
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
    token: acts ? (time?.lease?.token ?? ctr) : null,
    until: acts ? (time?.lease?.until ?? null) : null,
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

function keepSame(before: EpochsState, after: EpochsState): EpochsState {
  const { time } = after
  const kept = time !== null && before.time !== null ? unlessSame(before.time, time) : time
  return unlessSame(before, kept === time ? after : { ...after, time: kept })
}
