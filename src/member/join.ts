/** Joining a group for real: what was asked for is checked, the election begins, and a member stands for it. */
import { NodeClosed } from './errors.ts'
import { Member } from './member.ts'
import { isolationOf, type JoinOptions, maxStallOf, settingsOf, workOf } from './options.ts'
import type { Seat, SeatHooks } from './seat.ts'
import { openThreadSeat } from './thread-seat.ts'
import { REAL_TIMERS } from './timers.ts'
import { openWorkerSeat } from './worker-seat.ts'

/** Joins a group. The promise is kept once this process listens and takes part; who leads shows later. */
export async function join(options: JoinOptions): Promise<Member> {
  const { signal } = options
  const settings = settingsOf(options)
  const work = workOf(options)
  const isolation = isolationOf(options)
  const maxStallMs = maxStallOf(options)
  const isGivenUp = (): boolean => signal?.aborted === true
  if (isGivenUp()) throw new NodeClosed('joining was given up before it began')
  const open = (hooks: SeatHooks): Promise<Seat> =>
    isolation === 'worker' ? openWorkerSeat(settings, maxStallMs, hooks) : openThreadSeat(settings, hooks)
  const { group, id } = settings
  const mode = options.mode ?? 'majority'
  const member = await Member.seated({ group, id, mode, work, timers: REAL_TIMERS }, open)
  signal?.addEventListener('abort', () => void member.close(), { once: true })
  if (isGivenUp()) {
    await member.close()
    throw new NodeClosed('joining was given up')
  }
  return member
}
