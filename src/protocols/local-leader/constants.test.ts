/** The constants of local-leader, against the bounds that they must keep, for many networks. */
import { describe, expect, it } from 'vitest'
import { ids } from '../../../test/support/run.ts'
import { present } from '../../core/index.ts'
import { Random } from '../../workbench/scenario/random.ts'
import { adaptiveTimingOf } from './adaptive.ts'
import {
  ampleFast,
  brokenBounds,
  type Given,
  kappaOf,
  leadsWithinOf,
  paperKappaOf,
  reachableWithinOf,
  timingOf,
} from './constants.ts'
import { localLeaderOptions } from './options.ts'
import { PROFILES } from './profiles.ts'

/** A network with round numbers and clocks that do not drift. */
const GIVEN: Given = {
  mode: 'majority',
  rule: 'quorum',
  delay: 5000,
  leastDelay: 0,
  fast: 20_000,
  lateness: 10_000,
  rho: 0.0001,
  renewalInterval: 100_000,
  tries: 2,
  isTree: false,
  electionPeriod: null,
  expires: null,
}

/** Networks and hosts of any kind, with a Δ that is large enough. */
function drawGiven(random: Random): Given {
  const delay = random.integer(100, 50_000)
  const given: Given = {
    mode: random.pick(['local', 'majority']),
    rule: random.pick(['quorum', 'equality']),
    delay,
    leastDelay: random.integer(0, delay),
    fast: 3 * delay,
    lateness: random.integer(0, 30_000),
    rho: random.pick([1e-6, 1e-4, 1e-3]),
    renewalInterval: random.integer(1000, 2_000_000),
    tries: random.integer(1, 4),
    isTree: random.chance(0.2),
    electionPeriod: null,
    expires: null,
  }
  return given
}
const DRAWN: readonly Given[] = Array.from({ length: 200 }, (_, seed) => drawGiven(new Random(seed + 1)))

describe('derived constants', () => {
  it('follow from the given ones', () => {
    const timing = timingOf({ ...GIVEN, rho: 0.0001 })
    expect(timing.roundTrip).toBe(40_004)
    expect(timing.tryTime).toBe(50_004)
    expect(timing.lease).toBeGreaterThanOrEqual(100_000 + 2 * 50_004)
    expect(timing.renewalPeriod).toBe(timing.lease - 2 * timing.tryTime)
    expect(timing.retirement).toBe(20 * timing.lockTime)
    expect(timingOf({ ...GIVEN, isTree: true }).collection).toBe(80_008)
  })

  it('leave room for the interval and every try within a lease', () => {
    for (const given of DRAWN) {
      const { lease, renewalPeriod, tryTime } = timingOf(given)
      expect(renewalPeriod).toBeGreaterThanOrEqual(given.renewalInterval)
      expect(lease).toBeGreaterThanOrEqual(given.renewalInterval + given.tries * tryTime)
    }
  })

  it('let a lock outlast its lease on any two clocks', () => {
    for (const given of DRAWN) {
      const { lease, lockTime, silence } = timingOf(given)
      // The holder on the slowest clock, the voter on the fastest.
      expect(lease / (1 - given.rho)).toBeLessThanOrEqual(lockTime / (1 + given.rho))
      expect(silence / (1 + given.rho)).toBeGreaterThanOrEqual(lockTime)
    }
  })

  it('let the next candidacy of a node come after its last lock', () => {
    for (const given of DRAWN) {
      const { electionPeriod, lockTime } = timingOf(given)
      expect(electionPeriod).toBeGreaterThan(lockTime)
    }
  })

  it('allow for two lost heartbeats before a node counts as unreachable', () => {
    for (const given of DRAWN) {
      const { heartbeat, expires } = timingOf(given)
      expect(3 * heartbeat).toBeLessThan(expires)
    }
  })

  it('keep their own bounds, except for a Δ that is too small', () => {
    for (const given of DRAWN)
      expect(brokenBounds(given).filter(({ option }) => option !== 'fastMs')).toEqual([])
  })
})

describe('heartbeat suppression', () => {
  /** Renewals are frequent enough. */
  const OFTEN: Given = { ...GIVEN, renewalInterval: 50_000 }

  it('is possible only in majority mode by quorum, without a tree', () => {
    expect(timingOf(OFTEN).suppression).not.toBeNull()
    expect(timingOf({ ...OFTEN, mode: 'local' }).suppression).toBeNull()
    expect(timingOf({ ...OFTEN, rule: 'equality' }).suppression).toBeNull()
    expect(timingOf({ ...OFTEN, isTree: true }).suppression).toBeNull()
  })

  it('waits for a renewal, and then leaves time for heartbeats and the answer of the leader', () => {
    let judged = 0
    for (const given of DRAWN) {
      const { suppression, renewalPeriod, expires, fast, lateness } = timingOf(given)
      if (suppression === null) continue
      judged += 1
      expect(suppression.patience).toBeGreaterThan(renewalPeriod)
      expect(suppression.patience + 2 * fast + lateness).toBeLessThanOrEqual(expires)
      expect([1, 2, 3, 4]).toContain(suppression.rounds)
    }
    expect(judged).toBeGreaterThan(5)
  })

  it.each(Object.keys(PROFILES))(
    'waits for more than two renewals where leases tune themselves, and still leaves that time: %s',
    (profile) => {
      const options = localLeaderOptions(ids(3)).parse({ profile, timing: 'adaptive' })
      const { bounds, timingAt } = present(adaptiveTimingOf(options, 3), 'adaptive timing')
      for (let level = bounds.least; level <= bounds.most; level++) {
        const { suppression, renewalPeriod, expires, delay, lateness } = timingAt(level)
        const { patience } = present(suppression, 'suppression')
        expect(patience).toBeGreaterThan(2.2 * renewalPeriod)
        expect(patience + 2 * delay + lateness).toBeLessThanOrEqual(expires)
      }
    },
  )

  it('makes reachability older, by two of its intervals', () => {
    const timing = timingOf(OFTEN)
    const without = reachableWithinOf({ ...timing, suppression: null })
    const longest = timing.suppression?.longest ?? 0
    expect(reachableWithinOf(timing) - without).toBeGreaterThanOrEqual(2 * longest)
  })
})

describe('broken bounds', () => {
  const broken = (change: Partial<Given>) => brokenBounds({ ...GIVEN, ...change })

  it('are none for a valid network', () => {
    expect(broken({})).toEqual([])
  })
  it('name the option, both sides and the nearest valid value', () => {
    expect(broken({ fast: 9999 })).toEqual([
      { option: 'fastMs', bound: 'Δ ≥ (2δ − δmin)(1 + ρ)', left: 9.999, right: 10.001, nearest: 10.001 },
    ])
    expect(broken({ leastDelay: 6000 })[0]).toMatchObject({ option: 'deltaMs', left: 5, right: 6 })
  })
  it('include a lease that is too short for its tries', () => {
    const [first] = broken({ electionPeriod: 150_000 })
    expect(first).toMatchObject({ option: 'electionPeriodMs', right: 200.008 })
    expect(broken({ electionPeriod: Math.ceil((first?.nearest ?? 0) * 1000) })).toEqual([])
  })
  it('include a node that counts as unreachable before its lock expires', () => {
    expect(broken({ expires: 100_000 })[0]).toMatchObject({
      option: 'expiresMs',
      bound: 'expires ≥ lockTime',
    })
  })
  it('require an ample Δ where all nodes must support the leader, and name an ample value', () => {
    for (const given of DRAWN) {
      const wrong = brokenBounds(given).find(({ option }) => option === 'fastMs')
      if (wrong === undefined) continue
      const mended = { ...given, fast: Math.ceil(wrong.nearest * 1000) }
      expect(brokenBounds(mended)).toEqual([])
      expect(ampleFast(timingOf(mended))).toBeLessThanOrEqual(mended.fast)
    }
  })
})

describe('the bound κ', () => {
  it('is longer than what the paper prints', () => {
    for (const given of DRAWN) {
      const timing = timingOf(given)
      expect(kappaOf(timing)).toBeGreaterThan(paperKappaOf(timing))
    }
  })
  it('is longer in majority mode, and longer still until some node leads', () => {
    const timing = timingOf(GIVEN)
    expect(kappaOf(timing)).toBeGreaterThan(kappaOf({ ...timing, mode: 'local' }))
    expect(leadsWithinOf(timing) - kappaOf(timing)).toBe(
      Math.ceil((2 * timing.expires + timing.candidacy) * (1 + timing.rho)),
    )
  })
})
