/** Locks that differ from request to request: what must hold, and the defects that the tools must catch. */
import { describe, expect, it } from 'vitest'
import { exploring, ids, simulate } from '../../../test/support/run.ts'
import { sized } from '../../../test/support/sizes.ts'
import { FAULT_KINDS, present } from '../../core/index.ts'
import { checkedOptions, runSeed, scenarioDrawer } from '../../workbench/sim/index.ts'
import { protocolNamed } from '../index.ts'

const definition = present(protocolNamed('local-leader'), 'local-leader')

/** Each request has a random lock between these bounds, independent of what nodes measure. */
const DRAWN = { timing: 'adaptive', levels: 'drawn', leaseMinMs: 60, leaseMaxMs: 500 } as const

/** The specifications that a campaign found violated. */
function violated(seeds: readonly [number, number], options: object): readonly string[] {
  const nodes = [3, 5] as const
  const chosen = { mode: 'majority', ...DRAWN, ...options }
  const draw = scenarioDrawer(definition, { nodes, options: chosen, faults: FAULT_KINDS })
  const found = new Set<string>()
  for (let seed = seeds[0]; seed <= seeds[1]; seed++) {
    for (const { spec } of runSeed(definition, draw, seed).violations) found.add(spec)
  }
  return [...found].sort()
}

describe('with a random lock for every request', () => {
  it('promises what does not depend on time', () => {
    const options = checkedOptions(definition, [1, 2, 3], DRAWN)
    expect(definition.keeps(options).promises).toEqual([
      'SO',
      'LS',
      'told-in-pairs',
      'views-disjoint',
      'one-leader',
      'tokens',
      'voter-changes',
    ])
  })

  it('keeps these promises over many seeds of faults', () => {
    expect(violated([1, sized(6, 400)], {})).toEqual([])
  }, 120_000)
})

/** The followers restart and are cut off from their leader, whose lease may still last. */
describe('simulated restarts of all followers, with a random lock for every request', () => {
  function violatedAfterRestart(misreading: string): readonly string[] {
    const found = new Set<string>()
    for (let seed = 1; seed <= sized(6, 60); seed++) {
      const { specs } = simulate({
        protocol: 'local-leader',
        nodes: ids(3),
        seed,
        network: { delayMs: [0.05, 0.5] },
        options: { ...DRAWN, leaseMinMs: 20, leaseMaxMs: 2000, misreading },
        events: [
          { atMs: 3000, partition: [[1], [2, 3]] },
          { atMs: 3000, crash: 2 },
          { atMs: 3000, crash: 3 },
          { atMs: 3005, recover: 2 },
          { atMs: 3005, recover: 3 },
        ],
        untilMs: 6000,
      })
      for (const { name, verdict } of specs) if (verdict === 'violated') found.add(name)
    }
    return [...found].sort()
  }

  it('never lead to a second leader', () => {
    expect(violatedAfterRestart('none')).toEqual([])
  })

  it.each(['forgotten-longest-lock', 'silence-of-present-level'])('do with the defect %s', (misreading) => {
    expect(violatedAfterRestart(misreading)).toContain('one-leader')
  })
})

describe('searched with three locks of one, two and three ticks', () => {
  const LEVELS = { timing: 'adaptive', leaseMinMs: 48, leaseMaxMs: 150 } as const
  const fifo = { order: 'fifo' } as const
  const budget = { crashes: 1, recoveries: 1, flips: 0, ticks: 1 }
  /** Here the level at which nodes start has the shortest lock. */
  const LOW = { ...LEVELS, deltaMs: 2.4, fastMs: 5, sigmaMs: 5, renewalIntervalMs: 18 } as const

  it('has no two leaders in all interleavings of two ticks, whichever lock each request has', () => {
    const report = exploring('local-leader', 3, {
      ...fifo,
      budget: { ...budget, crashes: 0, recoveries: 0, ticks: 2 },
      options: LEVELS,
      ...sized({ depth: 8 }, {}),
    })
    expect(report.counterexample).toBeNull()
    expect(report).toMatchObject(sized({ depth: 8 }, { complete: true, states: 2_610_550 }))
  }, 120_000)

  it('has none with a restart and a tick, up to a depth', () => {
    const report = exploring('local-leader', 3, { ...fifo, budget, options: LEVELS, depth: sized(7, 13) })
    expect(report.counterexample).toBeNull()
    expect(report.depth).toBe(sized(7, 13))
  }, 120_000)

  /** Simulated restarts catch the last two as well. */
  const DEFECTS: readonly [string, object, Partial<typeof budget>, number][] = [
    ['shortened-lock', { ...LEVELS, requests: 2 }, { crashes: 0, recoveries: 0 }, 9],
    ['lease-of-newest-level', LEVELS, { crashes: 0, recoveries: 0 }, 7],
    ['forgotten-longest-lock', LEVELS, {}, 10],
    ['silence-of-present-level', LOW, {}, 10],
  ]

  it.each(sized(DEFECTS.slice(0, 2), DEFECTS))(
    'has two with the defect %s',
    (misreading, options, bounds, steps) => {
      const { counterexample } = exploring('local-leader', 3, {
        ...fifo,
        budget: { ...budget, ...bounds },
        options: { ...options, misreading },
      })
      expect(counterexample?.spec).toBe('one-leader')
      expect(counterexample?.steps).toHaveLength(steps)
    },
    120_000,
  )
})

describe('the options', () => {
  it.each<[object, string]>([
    [{ leaseMinMs: 60 }, 'options.leaseMinMs: only works with timing: adaptive'],
    [
      { timing: 'adaptive', mode: 'local' },
      'options.timing: adaptive only works with mode: majority; use timing: fixed in local mode',
    ],
    [{ timing: 'adaptive', rule: 'equality' }, 'options.timing: adaptive only works with rule: quorum'],
    [
      { timing: 'adaptive', treeFrom: 3 },
      'options.timing: adaptive only works with fewer than 3 voters (treeFrom)',
    ],
    [
      { timing: 'adaptive', expiresMs: 900 },
      'options.expiresMs: follows from the length of leases with timing: adaptive',
    ],
    [
      { timing: 'adaptive', leaseMinMs: 500, leaseMaxMs: 200 },
      'options.leaseMinMs: 500 is above leaseMaxMs, which is 200; set both',
    ],
    [
      { timing: 'adaptive', leaseMinMs: 100, leaseMaxMs: 110 },
      'options.leaseMaxMs: 110 is too close to leaseMinMs; use 125 or more',
    ],
    [{ timing: 'adaptive', leaseMinMs: 5 }, 'options.leaseMinMs'],
  ])('%j are refused', (options, message) => {
    expect(() => checkedOptions(definition, ids(3), options as never)).toThrow(message)
  })
})
