import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { checkSeldom, hostClock, MAX_CHECK_INTERVAL, MIN_SUSPENSION, openHostClock } from './clock.ts'

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

  it('reports nothing while both run, for any granularity', () => {
    const { clock, pass } = clocks()
    for (let each = 0; each < 1000; each++) {
      pass(777)
      expect(clock.suspendedFor()).toBe(0)
    }
  })

  it('reports a sleep once, to within its resolution', () => {
    const { clock, pass } = clocks()
    pass(123_456)
    clock.suspendedFor()
    pass(500, 3_000_000)
    expect(Math.abs(clock.suspendedFor() - 3_000_000)).toBeLessThanOrEqual(20_000)
    pass(500)
    expect(clock.suspendedFor()).toBe(0)
  })

  it('reports nothing when the thread is delayed between two readings', () => {
    const time = { now: 1_000_000, reads: 0 }
    // Now and then the process stops after a reading, for longer than any sleep that counts.
    const held = (value: number): number => {
      time.reads += 1
      time.now += time.reads % 7 === 0 ? 60_000 : 100
      return value
    }
    const clock = hostClock(
      () => held(Math.floor((time.now + 5_000_000) / 10_000) * 10_000),
      () => held(time.now),
    )
    for (let each = 0; each < 1000; each++) expect(clock.suspendedFor()).toBe(0)
  })

  it('is read periodically, and at once when the wall clock has run ahead', () => {
    const time = { now: 1_000_000, wall: 5_000_000, slept: 0, asked: 0 }
    const counted = {
      now: () => time.now,
      suspendedFor() {
        time.asked += 1
        const { slept } = time
        time.slept = 0
        return slept
      },
      close() {},
    }
    const clock = checkSeldom(counted, () => Math.floor(time.wall / 1000))
    const pass = (micros: number, asleep = 0, set = 0): number => {
      time.now += micros
      time.wall += micros + asleep + set
      time.slept += asleep
      return clock.suspendedFor()
    }
    for (let each = 0; each < 1000; each++) expect(pass(1000)).toBe(0)
    expect(time.asked).toBeLessThanOrEqual(51)
    expect(pass(500, MIN_SUSPENSION)).toBe(MIN_SUSPENSION)
    expect(pass(500)).toBe(0)
    // When the wall clock is set ahead, the second clock is read and shows no sleep. When it is set back during a
    // sleep, the second clock is read when it is due.
    expect(pass(500, 0, 3_600_000_000)).toBe(0)
    let [noticed, later] = [pass(500, 50_000, -50_000), 500]
    while (noticed === 0) {
      noticed = pass(500)
      later += 500
    }
    expect([noticed, later <= MAX_CHECK_INTERVAL]).toEqual([50_000, true])
  })

  it('is missing on some hosts: then no sleep is ever reported', () => {
    const clock = openHostClock('/no/such/file')
    expect(clock.suspendedFor()).toBe(0)
  })

  it.each([
    ['100.00 5.00', '103.50 5.00', 3_500_000],
    ['9.99 5', '100.25 5', 90_260_000],
    ['7 5', '8 5', 1_000_000],
    ['86400.5', '86401.75', 1_250_000],
  ])('is the first number of its file: from %j to %j', (before, after, slept) => {
    const file = join(mkdtempSync(join(tmpdir(), 'conclave-clock-')), 'uptime')
    writeFileSync(file, before)
    const clock = openHostClock(file)
    writeFileSync(file, after)
    const began = clock.now()
    let by = 0
    while (by === 0 && clock.now() - began < 1_000_000) by = clock.suspendedFor()
    expect(Math.abs(by - slept)).toBeLessThan(500_000)
    clock.close()
    rmSync(dirname(file), { recursive: true })
  })

  it('of this host runs at the rate of the first', () => {
    const clock = openHostClock()
    const began = clock.now()
    while (clock.now() - began < 30_000) expect(clock.suspendedFor()).toBe(0)
    clock.close()
  })
})
