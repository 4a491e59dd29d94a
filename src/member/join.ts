/** Joining a group for real: what was asked for is checked, the election begins, and a member stands for it. */
import { NodeClosed } from './errors.ts'
import { withEveryId } from './introduce.ts'
import { Member } from './member.ts'
import { isolationOf, type JoinOptions, maxStallOf, settingsOf, workOf } from './options.ts'
import { openRegisterSeat } from './register-seat.ts'
import type { Seat, SeatHooks } from './seat.ts'
import { isStoreJoin, type StoreJoinOptions, storeSettingsOf } from './store-options.ts'
import { openThreadSeat } from './thread-seat.ts'
import { REAL_TIMERS } from './timers.ts'
import { openWorkerSeat } from './worker-seat.ts'

/** Joins a group. The promise is kept once this process listens and takes part; who leads shows later. */
export async function join(asked: JoinOptions | StoreJoinOptions): Promise<Member> {
  const { signal } = asked
  if (isStoreJoin(asked)) return joinInStore(asked)
  const options = await withEveryId(asked)
  const settings = settingsOf(options)
  const work = workOf(options)
  const isolation = isolationOf(options)
  const maxStallMs = maxStallOf(options)
  if (signal?.aborted === true) throw new NodeClosed('joining was given up before it began')
  const open = (hooks: SeatHooks): Promise<Seat> =>
    isolation === 'worker' ? openWorkerSeat(settings, maxStallMs, hooks) : openThreadSeat(settings, hooks)
  const { group, id } = settings
  const mode = options.mode ?? 'majority'
  const part = options.observer === true ? 'observer' : options.witness === true ? 'witness' : null
  const opening = Member.seated({ group, id, mode, work, part, timers: REAL_TIMERS }, open)
  return signal === undefined ? opening : unlessAborted(opening, signal)
}

function joinInStore(options: StoreJoinOptions): Promise<Member> {
  const { signal } = options
  const settings = storeSettingsOf(options)
  const work = workOf(options)
  const isolation = isolationOf(options)
  const maxStallMs = maxStallOf(options)
  if (signal?.aborted === true) throw new NodeClosed('joining was given up before it began')
  const open = (hooks: SeatHooks): Promise<Seat> =>
    isolation === 'worker' ? openWorkerSeat(settings, maxStallMs, hooks) : openRegisterSeat(settings, hooks)
  const { group, id } = settings
  const opening = Member.seated({ group, id, mode: 'store', work, part: null, timers: REAL_TIMERS }, open)
  return signal === undefined ? opening : unlessAborted(opening, signal)
}

/** Whoever gives up need not wait; what opens all the same is closed. */
function unlessAborted(opening: Promise<Member>, signal: AbortSignal): Promise<Member> {
  return new Promise((resolve, reject) => {
    signal.addEventListener(
      'abort',
      () => {
        reject(new NodeClosed('joining was given up'))
        opening.then(
          (member) => member.close(),
          () => {},
        )
      },
      { once: true },
    )
    opening.then(resolve, reject)
  })
}
