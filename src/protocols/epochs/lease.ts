/**
 * The lease: STOP and START of section 4(c). Whoever leads an epoch acts only until w + D, where w was read from its
 * clock before the decisive write was issued; and it begins to act only when every lease before its own must be over.
 * The epoch in which a leadership began is its token: no other leader ever has it, and every later one has a greater.
 */
import { type Effect, type Micros, output, setTimer, stopTimer } from '../../core/index.ts'
import type { EpochsState, Lead, Timed } from './state.ts'
import type { Timing } from './timing.ts'

export const START_TIMER = 'start'
export const STOP_TIMER = 'stop'
export const RENEW_TIMER = 'renew'

type Effects = readonly Effect<never, never>[]
export type Change = { readonly time: Timed; readonly effects: Effects }

/** Phase 2 has ended with this node's own vote: it leads the epoch. */
export function won(time: Timed, epoch: number, timing: Timing, now: Micros): Change {
  const { lease, period } = timing
  const until = time.w + lease
  if (time.lead !== null && time.lead.until <= now) {
    // Nobody has noticed yet that the lease before is over.
    const ended = stopped(time, 'its lease ran out')
    const anew = won(ended.time, epoch, timing, now)
    return { time: anew.time, effects: [...ended.effects, ...anew.effects] }
  }
  const lead: Lead = {
    token: time.lead?.token ?? epoch,
    startAt: time.startAt,
    until,
    acting: time.lead?.acting ?? false,
  }
  // The next tick is its own: one period after the last, at once where that is over already.
  const renew = setTimer(RENEW_TIMER, Math.max(now, time.w + period))
  if (until <= now) {
    const ended = stopped(time, 'its renewal came too late')
    return { time: ended.time, effects: [...ended.effects, renew] }
  }
  const started = begun({ ...time, lead }, now)
  return { time: started.time, effects: [renew, setTimer(STOP_TIMER, until), ...started.effects] }
}

/** Begins to act, if it may already and still. */
export function begun(time: Timed, now: Micros): Change {
  const { lead } = time
  if (lead === null || lead.acting || lead.until <= now) return { time, effects: [] }
  if (lead.startAt > now) return { time, effects: [setTimer(START_TIMER, lead.startAt)] }
  const { fencing } = time.partition
  if (fencing !== null) {
    // What is outside of the view is fenced first: see partition.ts.
    if (fencing.asked) return { time, effects: [] }
    const { targets, token } = fencing
    const partition = { ...time.partition, fencing: { ...fencing, asked: true } }
    return { time: { ...time, partition }, effects: [output({ type: 'fence', targets, token })] }
  }
  const elected = output({ type: 'elected', cause: 'elected', token: lead.token })
  return { time: { ...time, lead: { ...lead, acting: true } }, effects: [elected] }
}

/** STOP: nothing is done under this lease any more, for that reason. */
export function stopped(time: Timed, cause: string): Change {
  const { lead } = time
  if (lead === null) return { time, effects: [] }
  const told = lead.acting ? [output({ type: 'demoted', cause })] : []
  const partition = time.partition.fencing === null ? time.partition : { ...time.partition, fencing: null }
  return {
    time: { ...time, lead: null, partition },
    effects: [stopTimer(START_TIMER), stopTimer(STOP_TIMER), ...told],
  }
}

/** Whether it acts as the leader at this moment. */
export function isActing({ time, status }: EpochsState, now: Micros): boolean {
  if (time === null) return status === 'Leader'
  return time.lead !== null && time.lead.acting && now < time.lead.until
}

/** The clock stood still: what was counted on it for STOP lies further back than it shows. */
export function slept(time: Timed, by: Micros): Timed {
  const { lead } = time
  return { ...time, w: time.w - by, lead: lead === null ? null : { ...lead, until: lead.until - by } }
}
