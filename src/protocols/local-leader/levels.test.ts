import { describe, expect, it } from 'vitest'
import { timingOf } from './constants.ts'
import {
  boundsBetween,
  HIGHEST_LEVEL,
  LOCKS,
  LONGEST_LOCK,
  levelFor,
  lockAt,
  storedLockFor,
  withinBounds,
} from './levels.ts'
import { givenBy, localLeaderOptions } from './options.ts'
import { brokenLockBound, canRelax, coveringLock, drawnLevel, initialPace, longestAfter } from './pace.ts'
import { PROFILES } from './profiles.ts'
import { timingForLock, timingWithin } from './scaled-timing.ts'

const BOUNDS = { least: 4, most: 12, shortest: 20_000, longest: 120_000 }

describe('the ladder', () => {
  it('grows by a quarter per level, from 8 ms to more than a minute, in whole microseconds', () => {
    expect(LOCKS.slice(0, 6)).toEqual([8192, 10_240, 12_800, 16_000, 20_000, 25_000])
    expect(LONGEST_LOCK).toBeGreaterThan(60_000_000)
    for (const [level, lock] of LOCKS.entries()) {
      expect(Number.isSafeInteger(lock)).toBe(true)
      if (level > 0) expect(lock / lockAt(level - 1)).toBeCloseTo(1.25, 3)
    }
  })

  it('finds the lowest level whose lock is long enough', () => {
    for (const [level, lock] of LOCKS.entries()) {
      expect(levelFor(lock)).toBe(level)
      expect(levelFor(lock - 1)).toBe(level)
      if (level < HIGHEST_LEVEL) expect(levelFor(lock + 1)).toBe(level + 1)
    }
    expect([levelFor(0), levelFor(Number.MAX_SAFE_INTEGER)]).toEqual([0, HIGHEST_LEVEL])
  })

  it('has a level between two bounds that are a quarter apart', () => {
    for (let shortest = 10_000; shortest < 48_000_000; shortest = Math.ceil(shortest * 1.0103)) {
      const bounds = boundsBetween(shortest, Math.ceil(shortest * 1.26))
      expect(bounds, `${shortest}`).not.toBeNull()
      if (bounds === null) return
      expect(lockAt(bounds.least)).toBeGreaterThanOrEqual(shortest)
      expect(lockAt(bounds.most)).toBeLessThanOrEqual(shortest * 1.26 + 1)
    }
    expect(boundsBetween(21_000, 22_000)).toBeNull()
    expect(boundsBetween(50_000_000, 70_000_000)?.least).toBe(HIGHEST_LEVEL)
    expect(boundsBetween(LONGEST_LOCK + 1, 2 * LONGEST_LOCK)).toBeNull()
  })

  it('keeps a level within bounds', () => {
    expect([-3, 4, 7, 99].map((level) => withinBounds(BOUNDS, level))).toEqual([4, 4, 7, 12])
  })
})

describe('the constants of a level', () => {
  const given = (profile: string, options: object = {}) =>
    givenBy(localLeaderOptions([1, 2, 3]).parse({ profile, ...options }), 3)

  it.each(Object.keys(PROFILES))('of %s keep all bounds of the protocol', (profile) => {
    for (const rhoPpm of [1, 100, 2000]) {
      const fastMs = profile === 'wan' ? 300 : null
      for (const [level, lock] of LOCKS.entries()) {
        const timing = timingForLock(given(profile, { rhoPpm, fastMs }), lock)
        const { lease, renewalPeriod, tries, tryTime, delay, leastDelay, fast, rho, expires } = timing
        expect(timing.lockTime).toBe(lock)
        expect(lease).toBeLessThanOrEqual(lock * (1 - 2 * rho))
        expect(renewalPeriod, `${level}`).toBe(lease - tries * tryTime)
        expect(renewalPeriod, `${level}`).toBeGreaterThan(0)
        expect(expires).toBeGreaterThanOrEqual(lock)
        // Below the least delay of a network no level can work.
        if (delay > leastDelay) expect(fast).toBeGreaterThanOrEqual((2 * delay - leastDelay) * (1 + rho))
      }
    }
  })

  it('are those of the profile at its own lock, up to rounding', () => {
    const fixed = timingOf(given('lan'))
    const scaled = timingForLock(given('lan'), fixed.lockTime)
    for (const name of ['fast', 'lateness', 'tryTime', 'lease', 'expires', 'heartbeat'] as const)
      expect(Math.abs(scaled[name] - fixed[name])).toBeLessThanOrEqual(2)
    expect(scaled.suppression?.rounds).toBe(fixed.suppression?.rounds)
  })

  it('suppress heartbeats for more rounds where these are short, but hardly for longer', () => {
    const quiet = LOCKS.map((lock) => timingForLock(given('lan'), lock)).flatMap(
      ({ suppression, renewalPeriod }) => (suppression === null ? [] : [[suppression.rounds, renewalPeriod]]),
    ) as (readonly [rounds: number, period: number])[]
    expect(Math.max(...quiet.map(([rounds]) => rounds))).toBe(8)
    for (const [rounds, period] of quiet) if (rounds > 4) expect(rounds * period).toBeLessThanOrEqual(200_000)
  })

  it.each(Object.keys(PROFILES))(
    'of %s let followers know of a leader until its next round, however late',
    (profile) => {
      for (const lock of LOCKS.slice(2)) {
        const { tries, tryTime, renewalPeriod, lateness, fast } = timingForLock(given(profile), lock)
        // A request shows what is left of the lease before it is renewed.
        expect(tries * tryTime).toBeGreaterThanOrEqual(renewalPeriod + lateness)
        expect(tries * tryTime).toBeGreaterThan(renewalPeriod + fast)
      }
    },
  )

  it('are lenient at the highest level that a node can use: a message may take a third of the lock', () => {
    const timing = timingForLock(given('lan'), lockAt(12))
    const at12 = (ceiling: number, bounds = BOUNDS) => timingWithin({ bounds, level: 12, ceiling }, timing)
    const highest = at12(12)
    expect(highest.heard).toBe(Math.floor(lockAt(12) / 3))
    expect(highest.collection).toBeGreaterThanOrEqual(highest.heard)
    expect({ ...highest, heard: 0, collection: 0 }).toEqual({ ...timing, heard: 0, collection: 0 })
    expect(at12(13)).toBe(timing)
    expect(at12(12, { ...BOUNDS, least: 12, most: 12 })).toEqual(highest)
    expect(at12(12, { least: 12, most: 12, shortest: lockAt(12), longest: lockAt(12) })).toBe(timing)
  })
})

describe('the longest lock that a node has granted', () => {
  const pace = initialPace(BOUNDS, 6, 3, 1000)

  it('is stored in steps, and never beyond the longest lock that the node grants', () => {
    expect(storedLockFor(20_000, BOUNDS)).toBe(lockAt(6))
    expect(storedLockFor(lockAt(6), BOUNDS)).toBe(lockAt(6))
    expect(storedLockFor(lockAt(11), BOUNDS)).toBe(lockAt(12))
    expect(storedLockFor(119_500, BOUNDS)).toBe(120_000)
    const writes = new Set(LOCKS.slice(4, 13).map((lock) => storedLockFor(lock, BOUNDS)))
    expect(writes.size).toBe(3)
  })

  it('grows at once', () => {
    expect(longestAfter(20_000, pace, 25_000, 5000)).toEqual({ longestLock: lockAt(6), largeAt: 5000 })
  })

  it('may be halved only when no lock longer than half of it was granted for twenty times as long', () => {
    const later = (lock: number) => longestAfter(100_000, pace, lock, 2_001_000)
    expect(later(50_000)).toEqual({ longestLock: 100_000, largeAt: 1000 })
    expect(later(50_001)).toEqual({ longestLock: 100_000, largeAt: 2_001_000 })
    expect([2_000_999, 2_001_000].map((now) => canRelax(100_000, pace, 20, now))).toEqual([false, true])
  })
})

describe('a lock', () => {
  it('outside the bounds is refused by the name of the bound', () => {
    const pace = initialPace(BOUNDS, 6, 3, 0)
    expect(brokenLockBound(pace, 19_999)).toEqual({ name: 'leaseMinMs', micros: 20_000 })
    expect(brokenLockBound(pace, 120_001)).toEqual({ name: 'leaseMaxMs', micros: 120_000 })
    expect([20_000, 120_000].map((lock) => brokenLockBound(pace, lock))).toEqual([null, null])
  })

  it('of new voters covers the lease that the old ones protect', () => {
    for (const rho of [0.000_1, 0.01])
      for (const left of [1, 5000, 123_457]) {
        const lock = coveringLock(1000, 7000 + left, 7000, rho)
        expect(Math.floor(lock * (1 - 2 * rho))).toBeGreaterThanOrEqual(left)
        expect(lock).toBeGreaterThanOrEqual(1000)
      }
  })

  it('that is drawn for a test stays within the bounds, and uses them all', () => {
    const levels = Array.from({ length: 200 }, (_, counter) =>
      drawnLevel(BOUNDS, 1, { incarnation: 1, counter }, 'lock'),
    )
    expect([...new Set(levels)].sort((a, b) => a - b)).toEqual([4, 5, 6, 7, 8, 9, 10, 11, 12])
  })
})
