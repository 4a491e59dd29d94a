/** Clocks that events make drift and jump, in whole worlds. */
import { describe, expect, it } from 'vitest'
import { probeDefinition } from '../../../test/support/probe.ts'
import { type Definition, type Effect, type PlainObject, setTimer } from '../../core/index.ts'
import { catalogue } from '../../protocols/index.ts'
import type { ClockReading } from '../scenario/options.ts'
import type { Observation } from '../trace/index.ts'
import { parseScenario, runScenario } from './index.ts'

const lookup = { names: ['probe'], find: () => probeDefinition }

const act = (atMs: number, node: number, ...effects: Effect[]): PlainObject => ({
  atMs,
  command: { node, do: 'act', effects },
})

/** When the timers of a scripted world fired, in milliseconds. */
function firings(...events: readonly PlainObject[]): readonly (readonly [string, number])[] {
  const scenario = parseScenario({ protocol: 'probe', nodes: [1, 2], untilMs: 1000, events }, lookup)
  const fired: (readonly [string, number])[] = []
  runScenario(probeDefinition, scenario, {
    record(record) {
      if (record.type === 'step' && record.input.type === 'timer')
        fired.push([record.input.name, record.at / 1000])
    },
  })
  return fired
}

describe('the timers of a node', () => {
  const set = act(100, 1, setTimer('a', 200_000), setTimer('b', 100_000))

  it('fire when its clock shows their deadlines, at any rate', () => {
    expect(firings(set)).toEqual([
      ['b', 200],
      ['a', 300],
    ])
    expect(firings(set, { atMs: 150, drift: 1, ppm: 1_000_000 })).toEqual([
      ['b', 175],
      ['a', 225],
    ])
    expect(firings(set, { atMs: 150, drift: 1, ppm: -500_000 })).toEqual([
      ['b', 250],
      ['a', 450],
    ])
    expect(firings(set, { atMs: 150, drift: 2, ppm: -500_000 })).toEqual(firings(set))
  })

  it('fire at once if the clock jumps past their deadlines, and later if it jumps back', () => {
    expect(firings(set, { atMs: 150, skew: 1, byMs: 120 })).toEqual([
      ['b', 150],
      ['a', 180],
    ])
    expect(firings(set, { atMs: 150, skew: 1, byMs: -30 })).toEqual([
      ['b', 230],
      ['a', 330],
    ])
  })

  it('fire once, also if the clock changes again and again', () => {
    const changes = [150, 160, 170, 180].map((atMs, index) => ({
      atMs,
      drift: 1,
      ppm: index % 2 === 0 ? 4_000_000 : -800_000,
    }))
    expect(
      firings(set, ...changes)
        .map(([name]) => name)
        .sort(),
    ).toEqual(['a', 'b'])
  })
})

describe('a lease', () => {
  const definition = catalogue.find('local-leader') as Definition

  function leasesOf(...events: readonly PlainObject[]): readonly (Observation & { readonly type: 'view' })[] {
    const file = { protocol: 'local-leader', nodes: [1, 2, 3], untilMs: 1500, events }
    const seen: Observation[] = []
    runScenario(definition, parseScenario(file, catalogue), { observe: (each) => void seen.push(each) })
    return seen.filter((each) => each.type === 'view').filter(({ view }) => view.role === 'leader')
  }

  it('ends later in true time if its holder is given a slow clock, and earlier with a fast one', () => {
    const at = 1_000_000
    const endAt = (...events: readonly PlainObject[]): number => {
      const views = leasesOf(...events)
      return views.findLast((view) => view.node === 1 && view.at <= at)?.until ?? 0
    }
    const usual = endAt()
    expect(usual).toBeGreaterThan(at)
    const left = usual - at
    expect(endAt({ atMs: 1000, drift: 1, ppm: -500_000 }) - at).toBeGreaterThan(1.99 * left)
    expect(endAt({ atMs: 1000, drift: 1, ppm: 1_000_000 }) - at).toBeLessThan(0.51 * left)
    expect(endAt({ atMs: 1000, skew: 1, byMs: -10 })).toBe(usual + 10_000)
    expect(endAt({ atMs: 1000, skew: 1, byMs: 10_000 })).toBe(at)
  })

  it('of a holder with a slow clock overlaps with that of its successor: drift beyond the assumption is unsafe', () => {
    const scenario = parseScenario(
      {
        protocol: 'local-leader',
        nodes: [1, 2, 3],
        untilMs: 3000,
        events: [
          { atMs: 999, drift: 1, ppm: -900_000 },
          { atMs: 1000, partition: [[1], [2, 3]] },
        ],
      },
      catalogue,
    )
    const verdicts = runScenario(definition, scenario).specs.filter(({ verdict }) => verdict === 'violated')
    expect(verdicts.length).toBeGreaterThan(0)
    const exact = { ...scenario, events: scenario.events.slice(1) }
    expect(runScenario(definition, exact).specs.filter(({ verdict }) => verdict === 'violated')).toEqual([])
  })
})

describe('an inspector', () => {
  it('learns how each clock runs, from the beginning and after each change', () => {
    const readings: (readonly [number, number, readonly ClockReading[]])[] = []
    const events = [
      { atMs: 100, drift: 1, ppm: 1_000_000 },
      { atMs: 200, suspend: 1, forMs: 50 },
    ]
    const scenario = parseScenario({ protocol: 'probe', nodes: [1], untilMs: 1000, events }, lookup)
    runScenario(probeDefinition, scenario, {
      inspect: {
        clock: (node, at, all) => void readings.push([Number(node), at, all]),
        timer: () => {},
        network: () => {},
      },
    })
    const start = readings[0]?.[2][0]?.shows as number
    expect(readings).toEqual([
      [1, 0, [{ from: 0, shows: start, rate: 1 }]],
      [1, 100_000, [{ from: 100_000, shows: start + 100_000, rate: 2 }]],
      [
        1,
        200_000,
        [
          { from: 200_000, shows: start + 300_000, rate: 0 },
          { from: 250_000, shows: start + 300_000, rate: 2 },
        ],
      ],
    ])
  })

  it('learns when timers are due, and how the network is', () => {
    const reports: unknown[] = []
    const events = [
      act(10, 1, setTimer('a', [50_000, 60_000])),
      { atMs: 20, skew: 1, byMs: -5 },
      { atMs: 25, cutOneWay: [[1, 2]] },
      act(30, 1, { type: 'stopTimer', name: 'a' }),
    ]
    const scenario = parseScenario({ protocol: 'probe', nodes: [1, 2], untilMs: 100, events }, lookup)
    runScenario(probeDefinition, scenario, {
      inspect: {
        clock: () => {},
        timer: (node, at, name, due) =>
          void reports.push([node, at, name, due === null ? null : due > 60_000]),
        network: ({ from, closed }) => void reports.push([from, closed]),
      },
    })
    expect(reports).toEqual([
      [0, []],
      [1, 10_000, 'a', expect.any(Boolean)],
      [1, 20_000, 'a', true],
      [25_000, [[1, 2]]],
      [1, 30_000, 'a', null],
    ])
  })

  it('gets the states that each record changes', () => {
    const states: unknown[] = []
    const events = [act(10, 1), { atMs: 20, crash: 1 }, { atMs: 30, recover: 1 }]
    const scenario = parseScenario({ protocol: 'probe', nodes: [1], untilMs: 100, events }, lookup)
    runScenario(probeDefinition, scenario, {
      record: (record, changed) =>
        void states.push([record.type, changed.map(({ node, state }) => [node, state])]),
    })
    expect(states).toEqual([
      ['start', [[1, 0]]],
      ['world', []],
      ['step', [[1, 0]]],
      ['world', [[1, null]]],
      ['world', []],
      ['start', [[1, 0]]],
    ])
  })
})
