/** What all parts of the protocol use: settings, the election, register calls, and common steps. */
import {
  type Effect,
  type Identity,
  type Micros,
  NOTHING,
  type NodeId,
  output,
  present,
  type Step,
  setTimer,
  stopTimer,
} from '../../core/index.ts'
import { calls } from './calls.ts'
import { type ElectionSettings, election } from './election.ts'
import { RENEW_TIMER, stopActing } from './lease.ts'
import type { ElectionOrder } from './options.ts'
import type { EpochsState, Timed } from './state.ts'
import type { Timing } from './timing.ts'

export type EpochsSettings = ElectionSettings & {
  readonly timing: Timing | null
  readonly start: 'stamps' | 'simple'
  readonly order: ElectionOrder
}

export type EpochsStep = Step<EpochsState, never>
export type Effects = readonly Effect<never>[]

/** The write of phase 1 or 2 is due. */
export const WRITE_TIMER = 'write'
export const LOOK_TIMER = 'look'
export const AGAIN_TIMER = 'again'

export type Kit = Identity & {
  readonly settings: EpochsSettings
  readonly core: ReturnType<typeof election>
  readonly call: ReturnType<typeof calls>
}

export function kitOf(identity: Identity, settings: EpochsSettings): Kit {
  return { ...identity, settings, core: election(identity, settings), call: calls(identity) }
}

/** For code that runs only in timed worlds. */
export function timeOf({ time }: EpochsState): Timed {
  return present(time, 'time')
}

export function constants({ settings }: Kit): Timing {
  return present(settings.timing, 'timing')
}

export function withTime(state: EpochsState, change: Partial<Timed>): EpochsState {
  return state.time === null ? state : { ...state, time: { ...state.time, ...change } }
}

export function roundOf({ time }: EpochsState): number {
  return time?.round ?? 0
}

export function termOf({ time }: EpochsState): number {
  return time?.lease?.token ?? 0
}

export function unchanged(state: EpochsState): EpochsStep {
  return { state, effects: NOTHING }
}

export function applyChange(
  state: EpochsState,
  { time, effects }: { readonly time: Timed; readonly effects: Effects },
): EpochsStep {
  return { state: time === state.time ? state : { ...state, time }, effects }
}

/** The node has nothing left to do in this epoch: it looks at the other registers after one poll interval. */
export function rest(kit: Kit, state: EpochsState, now: Micros): EpochsStep {
  if (state.time === null) return { state, effects: NOTHING }
  return { state, effects: [setTimer(LOOK_TIMER, now + constants(kit).poll)] }
}

/** Stops the timers of the node's next steps. */
export function stopTimers({ core }: Kit, state: EpochsState): Effects {
  const due = core.canWrite(state) ? [stopTimer(WRITE_TIMER)] : []
  return state.time === null ? due : [...due, stopTimer(LOOK_TIMER), stopTimer(RENEW_TIMER)]
}

/** The store does not behave like a register: the node stops permanently. */
export function raiseAlarm(kit: Kit, state: EpochsState, alarm: string): EpochsStep {
  const ended = state.time === null ? { time: null, effects: [] } : stopActing(state.time, alarm)
  return {
    state: {
      ...kit.core.suspend(state, null),
      status: 'Stopped',
      phase: 0,
      diskWritten: false,
      read: [],
      time: ended.time === null ? null : { ...ended.time, looking: null, alarm, hint: null },
    },
    effects: [...stopTimers(kit, state), ...ended.effects, output({ type: 'alarm', why: alarm })],
  }
}

/** The id if it belongs to a node of the group, otherwise null. */
export function nodeOrNull({ nodes }: Identity, id: NodeId | null): NodeId | null {
  return id !== null && nodes.includes(id) ? id : null
}
