/**
 * Canaries: deliberately broken protocols that the tools must catch. If a broken one passes, the tools are
 * broken.
 */
import { describe, expect, it } from 'vitest'
import { type Definition, present } from '../src/core/index.ts'
import { bullyDefinition } from '../src/protocols/bully/index.ts'
import { localLeaderDefinition } from '../src/protocols/local-leader/index.ts'
import {
  type Budget,
  parseScenario,
  promisedSpecs,
  runScenario,
  runSeed,
  scenarioDrawer,
  shrink,
  violates,
} from '../src/workbench/sim/index.ts'
import { type Spec, specNamed } from '../src/workbench/specs/index.ts'
import { clockReader } from './canaries/clock-reader.ts'
import { losingHandOvers } from './canaries/hand-over.ts'
import { lease, type Terms } from './canaries/lease.ts'
import { onceOnly, tickets } from './canaries/tickets.ts'
import { waiters } from './canaries/waiters.ts'
import { exploreQuietly, exploring, ids } from './support/run.ts'

const BOUNDS = { depth: 1000, maxStates: 1_000_000, memoryMB: 100 }

function exploreCanary(definition: Definition, specs: readonly Spec[]) {
  const { exploration } = definition
  return exploreQuietly({
    definition,
    nodes: ids(2),
    budget: exploration,
    ...exploration,
    order: 'fifo',
    ...BOUNDS,
    specs,
    goals: [],
  })
}

describe('bully as printed is not safe', () => {
  it('according to the explorer', () => {
    const { counterexample } = exploring('bully', 3, { options: { repaired: false } })
    expect(counterexample?.spec).toBe('agreement')
  })

  it('according to a campaign, and the shrunk scenario still violates', () => {
    const settings = { nodes: [3, 5] as const, options: { repaired: false }, faults: ['crash'] as const }
    const draw = scenarioDrawer(bullyDefinition, settings)
    const seeds = Array.from({ length: 400 }, (_, index) => index + 1)
    const seed = seeds.find((each) => runSeed(bullyDefinition, draw, each).violations.length > 0)
    if (seed === undefined) throw new Error('no seed of 400 shows the violation')
    const { spec } = runSeed(bullyDefinition, draw, seed).violations[0] ?? { spec: 'none' }
    const small = shrink(bullyDefinition, draw(seed), spec)
    expect(violates(bullyDefinition, small, spec)).toBe(true)
    // No event can be removed from it.
    expect(small.events.length).toBeLessThan(draw(seed).events.length)
    for (const index of small.events.keys()) {
      const fewer = { ...small, events: small.events.toSpliced(index, 1) }
      expect(violates(bullyDefinition, fewer, spec)).toBe(false)
    }
    expect(
      violates(
        bullyDefinition,
        parseScenario(JSON.parse(JSON.stringify(small)), only(bullyDefinition)),
        spec,
      ),
    ).toBe(true)
  })
})

describe('sending before persisting', () => {
  it('is caught by the explorer: the crash falls between the two effects', () => {
    const { counterexample } = exploreCanary(tickets(false), [onceOnly])
    expect(counterexample?.why).toBe('1 was handed out twice')
    expect(counterexample?.steps).toContainEqual({
      node: 1,
      do: 'command',
      command: { do: 'issue' },
      crashAfter: 1,
    })
    expect(counterexample?.steps).toHaveLength(5)
  })

  it('is caught by the simulator with a crash after one effect', () => {
    const file = {
      protocol: 'tickets',
      nodes: [1, 2],
      events: [
        { atMs: 1, crash: 1, afterEffects: 1 },
        { atMs: 2, command: { node: 1, do: 'issue' } },
        { atMs: 3, recover: 1 },
        { atMs: 4, command: { node: 1, do: 'issue' } },
      ],
      untilMs: 20,
    }
    const run = (definition: Definition) =>
      runScenario(definition, parseScenario(file, only(definition)), { specs: [onceOnly] }).specs[0]?.verdict
    expect(run(tickets(false))).toBe('violated')
    expect(run(tickets(true))).toBe('held')
  })

  it('does not happen in the careful office, in a complete search', () => {
    const report = exploreCanary(tickets(true), [onceOnly])
    expect(report).toMatchObject({ complete: true, counterexample: null })
    expect(report.specs[0]?.verdict).toBe('held')
  })
})

describe('comparing clocks of two nodes', () => {
  const file = { protocol: 'clock-reader', nodes: [1, 2], clocks: { driftPpm: 200 }, untilMs: 4_000_000 }

  it('is caught by the simulator: two lead at once, because no two clocks agree', () => {
    const verdicts = [1, 2, 3, 4, 5, 6].map((seed) => {
      const scenario = parseScenario({ ...file, seed }, only(clockReader))
      return runScenario(clockReader, scenario).specs[0]?.verdict
    })
    expect(verdicts).toContain('violated')
  })

  it('is caught by strict mode: the step depends on the clock reading', () => {
    const scenario = parseScenario(file, only(clockReader))
    expect(() => runScenario(clockReader, scenario, { strict: true })).toThrow('depends on the absolute time')
  })
})

describe('a lease from a majority of locks', () => {
  const explored = (count: number, terms: Partial<Terms>, some: Partial<Budget>) => {
    const definition = lease(terms)
    const { exploration } = definition
    return exploreQuietly({
      definition,
      nodes: ids(count),
      ...exploration,
      ...BOUNDS,
      order: 'any',
      budget: { ...exploration, ...some },
    })
  }

  it.each<[string, number, Partial<Terms>, Partial<Budget>]>([
    ['two nodes', 2, { rounds: 2 }, { ticks: 4 }],
    ['three nodes', 3, {}, { ticks: 2 }],
    ['a lease shorter than its locks', 2, { lockTicks: 3 }, { ticks: 6 }],
    ['a crash and a restart', 2, { rounds: 2 }, { ticks: 3, crashes: 1, recoveries: 1 }],
  ])('is safe if no lease is longer than a lock: %s', (_name, count, terms, budget) => {
    const report = explored(count, terms, budget)
    expect(report).toMatchObject({ complete: true, counterexample: null })
    expect(report.specs[0]?.verdict).toBe('held')
    expect(report.goals.every(({ reached }) => reached)).toBe(true)
  })

  it('has two holders if it is longer: two ticks end the lock, but not the lease', () => {
    const { counterexample } = explored(2, { leaseTicks: 3 }, { ticks: 4 })
    expect(counterexample).toMatchObject({ spec: 'one-leader', why: '1 and 2 lead at the same time' })
    expect(counterexample?.steps).toHaveLength(8)
    expect(counterexample?.steps.filter((step) => step.do === 'tick')).toHaveLength(2)
    const definition = lease({ leaseTicks: 3 })
    const replayed = parseScenario(counterexample?.scenario, only(definition))
    const report = runScenario(definition, replayed, { strict: true })
    expect(report.specs[0]).toMatchObject({ verdict: 'violated', why: counterexample?.why })
    expect(explored(2, { leaseTicks: 3 }, { ticks: 1 })).toMatchObject({
      complete: true,
      counterexample: null,
    })
  })

  it('has two holders if a restarted node forgets its lock', () => {
    const budget = { ticks: 2, crashes: 1, recoveries: 1 }
    const { counterexample } = explored(3, { forgets: true }, budget)
    expect(counterexample).toMatchObject({ spec: 'one-leader', why: '1 and 2 lead at the same time' })
    expect(counterexample?.steps.some((step) => step.do === 'tick')).toBe(false)
  })

  it('is not reported as a livelock when the ticks are used up', () => {
    const definition = lease()
    const report = exploreCanary(
      { ...definition, exploration: { ...definition.exploration, progress: true } },
      [],
    )
    expect(report.progress).toMatchObject({ verdict: 'not checked', why: expect.stringContaining('ticks') })
  })
})

describe('a hand-over that does not reach the chosen node', () => {
  const file = {
    protocol: 'local-leader',
    nodes: ids(5),
    options: { mode: 'majority', sticky: true },
    network: { delayMs: 2 },
    events: [{ atMs: 2000, command: { node: 1, do: 'stepDown', to: 4 } }],
    untilMs: 3000,
  }
  const spec = present(specNamed('chosen-successor'), 'chosen-successor')
  const verdict = (definition: Definition) =>
    runScenario(definition, parseScenario(file, only(definition)), { specs: [spec] }).specs[0]

  it.each([
    ['unnamed', '2 leads after 1 handed over to 4'],
    ['unreleased', '4 does not lead'],
  ] as const)('is caught by the simulator: %s', (how, why) => {
    expect(verdict(losingHandOvers(how))).toMatchObject({
      verdict: 'violated',
      why: expect.stringContaining(why),
    })
  })

  it('does not happen in local-leader', () => {
    expect(verdict(localLeaderDefinition)).toMatchObject({ verdict: 'held', judged: 1 })
  })
})

describe('no progress', () => {
  const explored = (definition: Definition, specs: readonly Spec[]) => exploreCanary(definition, specs)

  it('reports a world in which nothing can happen as a deadlock', () => {
    const { counterexample, progress } = explored(waiters('polite'), promisedSpecs(waiters('polite'), {}))
    expect(progress.verdict).toBe('deadlock')
    expect(counterexample).toMatchObject({ spec: 'live-leader', why: '1 has no leader', steps: [] })
  })

  it('reports a world that cycles for ever as a livelock, with the cycle', () => {
    const { counterexample, progress } = explored(waiters('eager'), promisedSpecs(waiters('eager'), {}))
    expect(progress.verdict).toBe('livelock')
    expect(counterexample).toMatchObject({ spec: 'progress', cycle: 2 })
    expect(counterexample?.steps.map((step) => step.do)).toEqual(['timer', 'deliver'])
  })

  it('reports neither for a world that can always settle', () => {
    const { counterexample, progress } = explored(waiters('decided'), promisedSpecs(waiters('decided'), {}))
    expect(progress.verdict).toBe('held')
    expect(counterexample).toBeNull()
  })
})

describe('a specification that is never concerned', () => {
  const silent: Spec = {
    name: 'silent',
    title: 'never concerned',
    source: 'a canary',
    when: 'always',
    fold: { begin: () => null, next: (memory) => memory },
    judge: () => 'not concerned',
  }

  it('is reported as vacuous by the simulator', () => {
    const scenario = parseScenario({ protocol: 'bully', nodes: [1, 2], untilMs: 5000 }, only(bullyDefinition))
    const [verdict] = runScenario(bullyDefinition, scenario, { specs: [silent] }).specs
    expect(verdict?.verdict).toBe('vacuous')
  })

  it('is reported as vacuous by the explorer', () => {
    const [verdict] = exploring('bully', 2, { specs: [silent] }).specs
    expect(verdict?.verdict).toBe('vacuous')
  })
})

function only(definition: Definition) {
  return {
    names: [definition.name],
    find: (name: string) => (name === definition.name ? definition : null),
  }
}
