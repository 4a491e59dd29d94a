/** Messages as lines between lanes. */
import type { Micros } from '../../../core/index.ts'
import { messageText } from '../text.ts'
import type { DiagramHistory, Flight } from './history.ts'
import type { Point } from './label-space.ts'
import type { Place } from './place.ts'

export type Arrow = {
  readonly from: Point
  readonly to: Point
  readonly flight: Flight
  /** False if the picture starts after the send. */
  readonly seenSent: boolean
  /** `open`: the message is still in flight at the end of the picture. */
  readonly ending: 'arrives' | 'lost' | 'open'
  readonly title: string
}

/** A lost message ends halfway between its target's lane and the lane before. */
const SHORT_OF_TARGET = 0.5
const FALL_PX = 12

export function arrowOf(flight: Flight, { begin, end }: DiagramHistory, place: Place): Arrow {
  const { from, to, sentAt, endedAt, lost } = flight
  const what = `${flight.bodies.map(messageText).join(' and ')} from ${from} to ${to}, sent at ${place.moment(sentAt)}`
  const start = { x: place.x(from), y: place.y(sentAt) }
  const width = place.x(to) - start.x
  if (endedAt === null || (lost !== null && lost !== 'down')) {
    const lanes = Math.max(SHORT_OF_TARGET, Math.abs(width) / place.lanePx - SHORT_OF_TARGET)
    const dead = { x: start.x + Math.sign(width) * lanes * place.lanePx, y: start.y + FALL_PX * (1 + lanes) }
    return lost === null
      ? { from: start, to: dead, flight, seenSent: true, ending: 'open', title: `${what}, in flight` }
      : { from: start, to: dead, flight, seenSent: true, ending: 'lost', title: `${what}, lost (${lost})` }
  }
  const on = (at: Micros): Point => ({
    x: start.x + (width * (at - sentAt)) / Math.max(1, endedAt - sentAt),
    y: place.y(at),
  })
  return {
    from: sentAt < begin ? on(begin) : start,
    to: endedAt > end ? on(end) : { x: start.x + width, y: place.y(endedAt) },
    flight,
    seenSent: sentAt >= begin,
    ending: endedAt > end ? 'open' : lost === null ? 'arrives' : 'lost',
    title: `${what}, ${lost === null ? 'arrives' : 'lost (the node is down)'} at ${place.moment(endedAt)}`,
  }
}
