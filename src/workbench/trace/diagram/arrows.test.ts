import { describe, expect, it } from 'vitest'
import { arrowOf } from './arrows.ts'
import type { DiagramHistory, Flight } from './history.ts'
import type { Place } from './place.ts'

/** Lane n at 100 n, one microsecond per pixel. */
const PLACE: Place = {
  x: (node) => Number(node) * 100,
  y: (at) => at,
  lanePx: 100,
  left: 0,
  edge: 400,
  moment: (at) => `${at} µs`,
}
const HISTORY = { begin: 100, end: 900 } as DiagramHistory
const flight = (change: Partial<Flight> = {}): Flight => ({
  from: 1,
  to: 3,
  bodies: [{ kind: 'vote', n: 4 }],
  kind: 'vote',
  sentAt: 200,
  endedAt: 400,
  lost: null,
  ...change,
})
const arrow = (change: Partial<Flight> = {}) => {
  const { flight: _, ...rest } = arrowOf(flight(change), HISTORY, PLACE)
  return rest
}

describe('the line of a message', () => {
  it('goes from lane to lane, from its send to its arrival', () => {
    expect(arrow()).toEqual({
      from: { x: 100, y: 200 },
      to: { x: 300, y: 400 },
      seenSent: true,
      ending: 'arrives',
      title: 'vote(n 4) from 1 to 3, sent at 200 µs, arrives at 400 µs',
    })
  })
  it('ends at the lane of a node that is down', () => {
    expect(arrow({ lost: 'down' })).toMatchObject({
      to: { x: 300, y: 400 },
      ending: 'lost',
      title: 'vote(n 4) from 1 to 3, sent at 200 µs, lost (the node is down) at 400 µs',
    })
  })
  it('ends half a lane before the target if the message is lost on its way', () => {
    expect(arrow({ lost: 'cut', endedAt: 200 })).toMatchObject({
      to: { x: 250, y: 230 },
      ending: 'lost',
      title: 'vote(n 4) from 1 to 3, sent at 200 µs, lost (cut)',
    })
    expect(arrow({ from: 3, to: 2, lost: 'chance', endedAt: 200 }).to).toEqual({ x: 250, y: 218 })
  })
  it('stays open while the message is in flight', () => {
    expect(arrow({ endedAt: null })).toMatchObject({
      to: { x: 250, y: 230 },
      ending: 'open',
      title: 'vote(n 4) from 1 to 3, sent at 200 µs, in flight',
    })
  })
  it('begins at the top edge if the message was sent before', () => {
    expect(arrow({ sentAt: 0, endedAt: 200 })).toMatchObject({
      from: { x: 200, y: 100 },
      to: { x: 300, y: 200 },
      seenSent: false,
    })
  })
  it('ends at the bottom edge if the message arrives later', () => {
    expect(arrow({ sentAt: 800, endedAt: 1000 })).toMatchObject({
      to: { x: 200, y: 900 },
      ending: 'open',
    })
  })
})
