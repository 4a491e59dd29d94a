/**
 * Playback: where the reader is in a run, and where a step or some time leads from there.
 *
 * A run is a finished picture, so a position is only a number. Going back costs as little as going on.
 */
import type { Micros } from '../../../../src/core/index.ts'
import type { Moment, Picture } from '../engine/picture.ts'
import type { Cursor, Direction, StepKind } from './types.ts'

/** From a thousandth of true time to a hundred times as fast. */
export const SPEEDS: readonly number[] = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100,
]
export const DEFAULT_SPEED = 0.05
/** How long one event of a film lasts at speed 1. */
export const SHOT_MS = 1200
/** A frame that comes later than this, for example because the tab was hidden, counts as this long. */
const LONGEST_FRAME_MS = 250

export const START: Cursor = { at: 0, moment: -1 }

/** The number of moments at or before this instant: binary search. */
function countUpTo(moments: readonly Moment[], at: Micros): number {
  let low = 0
  let high = moments.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((moments[middle] as Moment).at <= at) low = middle + 1
    else high = middle
  }
  return low
}

/** The position at an instant: everything at that instant has happened. */
export function cursorAt(picture: Picture, at: Micros): Cursor {
  const within = Math.min(Math.max(at, 0), picture.endsAt)
  return { at: within, moment: countUpTo(picture.moments, within) - 1 }
}

/** The position right after a moment. */
export function cursorAtMoment(picture: Picture, moment: number): Cursor {
  if (moment < 0) return START
  const last = Math.min(moment, picture.moments.length - 1)
  const found = picture.moments[last]
  return found === undefined ? START : { at: found.at, moment: last }
}

export function endOf(picture: Picture): Cursor {
  return { at: picture.endsAt, moment: picture.moments.length - 1 }
}

/** The moments of all violations, in order. A violation between two moments belongs to the one before. */
export function violationsOf(picture: Picture): readonly number[] {
  const found = picture.verdicts.flatMap(({ verdict, moment, at }) => {
    if (verdict !== 'violated') return []
    if (moment !== null) return [moment]
    return at === null ? [] : [cursorAt(picture, at).moment]
  })
  return [...new Set(found)].sort((a, b) => a - b)
}

function stopsAt(picture: Picture, kind: StepKind): (moment: Moment, index: number) => boolean {
  switch (kind) {
    case 'record':
      return () => true
    case 'event':
      return ({ isRoutine }) => !isRoutine
    case 'message':
      return ({ message, isRoutine }) => message !== null && !isRoutine
    case 'leadership':
      return ({ isLeadership }) => isLeadership
    case 'violation': {
      const violations = new Set(violationsOf(picture))
      return (_, index) => violations.has(index)
    }
    default:
      return kind satisfies never
  }
}

/** Where a step leads; null if there is nothing of that kind in that direction. */
export function stepFrom(
  picture: Picture,
  cursor: Cursor,
  kind: StepKind,
  direction: Direction,
): Cursor | null {
  const stops = stopsAt(picture, kind)
  const { moments } = picture
  const here = moments[cursor.moment]
  // Between two moments, a step back first returns to the moment that has just happened.
  const isBetween = here !== undefined && cursor.at > here.at
  let index = direction > 0 ? cursor.moment + 1 : isBetween ? cursor.moment : cursor.moment - 1
  for (; index >= 0 && index < moments.length; index += direction) {
    if (stops(moments[index] as Moment, index)) return cursorAtMoment(picture, index)
  }
  if (kind !== 'record' && kind !== 'event') return null
  if (direction > 0) return cursor.at < picture.endsAt ? endOf(picture) : null
  return cursor.moment >= 0 || cursor.at > 0 ? START : null
}

const STEP_NAMES: { readonly [kind in StepKind]: string } = {
  record: 'record',
  event: 'event',
  message: 'message',
  leadership: 'change of leadership',
  violation: 'violation',
}

export function noStepText(kind: StepKind, direction: Direction): string {
  return `There is no ${direction > 0 ? 'later' : 'earlier'} ${STEP_NAMES[kind]}.`
}

export type Advance = {
  readonly cursor: Cursor
  /** How long the present event of a film has been shown, in wall time at speed 1. */
  readonly shownMs: number
  /** Playback ends here: at the end of the run, or at a violation. */
  readonly stopped: 'end' | 'violation' | null
}

/** Lets true time pass, scaled by the speed. Stops at the first violation on the way. */
export function advance(
  picture: Picture,
  cursor: Cursor,
  settings: {
    readonly elapsedMs: number
    readonly speed: number
    readonly pausesAtViolation: boolean
  },
): Advance {
  const elapsed = Math.min(settings.elapsedMs, LONGEST_FRAME_MS)
  const next = cursorAt(picture, cursor.at + elapsed * 1000 * settings.speed)
  return stopOnTheWay(picture, cursor, next, settings.pausesAtViolation, 0)
}

/** Shows one event after another, each for about as long, regardless of the time between them. */
export function advanceFilm(
  picture: Picture,
  cursor: Cursor,
  settings: {
    readonly shownMs: number
    readonly elapsedMs: number
    readonly speed: number
    readonly pausesAtViolation: boolean
  },
): Advance {
  const following = stepFrom(picture, cursor, 'event', 1)
  if (following === null) return { cursor, shownMs: 0, stopped: 'end' }
  const shownMs = settings.shownMs + Math.min(settings.elapsedMs, LONGEST_FRAME_MS) * settings.speed
  if (shownMs >= SHOT_MS) return stopOnTheWay(picture, cursor, following, settings.pausesAtViolation, 0)
  // On the way to the next event, time passes evenly, and routine moments happen when their time comes.
  const left = (SHOT_MS - shownMs) / (SHOT_MS - settings.shownMs)
  const at = following.at - (following.at - cursor.at) * left
  const within = cursorAt(picture, at)
  const before = Math.max(cursor.moment, Math.min(within.moment, following.moment - 1))
  const isEnd = following.at === picture.endsAt && following.moment === cursor.moment
  return { cursor: { at, moment: isEnd ? within.moment : before }, shownMs, stopped: null }
}

function stopOnTheWay(
  picture: Picture,
  from: Cursor,
  to: Cursor,
  pausesAtViolation: boolean,
  shownMs: number,
): Advance {
  const violation = pausesAtViolation ? violationsOf(picture).find((index) => index > from.moment) : undefined
  if (violation !== undefined && violation <= to.moment) {
    return { cursor: cursorAtMoment(picture, violation), shownMs: 0, stopped: 'violation' }
  }
  return { cursor: to, shownMs, stopped: to.at >= picture.endsAt ? 'end' : null }
}

/** The next slower or faster of the offered speeds. */
export function nextSpeed(speed: number, direction: Direction): number {
  const faster = SPEEDS.find((each) => each > speed * 1.0001)
  const slower = SPEEDS.findLast((each) => each < speed * 0.9999)
  return (direction > 0 ? faster : slower) ?? speed
}

export function withinSpeeds(speed: number): number {
  const [least, most] = [SPEEDS[0] as number, SPEEDS.at(-1) as number]
  return Number.isFinite(speed) ? Math.min(Math.max(speed, least), most) : DEFAULT_SPEED
}
