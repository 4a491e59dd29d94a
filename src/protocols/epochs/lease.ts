/**
 * The lease: STOP and START of section 4(c). STOP: the leader of an epoch acts only until w + D, where it read w from its
 * clock before it issued the decisive write. START: it begins to act only when every earlier lease must have ended.
 * The token of a term is the epoch in which the term began. No other term has the same token, and every later term has
 * a greater one.
 */
import { type Effect, type Micros, output, setTimer, stopTimer } from '../../core/index.ts'
import type { EpochsState, Lease, Timed } from './state.ts'
import type { Timing } from './timing.ts'

export const START_TIMER = 'start'
export const STOP_TIMER = 'stop'
export const RENEW_TIMER = 'renew'

type Effects = readonly Effect<never, never>[]
export type Change = { readonly time: Timed; readonly effects: Effects }

/** Takes or renews the lease after this node has won an epoch: its phase 2 ended with its own vote. */
export function takeLease(time: Timed, epoch: number, timing: Timing, now: Micros): Change {
  const { lease: length, period } = timing
  const until = time.w + length
  if (time.lease !== null && time.lease.until <= now) {
    // The previous lease has expired, but its STOP timer has not fired yet.
    const ended = stopActing(time, 'its lease ran out')
    const next = takeLease(ended.time, epoch, timing, now)
    return { time: next.time, effects: [...ended.effects, ...next.effects] }
  }
  const lease: Lease = {
    token: time.lease?.token ?? epoch,
    startAt: time.startAt,
    until,
    acting: time.lease?.acting ?? false,
  }
  // The leader ticks again one period after its last tick, or at once if that moment has passed.
  const renew = setTimer(RENEW_TIMER, Math.max(now, time.w + period))
  if (until <= now) {
    const ended = stopActing(time, 'its renewal came too late')
    return { time: ended.time, effects: [...ended.effects, renew] }
  }
  const started = startActing({ ...time, lease }, now)
  return { time: started.time, effects: [renew, setTimer(STOP_TIMER, until), ...started.effects] }
}

/** Acts as the leader from now on, if START and STOP allow it. */
export function startActing(time: Timed, now: Micros): Change {
  const { lease } = time
  if (lease === null || lease.acting || lease.until <= now) return { time, effects: [] }
  if (lease.startAt > now) return { time, effects: [setTimer(START_TIMER, lease.startAt)] }
  const { fencing } = time.partition
  if (fencing !== null) {
    // The leader fences the nodes outside its view first: see partition.ts.
    if (fencing.asked) return { time, effects: [] }
    const { targets, token } = fencing
    const partition = { ...time.partition, fencing: { ...fencing, asked: true } }
    return { time: { ...time, partition }, effects: [output({ type: 'fence', targets, token })] }
  }
  const elected = output({ type: 'elected', cause: 'elected', token: lease.token })
  return { time: { ...time, lease: { ...lease, acting: true } }, effects: [elected] }
}

/** STOP: the node gives up its lease and no longer acts, for this reason. */
export function stopActing(time: Timed, cause: string): Change {
  const { lease } = time
  if (lease === null) return { time, effects: [] }
  const demoted = lease.acting ? [output({ type: 'demoted', cause })] : []
  const partition = time.partition.fencing === null ? time.partition : { ...time.partition, fencing: null }
  return {
    time: { ...time, lease: null, partition },
    effects: [stopTimer(START_TIMER), stopTimer(STOP_TIMER), ...demoted],
  }
}

/** Whether the node acts as the leader at this moment. */
export function isActing({ time, status }: EpochsState, now: Micros): boolean {
  if (time === null) return status === 'Leader'
  return time.lease !== null && time.lease.acting && now < time.lease.until
}

/** The clock stood still for `by`: leases end that much earlier on it. */
export function accountForSuspension(time: Timed, by: Micros): Timed {
  const { lease } = time
  return { ...time, w: time.w - by, lease: lease === null ? null : { ...lease, until: lease.until - by } }
}
