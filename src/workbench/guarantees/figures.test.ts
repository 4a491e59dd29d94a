import { describe, expect, it } from 'vitest'
import type { PlannedTrial } from '../../protocols/index.ts'
import { catalogue } from '../../protocols/index.ts'
import { checkedOptions, EMPTY_TRIALS, type TrialTally } from '../sim/index.ts'
import { type Distribution, EMPTY_DISTRIBUTION, withCensored, withSample } from '../trace/distribution.ts'
import { figure, shapeOf, specsOf, statsOf, together } from './figures.ts'

const of = (...micros: readonly number[]): Distribution => micros.reduce(withSample, EMPTY_DISTRIBUTION)

describe('statistics', () => {
  it('are in milliseconds, to a hundredth', () => {
    expect(statsOf(of(1000, 2000, 4500))).toEqual({
      runs: 3,
      none: 0,
      meanMs: 2.5,
      p50Ms: 2,
      p99Ms: 4.5,
      maxMs: 4.5,
    })
    expect(statsOf(of(1234)).meanMs).toBe(1.23)
  })

  it('count the runs in which nothing happened', () => {
    expect(statsOf(withCensored(of(1000)))).toMatchObject({ runs: 2, none: 1, meanMs: 1 })
    expect(statsOf(withCensored(EMPTY_DISTRIBUTION))).toEqual({
      runs: 1,
      none: 1,
      meanMs: null,
      p50Ms: null,
      p99Ms: null,
      maxMs: null,
    })
  })

  it('can be of several trials together', () => {
    expect(together([of(1000), of(3000, 5000)])).toEqual(of(1000, 3000, 5000))
    expect(together([])).toEqual(EMPTY_DISTRIBUTION)
  })
})

describe('a figure', () => {
  const bound = { typical: 1500, worst: 3000 }
  const isExceeded = (...worlds: readonly [Distribution, Distribution | undefined]) =>
    figure('failover', bound, ...worlds)[0]?.exceeded

  it('has the computed times beside the measured ones', () => {
    expect(figure('failover', bound, of(1000), of(2000))).toEqual([
      {
        name: 'failover',
        computed: { typicalMs: 1.5, worstMs: 3 },
        punctual: statsOf(of(1000)),
        late: statsOf(of(2000)),
        exceeded: false,
      },
    ])
  })

  it('exceeds its bound in either kind of world, by time or by never happening', () => {
    expect(isExceeded(of(3000), undefined)).toBe(false)
    expect(isExceeded(of(3001), undefined)).toBe(true)
    expect(isExceeded(of(1), of(3001))).toBe(true)
    expect(isExceeded(withCensored(of(1)), undefined)).toBe(true)
  })

  it('is left out if nothing is promised or nothing was measured', () => {
    expect(figure('failover', null, of(1), of(1))).toEqual([])
    expect(figure('failover', bound, undefined, EMPTY_DISTRIBUTION)).toEqual([])
  })
})

describe('the effect of a fault', () => {
  const trial = (
    restoredWithin: PlannedTrial['restoredWithin'],
    stoppedWithin: number | null = null,
  ): PlannedTrial => ({ name: 'cut', what: 'a cut', restoredWithin, stoppedWithin }) as PlannedTrial
  const tally = (restored: Distribution, stopped = EMPTY_DISTRIBUTION): TrialTally => ({
    ...EMPTY_TRIALS,
    restored,
    stopped,
  })

  it.each<[string, PlannedTrial['restoredWithin'], Distribution, boolean]>([
    ['in time', 2000, of(2000), false],
    ['too late', 2000, of(2001), true],
    ['never, although promised', 2000, withCensored(EMPTY_DISTRIBUTION), true],
    ['never, as promised', 'never', withCensored(EMPTY_DISTRIBUTION), false],
    ['although there must be none', 'never', of(5), true],
    ['with no promise', null, withCensored(of(1e9)), false],
  ])('a leader %s', (_what, promised, restored, isExceeded) => {
    expect(shapeOf(trial(promised), tally(restored)).exceeded).toBe(isExceeded)
  })

  it('includes when the old leader has stopped', () => {
    expect(shapeOf(trial('never', 1000), tally(EMPTY_DISTRIBUTION, of(900)))).toMatchObject({
      leaderWithinMs: 'never',
      stoppedWithinMs: 1,
      stopped: { maxMs: 0.9 },
      exceeded: false,
    })
    expect(shapeOf(trial('never', 1000), tally(EMPTY_DISTRIBUTION, of(1100))).exceeded).toBe(true)
  })
})

it('counts the violations of each promised specification over all trials', () => {
  const definition = catalogue.find('bully')
  if (definition === null) throw new Error('no protocol bully')
  const options = checkedOptions(definition, [1, 2, 3], {})
  const violated = (spec: string, why: string): TrialTally => ({
    ...EMPTY_TRIALS,
    violations: [{ seed: 1, spec, why }],
  })
  const { promises } = definition.keeps(options)
  const [first = '', ...others] = promises
  expect(
    specsOf(definition, options, [violated(first, 'one'), EMPTY_TRIALS, violated(first, 'two')]),
  ).toEqual([
    { name: first, violations: 2, why: 'one' },
    ...others.map((name) => ({ name, violations: 0, why: null })),
  ])
})
