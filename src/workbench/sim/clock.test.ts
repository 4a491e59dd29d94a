import fc from 'fast-check'
import { expect, it } from 'vitest'
import { Clock } from './clock.ts'

const time = fc.nat({ max: 10 ** 12 })
const drift = fc.double({ min: -1000, max: 1000, noNaN: true })

it('says when it will show a time: not before, and not later than it must', () => {
  fc.assert(
    fc.property(time, drift, time, time, (offset, ppm, from, ahead) => {
      const clock = new Clock(offset, ppm)
      const local = clock.at(from) + ahead
      const when = clock.whenShows(local)
      expect(clock.at(when)).toBeGreaterThanOrEqual(local)
      expect(clock.at(when - 2)).toBeLessThan(local)
    }),
  )
})

it('never runs backwards, and drifts by its rate', () => {
  const fast = new Clock(500, 100)
  expect(fast.at(0)).toBe(500)
  expect(fast.at(1_000_000)).toBe(500 + 1_000_100)
  fc.assert(
    fc.property(drift, time, fc.nat({ max: 1000 }), (ppm, at, later) => {
      const clock = new Clock(0, ppm)
      expect(clock.at(at + later)).toBeGreaterThanOrEqual(clock.at(at))
    }),
  )
})

it('stands still while its host is suspended, and goes on from there', () => {
  const clock = new Clock(0, 0)
  clock.stop(1000, 5000)
  expect(clock.at(5000)).toBe(1000)
  expect(clock.at(5500)).toBe(1500)
  expect(clock.whenShows(1500)).toBe(5500)
  expect([1000, 4000, 5000, 6000].map((at) => clock.standsFor(at))).toEqual([4000, 1000, 0, 0])
})

it('ignores a suspension within a suspension, and is prolonged by a longer one', () => {
  const clock = new Clock(0, 0)
  clock.stop(1000, 5000)
  clock.stop(2000, 3000)
  expect([1500, 3500, 5000, 5001].map((at) => clock.at(at))).toEqual([1000, 1000, 1000, 1001])
  clock.stop(5001, 6000)
  clock.stop(5500, 9000)
  expect([6000, 9000, 9009].map((at) => clock.at(at))).toEqual([1001, 1001, 1010])
})

it('runs at another rate from an event on', () => {
  const clock = new Clock(500, 0)
  expect(clock.detunedRate).toBe(1)
  clock.detune(1000, 1_000_000)
  expect([1000, 1010, 2000].map((at) => clock.at(at))).toEqual([1500, 1520, 3500])
  clock.detune(2000, -500_000)
  expect([2000, 2010, 3000].map((at) => clock.at(at))).toEqual([3500, 3505, 4000])
  expect([clock.detunedRate, clock.whenShows(4000)]).toEqual([0.5, 3000])
})

it('jumps, forwards and backwards', () => {
  const clock = new Clock(500, 0)
  clock.jump(1000, 300)
  expect([999, 1000, 1001].map((at) => clock.at(at))).toEqual([1800, 1800, 1801])
  clock.jump(2000, -1000)
  expect([clock.at(2000), clock.whenShows(2000)]).toEqual([1800, 2200])
})

it('changes its rate and jumps during a suspension, without waking', () => {
  const clock = new Clock(0, 0)
  clock.stop(1000, 5000)
  clock.detune(2000, 1_000_000)
  clock.jump(3000, 100)
  expect([3000, 5000, 5010].map((at) => clock.at(at))).toEqual([1100, 1100, 1120])
})

it('says how it runs from an instant on', () => {
  const clock = new Clock(500, 0)
  expect(clock.readings(100)).toEqual([{ from: 100, shows: 600, rate: 1 }])
  clock.stop(1000, 5000)
  expect(clock.readings(2000)).toEqual([
    { from: 2000, shows: 1500, rate: 0 },
    { from: 5000, shows: 1500, rate: 1 },
  ])
})
