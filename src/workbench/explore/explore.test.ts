import { describe, expect, it } from 'vitest'
import { lease, type Terms } from '../../../test/canaries/lease.ts'
import { MOST, searchPlainly } from '../../../test/support/plain-search.ts'
import { exploreQuietly, exploring, ids, simulate } from '../../../test/support/run.ts'
import { sized } from '../../../test/support/sizes.ts'
import type { PlainObject } from '../../core/index.ts'
import { bullyDefinition } from '../../protocols/bully/index.ts'
import { epochsDefinition } from '../../protocols/epochs/index.ts'
import { catalogue } from '../../protocols/index.ts'
import type { Budget, LinkHistory } from '../untimed/index.ts'

const OMEGA: PlainObject = { links: 'reported', quorum: 'dynamic', reinit: 'quorum' }

const NO_SPECS = { specs: [], goals: [], progress: false } as const

describe('the explorer finds exactly what a plain search finds', () => {
  it.each([
    [
      'bully, FIFO links',
      3,
      { repaired: true },
      'fifo',
      'quiet',
      { crashes: 1, recoveries: 1, flips: 0, ticks: 0 },
    ],
    [
      'as printed',
      3,
      { repaired: false },
      'fifo',
      'quiet',
      { crashes: 1, recoveries: 1, flips: 0, ticks: 0 },
    ],
    [
      'links without order',
      3,
      { repaired: true },
      'any',
      'quiet',
      { crashes: 1, recoveries: 1, flips: 0, ticks: 0 },
    ],
    [
      'links that are cut and healed',
      3,
      { repaired: true },
      'fifo',
      'quiet',
      { crashes: 1, recoveries: 0, flips: 2, ticks: 0 },
    ],
    [
      'two crashes, two nodes',
      2,
      { repaired: true },
      'fifo',
      'any',
      { crashes: 2, recoveries: 2, flips: 0, ticks: 0 },
    ],
  ] as const)('%s', (_name, count, options, order, timers, budget) => {
    const initial = { leader: count, members: ids(count) }
    const plain = searchPlainly({
      definition: bullyDefinition,
      count,
      initial,
      options: { detector: 'none', ...options },
      order,
      timers,
      budget,
    })
    expect(plain.states).toBeLessThan(MOST)
    const { states, transitions } = exploring('bully', count, { options, order, timers, budget, ...NO_SPECS })
    expect({ states, transitions }).toEqual(plain)
  })

  it.each<[string, string, number, PlainObject, LinkHistory, Partial<Budget>]>([
    ['nodes told of their links', 'phi', 3, {}, { slack: 1, labelled: true }, { flips: 4 }],
    ['both ends at once', 'phi', 3, {}, { slack: 0, labelled: true }, { flips: 4 }],
    ['ends that lead by two', 'omega', 2, OMEGA, { slack: 2, labelled: true }, { flips: 6 }],
    ['frames without labels', 'omega', 2, OMEGA, { slack: 2, labelled: false }, { flips: 5 }],
    [
      'links and crashes',
      'omega',
      2,
      OMEGA,
      { slack: 1, labelled: true },
      { flips: 3, crashes: 2, recoveries: 2 },
    ],
    [
      'slack and crashes',
      'omega',
      2,
      OMEGA,
      { slack: 2, labelled: true },
      { flips: 3, crashes: 1, recoveries: 1 },
    ],
    [
      'links of three',
      'omega',
      3,
      OMEGA,
      { slack: 1, labelled: true },
      { flips: sized(1, 2), crashes: 1, recoveries: 1 },
    ],
  ])('%s', (_name, protocol, count, options, history, some) => {
    const definition = catalogue.find(protocol)
    if (definition === null) throw new Error(`no protocol ${protocol}`)
    const budget = { crashes: 0, recoveries: 0, flips: 0, ticks: 0, ...some }
    const initial = { leader: 1, members: ids(count) }
    const world = { definition, count, initial, options, budget, history }
    const plain = searchPlainly({ ...world, order: 'fifo', timers: 'any' })
    expect(plain.states).toBeLessThan(MOST)
    const { states, transitions } = exploring(protocol, count, { options, budget, history, ...NO_SPECS })
    expect({ states, transitions }).toEqual(plain)
  })

  it.each<[string, number, Partial<Terms>, 'fifo' | 'any', Partial<Budget>]>([
    ['time that passes', 2, {}, 'fifo', { ticks: 4 }],
    ['time that passes, links without order', 2, {}, 'any', { ticks: 3 }],
    ['asking twice', 2, { rounds: 2 }, 'fifo', { ticks: 2 }],
    ['time and crashes', 2, {}, 'fifo', { ticks: 3, crashes: 1, recoveries: 1 }],
    ['time and cut links', 2, {}, 'fifo', { ticks: 3, flips: 2 }],
    ['three nodes', 3, {}, 'fifo', { ticks: 1 }],
  ])('%s', (_name, count, terms, order, some) => {
    const budget = { crashes: 0, recoveries: 0, flips: 0, ticks: 0, ...some }
    const world = { definition: lease(terms), count, options: {}, order, budget }
    const plain = searchPlainly({ ...world, timers: 'any' })
    expect(plain.states).toBeLessThan(MOST)
    const { states, transitions } = exploreQuietly({
      definition: lease(terms),
      nodes: ids(count),
      options: {},
      budget,
      from: 'boot',
      order,
      timers: 'any',
      depth: Number.MAX_SAFE_INTEGER,
      maxStates: MOST,
      memoryMB: 1000,
      ...NO_SPECS,
    })
    expect({ states, transitions }).toEqual(plain)
  })
})

describe('the explorer on registers finds exactly what a plain search finds', () => {
  it.each([
    ['atomic', 2, { epochs: 2, ballots: 1, jumps: false }, 1],
    ['the counter at once', 2, { epochs: 2, ballots: 1, tick: 'atomic' }],
    ['three nodes', 3, { epochs: 1, ballots: 1, tick: 'atomic' }, 0],
    ['regular', 2, { epochs: 1, ballots: 2, registers: 'regular' }],
    ['late, compared', 2, { epochs: 1, ballots: 2, registers: 'late' }],
    ['late', 2, { epochs: 1, ballots: 2, misreading: 'late-writes' }],
    ['stale', 2, { epochs: 1, ballots: 1, misreading: 'stale-reads' }],
    ['torn', 2, { epochs: 1, ballots: 1, misreading: 'torn-blocks' }],
    ['lost', 2, { epochs: 1, ballots: 2, misreading: 'lost-block' }],
    ['deleted', 2, { epochs: 2, ballots: 1, removals: true }],
    ['buried', 2, { epochs: 1, ballots: 1, burials: true, tick: 'atomic' }, 1],
    ['buried blindly', 2, { epochs: 1, ballots: 1, misreading: 'blind-burial', tick: 'atomic' }, 0],
  ] as const)('%s', { timeout: 120_000 }, (_name, count, given, most?: number) => {
    const crashes = most ?? 2
    const options = { clock: 'none', ...given }
    const budget = { crashes, recoveries: crashes, flips: 0, ticks: 0 }
    const world = { definition: epochsDefinition, count, options, budget }
    const plain = searchPlainly({ ...world, order: 'any', timers: 'any' })
    expect(plain.states).toBeLessThan(MOST)
    const { states, transitions } = exploring('epochs', count, { options: given, budget, ...NO_SPECS })
    expect({ states, transitions }).toEqual(plain)
  })
})

describe('bounds', () => {
  const world = { budget: { crashes: 2, recoveries: 2, flips: 0, ticks: 0 } } as const

  it('keeps a depth and reports it', () => {
    const report = exploring('bully', 3, { ...world, depth: 5 })
    expect(report).toMatchObject({ complete: false, cutShort: 'depth', depth: 5 })
    expect(exploring('bully', 3, { ...world, depth: 6 }).states).toBeGreaterThan(report.states)
  })

  it('keeps bounds on states and memory', () => {
    expect(exploring('bully', 3, { ...world, maxStates: 20_000 })).toMatchObject({
      complete: false,
      cutShort: 'max-states',
    })
    expect(exploring('bully', 3, { ...world, memoryMB: 1 })).toMatchObject({
      complete: false,
      cutShort: 'memory',
    })
  })

  it('is complete if the depth covers all states', () => {
    const { depth, states } = exploring('bully', 3)
    expect(exploring('bully', 3, { depth: depth + 1 })).toMatchObject({ complete: true, states })
  })
})

describe('a counterexample', () => {
  const { counterexample } = exploring('bully', 3, { options: { repaired: false } })

  it('is replayed by the simulator to the same violation', () => {
    const report = simulate(counterexample?.scenario ?? {})
    expect(report.specs.find(({ name }) => name === counterexample?.spec)).toMatchObject({
      verdict: 'violated',
      why: counterexample?.why,
    })
    expect(report.steps).toBe(counterexample?.steps.length)
  })

  it('does not violate without its last step', () => {
    const { scenario = {}, steps = [] } = counterexample ?? {}
    const report = simulate({ ...scenario, schedule: steps.slice(0, -1) })
    expect(report.specs.every(({ verdict }) => verdict !== 'violated')).toBe(true)
  })

  it.each([
    ['omega-printed', 3, { convergence: 'recipient' }, { flips: 5 }, 1],
    ['omega-printed', 3, { convergence: 'recipient' }, { flips: 4 }, 0],
  ])('of %s, %i nodes, %j is replayed, too', (protocol, count, options, some, slack) => {
    const budget = { crashes: 0, recoveries: 0, ticks: 0, ...some }
    const history = { slack, labelled: true }
    const { counterexample: found } = exploring(protocol, count, { options, budget, history })
    const report = simulate(found?.scenario ?? {})
    expect(report.specs.find(({ name }) => name === found?.spec)).toMatchObject({
      verdict: 'violated',
      why: found?.why,
    })
  })

  it('names a message that overtakes another on unordered links', () => {
    const { counterexample: found } = exploring('bully', 3, { order: 'any' })
    expect(found?.steps.some((step) => step.do === 'deliver' && step.nth === 1)).toBe(true)
    const report = simulate(found?.scenario ?? {})
    expect(report.specs.some(({ verdict }) => verdict === 'violated')).toBe(true)
  })
})
