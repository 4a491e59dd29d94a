import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonical, type Micros, type Plain, whyNotPlain } from '../../core/index.ts'
import { bertier } from './bertier.ts'
import { capSilence } from './capped.ts'
import type { Estimator } from './estimator.ts'
import { fixedTimeout } from './fixed.ts'
import { nfdE } from './nfd-e.ts'
import { minusLog10Tail, normalTailAt } from './normal-tail.ts'
import { phi } from './phi.ts'
import { reliable, reliableTimes } from './reliable.ts'

/** The same cases in every run. */
const STABLE = { seed: 3 }
const EVERY = 50_000
const WINDOW = 10
const timing = { heartbeatEvery: EVERY, window: WINDOW }
const BOUNDS = { heartbeatEvery: EVERY, maxDelay: 20_000, minDelay: 1000, step: 1000, drift: 1e-4 }

const estimators: readonly (readonly [string, Estimator])[] = [
  ['fixed', fixedTimeout(200_000)],
  ['nfd-e', nfdE({ ...timing, alpha: 60_000 })],
  ['bertier', bertier({ ...timing, marginFloor: 5000 })],
  ['phi', phi({ ...timing, threshold: 8, sigmaFloor: 5000, pause: 0 })],
  ['reliable', reliable(BOUNDS)],
  ['nfd-e, capped', capSilence(nfdE({ ...timing, alpha: 60_000 }), 130_000)],
]

type Beat = { readonly seq: number; readonly at: Micros }

/** Heartbeats as a link that keeps its order delivers them: some lost, some late, now and then a new sequence. */
const beats: fc.Arbitrary<readonly Beat[]> = fc
  .array(
    fc.record({
      delay: fc.integer({ min: 0, max: 300_000 }),
      skipped: fc.constantFrom(0, 0, 0, 1, 3),
      restarts: fc.constantFrom(false, false, false, false, false, true),
    }),
    { minLength: 1, maxLength: 40 },
  )
  .map((drawn) => {
    let seq = 0
    let sentAt = 1_000_000
    let last = 0
    return drawn.map(({ delay, skipped, restarts }) => {
      seq = restarts ? 0 : seq + 1 + skipped
      sentAt += EVERY * (1 + skipped)
      last = Math.max(last, sentAt + delay)
      return { seq, at: last }
    })
  })

function feed(
  estimator: Estimator,
  series: readonly Beat[],
): { readonly estimate: Plain; readonly until: Micros } {
  const first = estimator.begin(null, (series[0] as Beat).at - 1000)
  let { estimate } = first
  let until = first.trustedUntil
  for (const { seq, at } of series) {
    const judged = estimator.arrival(estimate, seq, at)
    estimate = judged.estimate
    until = judged.trustedUntil
  }
  return { estimate, until }
}

describe.each(estimators)('%s', (_name, estimator) => {
  it('does the same later, later: shift moves every instant and nothing else', () => {
    fc.assert(
      fc.property(beats, fc.integer({ min: 1, max: 1e12 }), (series, by) => {
        const here = feed(estimator, series)
        const there = feed(
          estimator,
          series.map(({ seq, at }) => ({ seq, at: at + by })),
        )
        expect(there.until).toBe(here.until + by)
        expect(canonical(estimator.shift(here.estimate, by))).toBe(canonical(there.estimate))
      }),
      STABLE,
    )
  })

  it('keeps plain data and trusts until a whole microsecond', () => {
    fc.assert(
      fc.property(beats, (series) => {
        const { estimate, until } = feed(estimator, series)
        expect(whyNotPlain(estimate)).toBeNull()
        expect(Number.isSafeInteger(until)).toBe(true)
      }),
      STABLE,
    )
  })

  it('changes nothing when the same heartbeat comes twice at once', () => {
    fc.assert(
      fc.property(beats, (series) => {
        const { estimate, until } = feed(estimator, series)
        const last = series.at(-1) as Beat
        const again = estimator.arrival(estimate, last.seq, last.at)
        expect(again.estimate).toBe(estimate)
        expect(again.trustedUntil).toBe(until)
      }),
      STABLE,
    )
  })

  it('resets with a new sequence', () => {
    fc.assert(
      fc.property(beats, (series) => {
        const last = series.at(-1) as Beat
        const fresh = { seq: 0, at: last.at + EVERY }
        const known = feed(estimator, [...series, { seq: last.seq + 5, at: last.at + 5 }, fresh])
        expect(known).toEqual(feed(estimator, [fresh]))
      }),
      STABLE,
    )
  })
})

/** The same estimator, impatient and patient. */
const patience: readonly (readonly [string, Estimator, Estimator])[] = [
  ['fixed: timeout', fixedTimeout(200_000), fixedTimeout(200_001)],
  ['bertier: floor', bertier({ ...timing, marginFloor: 0 }), bertier({ ...timing, marginFloor: 9000 })],
  ['phi: threshold', phiWith({ threshold: 2 }), phiWith({ threshold: 8 })],
  ['phi: floor', phiWith({ sigmaFloor: 0 }), phiWith({ sigmaFloor: 30_000 })],
  ['phi: pause', phiWith({ pause: 0 }), phiWith({ pause: 10_000 })],
  ['reliable: delay', reliable(BOUNDS), reliable({ ...BOUNDS, maxDelay: 30_000 })],
  ['reliable: drift', reliable(BOUNDS), reliable({ ...BOUNDS, drift: 0.01 })],
  ['cap', capSilence(phiWith({}), 60_000), capSilence(phiWith({}), 90_000)],
  ['capped or not', capSilence(phiWith({}), 60_000), phiWith({})],
]

function phiWith(settings: { readonly threshold?: number; sigmaFloor?: Micros; pause?: Micros }): Estimator {
  return phi({ ...timing, threshold: 8, sigmaFloor: 5000, pause: 0, ...settings })
}

it.each(patience)('%s: more of it never means less trust', (_name, impatient, patient) => {
  fc.assert(
    fc.property(beats, (series) => {
      expect(feed(patient, series).until).toBeGreaterThanOrEqual(feed(impatient, series).until)
    }),
    STABLE,
  )
})

// Phi is left out: an interval that fits the others makes it more certain, and so less patient, than a longer one.
// So is the reliable detector: for it a longer silence is a verdict.
it.each(estimators.filter(([name]) => name !== 'phi' && name !== 'reliable'))(
  '%s: a later heartbeat, as punctual, never means less trust',
  (_name, estimator) => {
    fc.assert(
      fc.property(beats, fc.integer({ min: 1, max: 10 }), (series, more) => {
        const last = series.at(-1) as Beat
        const then = (periods: number): Beat => ({ seq: last.seq + periods, at: last.at + EVERY * periods })
        const nearer = feed(estimator, [...series, then(1)])
        const further = feed(estimator, [...series, then(1 + more)])
        expect(further.until).toBeGreaterThanOrEqual(nearer.until)
      }),
      STABLE,
    )
  },
)

/** Heartbeats with these delays, the first with number 1 sent at EVERY. */
function delayed(delays: readonly Micros[]): readonly Beat[] {
  return delays.map((delay, index) => ({ seq: index + 1, at: (index + 1) * EVERY + delay }))
}

const STEADY = Array.from({ length: 30 }, () => 10_000)

describe('a fixed timeout', () => {
  it('has no state that a heartbeat could change', () => {
    const estimator = fixedTimeout(200_000)
    expect(estimator.arrival(null, 3, 7)).toEqual({
      estimate: null,
      trustedUntil: 200_007,
    })
  })

  it('is postponed by a late heartbeat as NFD-E is not', () => {
    const crashAt = 31 * EVERY
    const series = delayed([...STEADY, 400_000])
    const fixed = feed(fixedTimeout(200_000), series)
    const chen = feed(nfdE({ ...timing, alpha: 150_000 }), series)
    expect(fixed.until - crashAt).toBe(600_000)
    // The late one moves the mean by a tenth of its lateness, and is itself too late to be trusted.
    expect(chen.until - crashAt).toBe(EVERY + 10_000 + 39_000 + 150_000)
    expect(chen.until).toBeLessThan(series.at(-1)?.at as number)
  })
})

describe('NFD-E', () => {
  const estimator = nfdE({ ...timing, alpha: 60_000 })

  it('trusts until eta + alpha after the average arrival: T_D <= eta + E(D) + alpha', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 30_000 }), { minLength: WINDOW, maxLength: 40 }),
        (delays) => {
          const crashAt = delays.length * EVERY
          const window = delays.slice(-WINDOW)
          const average = window.reduce((sum, delay) => sum + delay, 0) / window.length
          const { until } = feed(estimator, delayed(delays))
          expect(until - crashAt).toBeLessThanOrEqual(Math.ceil(EVERY + average + 60_000))
        },
      ),
      STABLE,
    )
  })

  it('follows a sender whose clock stood still from the second heartbeat on', () => {
    const jump = 3_000_000
    const series = delayed([...STEADY, 10_000 + jump, 10_000 + jump])
    const { until } = feed(estimator, series)
    expect(until).toBe(33 * EVERY + 10_000 + jump + 60_000)
    // And back, as when the monitor's own clock stood still.
    const back = delayed([...STEADY.map((delay) => delay + jump), 10_000, 10_000])
    expect(feed(estimator, back).until).toBe(33 * EVERY + 10_000 + 60_000)
  })

  it('does not take heartbeats that were held up together for a new timetable', () => {
    const held = [200_000, 150_000, 100_000, 50_000, 10_000, 10_000].map((delay) => delay + 60_000)
    const { estimate } = feed(estimator, delayed([...STEADY, ...held.slice(0, 3)]))
    expect((estimate as { origins: readonly Micros[] }).origins).toHaveLength(WINDOW)
  })
})

describe('Bertier', () => {
  it('follows the paper: EA + d + 4v with gamma 0.1', () => {
    const estimator = bertier({ ...timing, marginFloor: 0 })
    const { estimate, until } = feed(estimator, delayed([10_000, 20_000]))
    expect(estimate).toMatchObject({ delay: 1000, variation: 1000 })
    expect(until).toBe(3 * EVERY + 15_000 + 1000 + 4000)
  })

  it('leaves no margin on a steady network, but for the floor', () => {
    const bare = feed(bertier({ ...timing, marginFloor: 0 }), delayed(STEADY))
    const floored = feed(bertier({ ...timing, marginFloor: 5000 }), delayed(STEADY))
    expect(bare.until).toBe(31 * EVERY + 10_000)
    expect(floored.until).toBe(bare.until + 5000)
  })
})

describe('phi-accrual', () => {
  it('inverts the tail of the normal distribution', () => {
    // From tables: Q(1.281552) = 0.1, Q(3.090232) = 0.001, Q(5.612001) = 1e-8.
    expect([1, 3, 8].map(normalTailAt)).toEqual([1.281552, 3.090232, 5.612001])
    fc.assert(
      fc.property(fc.double({ min: 1, max: 100, noNaN: true }), (threshold) => {
        expect(Math.abs(minusLog10Tail(normalTailAt(threshold)) - threshold)).toBeLessThan(1e-4)
      }),
      STABLE,
    )
  })

  it('trusts until mean + z * sigma after the last heartbeat, and a pause', () => {
    const settings = { ...timing, threshold: 8, sigmaFloor: 0, pause: 7000 }
    const series = delayed([0, 10_000, 0, 10_000, 0])
    // Intervals 60, 40, 60, 40 ms: mean 50, deviation 10.
    expect(feed(phi(settings), series).until).toBe(5 * EVERY + 7000 + 50_000 + 56_120)
  })

  it('makes many mistakes without a floor under sigma, and few with one', () => {
    const mistakes = (sigmaFloor: Micros): number => {
      const estimator = phi({ ...timing, window: 30, threshold: 8, sigmaFloor, pause: 0 })
      let { estimate, trustedUntil } = estimator.begin(null, 0)
      let count = 0
      let state = 12_345
      for (let seq = 1; seq <= 5000; seq++) {
        // Mostly steady, one in fifty late by up to 100 ms: a small linear generator, the same on every machine.
        state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
        const isLate = state % 50 === 0
        const delay = isLate ? 1000 + (state % 100_000) : 1000 + (state % 200)
        const at = seq * EVERY + delay
        if (at > trustedUntil) count += 1
        const judged = estimator.arrival(estimate, seq, at)
        estimate = judged.estimate
        trustedUntil = judged.trustedUntil
      }
      return count
    }
    const bare = mistakes(0)
    expect(bare).toBeGreaterThan(20)
    expect(mistakes(25_000) * 10).toBeLessThan(bare)
  })
})

describe('the reliable detector', () => {
  it('computes its bounds', () => {
    const exact = { heartbeatEvery: 50_000, maxDelay: 20_000, minDelay: 1000, step: 1000, drift: 0 }
    expect(reliableTimes(exact)).toEqual({ between: 71_000, first: 72_000, detection: 92_000 })
    expect(reliableTimes({ ...exact, drift: 0.5 })).toEqual({
      between: 1.5 * (100_000 + 19_000 + 2000),
      first: 1.5 * (100_000 + 20_000 + 2000),
      detection: 21_000 + 3 * (100_000 + 19_000 + 2000),
    })
  })

  it('does not withdraw its verdict, except for a sender that restarts', () => {
    const estimator = reliable(BOUNDS)
    const { between } = reliableTimes(BOUNDS)
    const { estimate } = estimator.arrival(estimator.begin(null, 0).estimate, 7, 10_000)
    const late = estimator.arrival(estimate, 8, 10_001 + between)
    expect(late.trustedUntil).toBe(10_000 + between)
    expect(estimator.arrival(late.estimate, 9, 20_000 + between).trustedUntil).toBe(10_000 + between)
    expect(estimator.arrival(late.estimate, 0, 20_000 + between).trustedUntil).toBe(20_000 + 2 * between)
  })

  it('is never wrong while its bounds hold, and always in time', () => {
    const { between, detection } = reliableTimes(BOUNDS)
    const delay = fc.integer({ min: BOUNDS.minDelay, max: BOUNDS.maxDelay })
    const drift = fc.double({ min: -BOUNDS.drift, max: BOUNDS.drift, noNaN: true })
    const step = fc.integer({ min: 0, max: BOUNDS.step })
    const run = fc.record({
      delays: fc.array(delay, { minLength: 2, maxLength: 30 }),
      steps: fc.array(step, { minLength: 30, maxLength: 30 }),
      sender: drift,
      monitor: drift,
    })
    fc.assert(
      fc.property(run, ({ delays, steps, sender, monitor }) => {
        const estimator = reliable(BOUNDS)
        const sent = delays.map((_, index) => (index * EVERY) / (1 + sender) + (steps[index] as number))
        const arrivals = delays.map((each, index) => ((sent[index] as number) + each) * (1 + monitor))
        let { estimate } = estimator.begin(null, 0)
        for (const [seq, at] of arrivals.entries()) {
          expect(at).toBeLessThanOrEqual(estimate.deadline)
          estimate = estimator.arrival(estimate, seq, at).estimate
        }
        const crashAt = sent.at(-1) as number
        const suspectedAt = ((arrivals.at(-1) as number) + between) / (1 + monitor)
        expect(suspectedAt - crashAt).toBeLessThanOrEqual(detection)
      }),
      STABLE,
    )
  })
})
