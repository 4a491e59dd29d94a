import { describe, expect, it } from 'vitest'
import { hostClock, openHostClock } from './clock.ts'

describe('the second clock', () => {
  const clocks = () => {
    const time = { monotonic: 1_000_000, boot: 90_000_000 }
    const clock = hostClock(
      () => Math.floor(time.boot / 10_000) * 10_000,
      () => time.monotonic,
    )
    const pass = (micros: number, asleep = 0): void => {
      time.monotonic += micros
      time.boot += micros + asleep
    }
    return { clock, pass }
  }

  it('tells nothing while both run, whatever its steps', () => {
    const { clock, pass } = clocks()
    for (let each = 0; each < 1000; each++) {
      pass(777)
      expect(clock.sleptFor()).toBe(0)
    }
  })

  it('tells a sleep once, to within its steps', () => {
    const { clock, pass } = clocks()
    pass(123_456)
    clock.sleptFor()
    pass(500, 3_000_000)
    expect(Math.abs(clock.sleptFor() - 3_000_000)).toBeLessThanOrEqual(20_000)
    pass(500)
    expect(clock.sleptFor()).toBe(0)
  })

  it('tells nothing when whoever reads is held up between two readings', () => {
    const time = { now: 1_000_000, reads: 0 }
    // Every so often the process stands still after a reading, for longer than any sleep that counts.
    const held = (value: number): number => {
      time.reads += 1
      time.now += time.reads % 7 === 0 ? 60_000 : 100
      return value
    }
    const clock = hostClock(
      () => held(Math.floor((time.now + 5_000_000) / 10_000) * 10_000),
      () => held(time.now),
    )
    for (let each = 0; each < 1000; each++) expect(clock.sleptFor()).toBe(0)
  })

  it('is missing on some hosts: then nothing is ever told', () => {
    const clock = openHostClock('/no/such/file')
    expect(clock.sleptFor()).toBe(0)
  })

  it('of this host runs with the first', () => {
    const clock = openHostClock()
    const began = clock.now()
    while (clock.now() - began < 30_000) expect(clock.sleptFor()).toBe(0)
    clock.close()
  })
})
