import { expect, it } from 'vitest'
import { drawn } from '../engine/fixture.ts'
import type { Flight } from '../engine/picture.ts'
import { WELCOME } from '../welcome.ts'
import {
  countWhile,
  FlightIndex,
  leaseAt,
  networkAt,
  ownElapsed,
  roleAfter,
  stallAt,
  timersAt,
} from './look-up.ts'

const picture = drawn(WELCOME)
const [one, two] = picture.lanes

it('counts the entries before a place', () => {
  expect(countWhile([1, 3, 5], (each) => each < 4)).toBe(2)
  expect(countWhile([], () => true)).toBe(0)
  expect(countWhile([1, 3], () => true)).toBe(2)
})

it('finds the same messages as a search through all of them', () => {
  const index = new FlightIndex(picture.flights)
  for (let at = 0; at < picture.endsAt; at += 37_000) {
    const expected = picture.flights.filter(
      ({ sentAt, endedAt }) => sentAt <= at + 5000 && (endedAt === null || endedAt >= at),
    )
    expect(new Set(index.between(at, at + 5000))).toEqual(new Set(expected))
  }
})

it('finds the messages in flight after each moment', () => {
  const index = new FlightIndex(picture.flights)
  picture.moments.forEach(({ at }, moment) => {
    if (moment % 17 !== 0) return
    const expected = picture.flights.filter(
      ({ sentIn, endedIn }) => sentIn <= moment && (endedIn === null || endedIn > moment),
    )
    expect(new Set(index.after(moment, at))).toEqual(new Set(expected))
  })
})

it('finds a message by its number', () => {
  const index = new FlightIndex(picture.flights)
  const flight = picture.flights[5] as Flight
  expect(index.find(flight.message, flight.copy)).toBe(flight)
  expect(index.find(-1, 0)).toBeUndefined()
})

it('says what a node is and has at an instant', () => {
  if (one === undefined || two === undefined) throw new Error('the run has no nodes')
  const moment = countWhile(picture.moments, ({ at }) => at <= 560_000) - 1
  expect(roleAfter(one, moment)?.leads).toBe(true)
  expect(roleAfter(two, moment)?.leads).toBe(true)
  expect(roleAfter(one, -1)).toBe(null)
  expect(stallAt(one, 560_000)?.kind).toBe('suspended')
  expect(stallAt(one, 700_000)).toBe(null)
  const lease = leaseAt(one, 560_000)
  expect(lease?.until).toBeLessThan(560_000)
  expect(lease?.believed).toBeGreaterThan(560_000)
  expect(leaseAt(two, 300_000)).toBe(null)
  expect(timersAt(one, 560_000).map(({ name }) => name)).toContain('expire')
  expect(networkAt(picture, 0)?.closed).toEqual([])
})

it('shows that a suspended clock stays behind', () => {
  if (one === undefined) throw new Error('the run has no nodes')
  expect(Math.abs(ownElapsed(one, 399_000) - 399_000)).toBeLessThan(100)
  expect(ownElapsed(one, 800_000) - 800_000).toBeLessThan(-299_000)
})
