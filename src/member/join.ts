/** Joining a group for real: what was asked for is checked, the election begins, and a member stands for it. */
import { NodeClosed } from './errors.ts'
import { checkFields } from './fields.ts'
import { withEveryId } from './introduce.ts'
import { leaseTerms } from './lease-terms.ts'
import { type About, Member } from './member.ts'
import { isolationOf, type JoinOptions, listenOf, maxStallOf, modeOf, settingsOf, workOf } from './options.ts'
import { inTurn, occupy } from './places.ts'
import { openRegisterSeat } from './register-seat.ts'
import type { Seat, SeatHooks } from './seat.ts'
import { isStoreJoin, type StoreJoinOptions, storeSettingsOf } from './store-options.ts'
import { openThreadSeat } from './thread-seat.ts'
import { REAL_TIMERS } from './timers.ts'
import { openWorkerSeat } from './worker-seat.ts'

/**
 * Joins a group. The promise is kept once this process listens and takes part; who leads shows later. Groups that are
 * joined at one address share its socket, its sessions and its thread.
 */
export async function join(asked: JoinOptions | StoreJoinOptions): Promise<Member> {
  checkFields(asked)
  if (isStoreJoin(asked)) return joinInStore(asked)
  const { signal } = asked
  let hasBegun = false
  const joined = inTurn(listenOf(asked), () => {
    hasBegun = true
    return seated(asked)
  })
  if (signal === undefined) return joined
  const waiting = new Promise<never>((_, reject) => {
    const giveUp = (): void => {
      // Later on, what is under way ends it.
      if (!hasBegun) reject(new NodeClosed('joining was given up before it began'))
    }
    if (signal.aborted) giveUp()
    else signal.addEventListener('abort', giveUp, { once: true })
  })
  return Promise.race([joined, waiting])
}

async function seated(asked: JoinOptions): Promise<Member> {
  const options = await withEveryId(asked)
  const settings = settingsOf(options)
  const work = workOf(options)
  const isolation = isolationOf(options)
  const maxStallMs = maxStallOf(options)
  if (asked.signal?.aborted === true) throw new NodeClosed('joining was given up before it began')
  const vacate = occupy(settings, isolation)
  const open = async (hooks: SeatHooks): Promise<Seat> => {
    const seat =
      isolation === 'worker'
        ? await openWorkerSeat(settings, maxStallMs, hooks)
        : await openThreadSeat(settings, hooks)
    return closedWith(seat, vacate)
  }
  const { group, id } = settings
  const mode = modeOf(settings)
  const part = options.observer === true ? 'observer' : options.witness === true ? 'witness' : null
  const about: About = { group, id, mode, lease: leaseTerms(settings), work, part, timers: REAL_TIMERS }
  const opening = Member.seated(about, open)
  opening.catch(vacate)
  return asked.signal === undefined ? opening : unlessAborted(opening, asked.signal)
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
  const lease = leaseTerms(settings)
  const about: About = { group, id, mode: 'store', lease, work, part: null, timers: REAL_TIMERS }
  const opening = Member.seated(about, open)
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

/** The same seat; when it has been closed, something else happens too. */
function closedWith(seat: Seat, then: () => void): Seat {
  return {
    view: () => seat.view(),
    standing: () => seat.standing(),
    lease: () => seat.lease(),
    command: (command) => seat.command(command),
    stepDown: (token) => seat.stepDown(token),
    spoil: (faults) => seat.spoil(faults),
    trace: () => seat.trace(),
    close: () => seat.close().finally(then),
  }
}
