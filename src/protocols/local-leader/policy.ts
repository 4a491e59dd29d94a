/**
 * When a leader changes its level. It raises it at once to what the evidence asks for. It lowers it by one level at a
 * time, after the evidence has asked for less during a wait. Each raise that follows a lowering doubles the wait: the
 * lowering was a mistake. Followers count along, so that the next leader knows the wait. So a load that comes and goes
 * ends with a level that stays, and rare stalls cost at most about `leaseLossPerDay` leases. An hour without a raise halves
 * the wait again.
 *
 * A long load is never quite even, so the wait grows while it lasts. That must not keep the level up after its end: when
 * the evidence asks for far less, a wait of its own counts. It grows only by large raises.
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
  /** Since when the evidence has asked for far less; null if it does not. */
  readonly calmSince: Micros | null
  /** How long it must do so until the level is lowered, in spite of the other wait. */
  readonly calmWait: Micros
}

export const LEAST_WAIT: Micros = 5_000_000
/** The shortest leases are back within a minute after a load, from any level. */
const LEAST_CALM_WAIT: Micros = 24_000_000
/** Less than half of the lease, or the lowest level: the load is over. */
const CALM_LEVELS = 4
const DAY: Micros = 86_400_000_000
/** After the first lowering, further ones follow after this part of the wait. */
const STEPS_PER_WAIT = 16
/** A level that has not been raised for this long was right. Loads that come more often keep their wait. */
const RIGHT_AFTER: Micros = 3_600_000_000

/** What limits the waits: the lowest level of the node, and how many leases it may lose. */
type Limits = { readonly least: number; readonly lossPerDay: number }

export function initialHold(now: Micros): Hold {
  return {
    since: now,
    wait: LEAST_WAIT,
    hasLowered: false,
    settledAt: now,
    calmSince: null,
    calmWait: LEAST_CALM_WAIT,
  }
}

export function shiftHold(hold: Hold, by: Micros): Hold {
  const { since, settledAt, calmSince } = hold
  return {
    ...hold,
    since: since + by,
    settledAt: settledAt + by,
    calmSince: calmSince === null ? null : calmSince + by,
  }
}

/** The level has been raised, by this node or by its leader. */
export function afterRaise(
  { wait, hasLowered, calmWait }: Hold,
  [before, level]: readonly [before: number, level: number],
  lossPerDay: number,
  now: Micros,
): Hold {
  const longest = Math.floor(DAY / lossPerDay)
  const doubled = (time: Micros): Micros => Math.max(time, Math.min(2 * time, longest))
  // To return was a mistake if the lease that it led to may have been lost. A small raise comes in time.
  const wasMistake = hasLowered && level >= before + CALM_LEVELS
  return {
    since: now,
    wait: hasLowered ? doubled(wait) : wait,
    hasLowered: false,
    settledAt: now,
    calmSince: null,
    calmWait: wasMistake ? doubled(calmWait) : calmWait,
  }
}

/** The level has been lowered, by this node or by its leader. */
export function afterLowering(hold: Hold, now: Micros): Hold {
  return { ...hold, since: now, hasLowered: true, settledAt: hold.hasLowered ? hold.settledAt : now }
}

/** The next level, given the lowest level that the evidence allows. */
export function nextLevel(
  level: number,
  needed: number,
  before: Hold,
  { least, lossPerDay }: Limits,
  now: Micros,
): { readonly level: number; readonly hold: Hold } {
  if (needed > level) return { level: needed, hold: afterRaise(before, [level, needed], lossPerDay, now) }
  const isLess = needed < level && needed <= Math.max(least, level - CALM_LEVELS)
  const calmSince = isLess ? (before.calmSince ?? now) : null
  const hold = calmSince === before.calmSince ? before : { ...before, calmSince }
  const { since, wait, hasLowered, settledAt, calmWait } = hold
  if (needed === level) {
    const isRight = hasLowered && now - settledAt >= RIGHT_AFTER
    // Every round of a quiet leader ends here.
    if (!isRight) return { level, hold: { since: now, wait, hasLowered, settledAt, calmSince, calmWait } }
    const halved = (time: Micros, shortest: Micros): Micros => Math.max(shortest, Math.floor(time / 2))
    const waits = { wait: halved(wait, LEAST_WAIT), calmWait: halved(calmWait, LEAST_CALM_WAIT) }
    return { level, hold: { ...hold, ...waits, since: now, settledAt: now } }
  }
  const patience = hasLowered ? Math.ceil(wait / STEPS_PER_WAIT) : wait
  const isCalm = calmSince !== null && now - calmSince >= calmWait
  const calmPatience = isCalm ? Math.ceil(calmWait / STEPS_PER_WAIT) : patience
  if (now - since < Math.min(patience, calmPatience)) return { level, hold }
  return { level: level - 1, hold: afterLowering(hold, now) }
}
