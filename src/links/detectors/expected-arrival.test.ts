import { describe, expect, it } from 'vitest'
import {
  expectedArrival,
  firstArrival,
  lastOrigin,
  nextArrival,
  onlyOrigin,
  shiftArrivals,
} from './expected-arrival.ts'

const EVERY = 100
const WINDOW = 3
/** Heartbeats with these numbers and times of arrival. */
const heard = (first: readonly [number, number], ...rest: readonly (readonly [number, number])[]) =>
  rest.reduce((known, [seq, at]) => nextArrival(EVERY, WINDOW, known, seq, at), firstArrival(EVERY, ...first))

describe('the expected arrival', () => {
  it('follows the period after a single heartbeat', () => {
    const known = firstArrival(EVERY, 4, 1410)
    expect(known).toEqual({ seq: 4, origins: [1010], oldest: 0, base: 1010, sum: 0 })
    expect(expectedArrival(EVERY, known, 5)).toBe(1510)
  })

  it('is the mean over the window, in which the newest heartbeat replaces the oldest', () => {
    const three = heard([0, 1000], [1, 1130], [2, 1260])
    expect(three.origins).toEqual([1000, 1030, 1060])
    expect(expectedArrival(EVERY, three, 3)).toBe(1330)
    const four = nextArrival(EVERY, WINDOW, three, 3, 1300)
    expect(four.origins).toEqual([1000, 1030, 1060])
    const five = nextArrival(EVERY, WINDOW, four, 4, 1490)
    expect(five).toEqual({ seq: 4, origins: [1000, 1090, 1060], oldest: 2, base: 1000, sum: 150 })
    expect(expectedArrival(EVERY, five, 5)).toBe(1550)
  })

  it('counts the periods of lost heartbeats', () => {
    expect(expectedArrival(EVERY, heard([0, 1000], [4, 1440]), 5)).toBe(1520)
  })

  it('is rounded to a whole microsecond, the same wherever the clock stands', () => {
    const known = heard([0, 1000], [1, 1101])
    expect(expectedArrival(EVERY, known, 2)).toBe(1201)
    const shifted = shiftArrivals(known, 5)
    expect(shifted).toEqual({ seq: 1, origins: [1005, 1006], oldest: 0, base: 1005, sum: 1 })
    expect(expectedArrival(EVERY, shifted, 2)).toBe(1206)
  })
})

describe('the last origin', () => {
  it('is that of the newest heartbeat, also after the window has wrapped', () => {
    expect(lastOrigin(heard([0, 1000]))).toBe(1000)
    expect(lastOrigin(heard([0, 1000], [1, 1101]))).toBe(1001)
    expect(lastOrigin(heard([0, 1000], [1, 1101], [2, 1202], [3, 1303]))).toBe(1003)
    expect(lastOrigin(heard([0, 1000], [1, 1101], [2, 1202], [3, 1303], [4, 1404]))).toBe(1004)
  })

  it('starts a new window by itself', () => {
    expect(onlyOrigin(7, 555)).toEqual({ seq: 7, origins: [555], oldest: 0, base: 555, sum: 0 })
  })
})
