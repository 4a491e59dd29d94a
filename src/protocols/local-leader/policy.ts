/**
 * When a leader changes its level. It raises it at once to what the evidence asks for. It lowers it by one level at a
 * time, after the evidence has asked for less during a wait. Each raise that follows a lowering doubles the wait: the
 * lowering was a mistake. Followers count along, so that the next leader knows the wait. So a load that comes and goes
 * ends with a level that stays, and rare stalls cost at most about `leaseLossPerDay` leases. An hour without a raise halves the wait again.
 */
import type { Micros } from '../../core/index.ts'

export type Hold = {
  /** When the level was last needed, or last changed. */
  readonly since: Micros
  /** How long the evidence must ask for less before the first lowering. */
  readonly wait: Micros
  /** The last change was a lowering. */
  readonly hasLowered: boolean
  /** When the wait was last doubled or halved, or the level last raised. */
  readonly settledAt: Micros
}

export const LEAST_WAIT: Micros = 5_000_000
const DAY: Micros = 86_400_000_000
/** After the first lowering, further ones follow after this part of the wait. */
const STEPS_PER_WAIT = 16
/** A level that has not been raised for this long was right. Loads that come more often keep their wait. */
const RIGHT_AFTER: Micros = 3_600_000_000

export function initialHold(now: Micros): Hold {
  return { since: now, wait: LEAST_WAIT, hasLowered: false, settledAt: now }
}

export function shiftHold(hold: Hold, by: Micros): Hold {
  return { ...hold, since: hold.since + by, settledAt: hold.settledAt + by }
}

/** The level has been raised, by this node or by its leader. */
export function afterRaise({ wait, hasLowered }: Hold, lossPerDay: number, now: Micros): Hold {
  const longest = Math.max(LEAST_WAIT, Math.floor(DAY / lossPerDay))
  const next = hasLowered ? Math.min(2 * wait, longest) : wait
  return { since: now, wait: next, hasLowered: false, settledAt: now }
}

/** The level has been lowered, by this node or by its leader. */
export function afterLowering({ wait, hasLowered, settledAt }: Hold, now: Micros): Hold {
  return { since: now, wait, hasLowered: true, settledAt: hasLowered ? settledAt : now }
}

/** The next level, given the lowest level that the evidence allows. */
export function nextLevel(
  level: number,
  needed: number,
  hold: Hold,
  lossPerDay: number,
  now: Micros,
): { readonly level: number; readonly hold: Hold } {
  const { since, wait, hasLowered, settledAt } = hold
  if (needed > level) return { level: needed, hold: afterRaise(hold, lossPerDay, now) }
  if (needed === level) {
    const isRight = hasLowered && now - settledAt >= RIGHT_AFTER && wait > LEAST_WAIT
    if (!isRight) return { level, hold: { ...hold, since: now } }
    return {
      level,
      hold: { since: now, wait: Math.max(LEAST_WAIT, Math.floor(wait / 2)), hasLowered, settledAt: now },
    }
  }
  const patience = hasLowered ? Math.ceil(wait / STEPS_PER_WAIT) : wait
  if (now - since < patience) return { level, hold }
  return { level: level - 1, hold: afterLowering(hold, now) }
}
