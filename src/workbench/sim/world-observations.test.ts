/**
 * Observations of the timed world: connectivity, leases in true time, the end of the run, and late timers.
 */
import { describe, expect, it } from 'vitest'
import { probeDefinition } from '../../../test/support/probe.ts'
import {
  type Definition,
  define,
  type Effect,
  msOf,
  type Plain,
  type PlainObject,
  type Protocol,
  send,
  setTimer,
} from '../../core/index.ts'
import type { Observation } from '../trace/index.ts'
import { parseScenario, runScenario } from './index.ts'

/** Timely: up to 10 ms. Irrelevant: above 20 ms. Hosts: at most 5 ms late. */
const timed: Definition = {
  ...probeDefinition,
  timeliness: () => ({ delay: 10_000, fast: 20_000, lateness: 5000 }),
}

function observed(file: PlainObject, definition: Definition = timed): readonly Observation[] {
  const seen: Observation[] = []
  const whole = { protocol: 'probe', nodes: [1, 2, 3], untilMs: 1000, network: { delayMs: 5 }, ...file }
  const scenario = parseScenario(whole, { names: ['probe'], find: () => definition })
  runScenario(definition, scenario, { observe: (each) => seen.push(each) })
  return seen
}

const act = (atMs: number, node: number, ...effects: Effect[]): PlainObject => ({
  atMs,
  command: { node, do: 'act', effects },
})

describe('connectivity', () => {
  const reported = (events: readonly PlainObject[], more: PlainObject = {}): readonly Plain[] =>
    observed({ events, ...more }).flatMap((seen) =>
      seen.type === 'connectivity' ? [[msOf(seen.at), seen.connected, seen.stable]] : [],
    )
  const whole = (atMs: number): Plain => [atMs, 'full', [[1, 2, 3]]]
  const two = (atMs: number, ...pair: readonly number[]): Plain => [atMs, 'full', [pair]]
  const apart = [
    [1, 2],
    [2, 3],
  ]

  it('is reported at the start, and never for protocols without timeliness', () => {
    expect(reported([])).toEqual([whole(0)])
    expect(observed({}, probeDefinition).filter(({ type }) => type === 'connectivity')).toEqual([])
  })

  it('begins again for two nodes when a message between them is dropped, or comes too late', () => {
    const sent = act(10, 1, send(2, { kind: 'note', text: 'a' }))
    const without = [
      [1, 3],
      [2, 3],
    ]
    const broken = [whole(0), whole(10), [12, without, []], whole(12)]
    expect(reported([sent, { atMs: 12, drop: 0 }])).toEqual(broken)
    expect(reported([sent, { atMs: 12, delay: 0, forMs: 6 }])).toEqual(broken)
    expect(reported([sent, { atMs: 12, delay: 0, forMs: 5 }])).toEqual([whole(0), whole(10), whole(12)])
    expect(reported([sent, { atMs: 12, copy: 0 }])).toEqual([whole(0), whole(10), whole(12)])
    expect(reported([sent, { atMs: 30, drop: 0 }])).toEqual([whole(0), whole(10)])
  })

  it('leaves out who has crashed, until it recovers', () => {
    const events = [
      { atMs: 10, crash: 1 },
      { atMs: 20, recover: 1 },
    ]
    expect(reported(events)).toEqual([whole(0), two(10, 2, 3), whole(20)])
  })

  it('tells of a crash in the middle of a step when that comes', () => {
    const events = [{ atMs: 10, crash: 1, afterEffects: 0 }, act(20, 1, send(2, { kind: 'note', text: 'x' }))]
    expect(reported(events).slice(2)).toEqual([two(20, 2, 3), two(20, 2, 3)])
  })

  it('leaves out who is paused or asleep, until it is not', () => {
    const pause = { atMs: 10, pause: 2, forMs: 30 }
    expect(reported([pause])).toEqual([whole(0), two(10, 1, 3), whole(40)])
    expect(reported([{ atMs: 10, suspend: 2, forMs: 30 }])).toEqual([whole(0), two(10, 1, 3), whole(40)])
    const longer = { atMs: 20, pause: 2, forMs: 100 }
    expect(reported([pause, longer])).toEqual([whole(0), two(10, 1, 3), two(20, 1, 3), whole(120)])
    expect(reported([pause, { atMs: 20, crash: 2 }])).toEqual([whole(0), two(10, 1, 3), two(20, 1, 3)])
  })

  it('follows the links: cut, cut one way, slow, split, healed, replaced', () => {
    const events = [
      { atMs: 10, cut: [[1, 3]] },
      { atMs: 20, heal: 'all' },
      { atMs: 30, cutOneWay: [[3, 1]] },
      { atMs: 40, heal: [[1, 3]] },
      { atMs: 50, slow: [[1, 3]], delayMs: [5, 11] },
      { atMs: 60, heal: [[3, 1]] },
      { atMs: 70, partition: [[2]] },
      { atMs: 80, links: [[1, 2]] },
      { atMs: 90, links: 'full' },
    ]
    expect(reported(events)).toEqual([
      whole(0),
      [10, apart, []],
      whole(20),
      [30, apart, []],
      whole(40),
      [50, apart, []],
      whole(60),
      [70, [[1, 3]], [[1, 3], [2]]],
      [80, [[1, 2]], [[1, 2], [3]]],
      whole(90),
    ])
  })

  it('is nothing while messages get lost', () => {
    const events = [
      { atMs: 10, loss: 0.1 },
      { atMs: 20, duplicate: 0.5 },
      { atMs: 30, loss: 0 },
    ]
    expect(reported(events)).toEqual([whole(0), [10, [], []], [20, [], []], whole(30)])
  })

  it('is nothing where timers fire too late', () => {
    expect(reported([], { clocks: { lateMs: 6 } })).toEqual([[0, [], []]])
    expect(reported([], { clocks: { lateMs: [0, 5] } })).toEqual([whole(0)])
  })
})

describe('the end', () => {
  it('is seen once, last, after what is promised of a settled system was judged', () => {
    const seen = observed({ events: [{ atMs: 10, crash: 1 }] })
    expect(seen.slice(-2).map(({ type, at }) => [type, at])).toEqual([
      ['settled', 1_000_000],
      ['ended', 1_000_000],
    ])
    expect(seen.filter(({ type }) => type === 'ended')).toHaveLength(1)
  })

  it('is seen of a run that had no time to settle, too', () => {
    const seen = observed({ untilMs: 8, events: [act(0, 1, setTimer('t', 50_000))] })
    expect(seen.some(({ type }) => type === 'settled')).toBe(false)
    expect(seen.at(-1)).toEqual({ type: 'ended', at: 8000 })
  })
})

describe('timers where hosts are late', () => {
  /** True times at which a node's timers fired. */
  const fired = (file: PlainObject): readonly number[] =>
    observed(file).flatMap((seen) => {
      const isTimer = seen.type === 'output' && (seen.event['input'] as PlainObject)?.['type'] === 'timer'
      return isTimer ? [msOf(seen.at)] : []
    })
  const names = Array.from({ length: 200 }, (_, index) => String(index))

  it('fire within the range, never early, and use all of it', () => {
    const events = [act(10, 1, ...names.map((name) => setTimer(name, 20_000)))]
    const times = fired({ events, clocks: { lateMs: [2, 7] } })
    expect(times).toHaveLength(200)
    expect(times.every((atMs) => atMs >= 32 && atMs <= 37)).toBe(true)
    expect(Math.min(...times)).toBeLessThan(32.2)
    expect(Math.max(...times)).toBeGreaterThan(36.8)
  })

  it('fire as late as the one number says, or at once', () => {
    const events = [act(10, 1, setTimer('t', 20_000))]
    expect(fired({ events, clocks: { lateMs: 3 } })).toEqual([33])
    expect(fired({ events })).toEqual([30])
  })

  it('keep to it when they are moved, either way', () => {
    const clocks = { lateMs: [0, 9] }
    const later = names.map((name) => setTimer(name, 30_000))
    const events = [act(10, 1, ...names.map((name) => setTimer(name, 20_000))), act(15, 1, ...later)]
    const moved = fired({ events, clocks })
    expect(moved).toHaveLength(200)
    expect(moved.every((atMs) => atMs >= 45 && atMs <= 54)).toBe(true)
    const sooner = [act(10, 1, setTimer('t', 500_000)), act(15, 1, setTimer('t', 5000))]
    expect(fired({ events: sooner, clocks: { lateMs: 4 } })).toEqual([24])
  })

  it('fire no earlier than a pause ends', () => {
    const events = [
      act(10, 1, ...names.map((name) => setTimer(name, 5000))),
      { atMs: 12, pause: 1, forMs: 50 },
    ]
    const times = fired({ events, clocks: { lateMs: [0, 4] } })
    expect(times).toHaveLength(200)
    expect(times.every((atMs) => atMs >= 62 && atMs <= 66)).toBe(true)
  })
})

describe('a lease', () => {
  /** Leads for the first 100 ms of its clock; a careful one gives up when it learns that it slept. */
  const holder = (careful: boolean): Protocol => ({
    start: (_stable, now) => ({ state: { until: now + 100_000 }, effects: [] }),
    step: (state, input) =>
      input.type === 'suspended' && careful
        ? { state: { until: null }, effects: [] }
        : { state, effects: [] },
    view(state) {
      const { until } = state as { readonly until: number | null }
      const role = until === null ? 'follower' : 'leader'
      return { role, leader: null, token: null, until, members: null, detail: null }
    },
    shift: (state) => state,
  })
  const leases = (
    events: readonly PlainObject[],
    careful: boolean,
    clocks: PlainObject = {},
  ): readonly Plain[] => {
    const definition = define({
      name: 'probe',
      title: 'holds a lease',
      source: 'a test',
      kinds: ['note'],
      commands: probeDefinition.commands,
      create: () => holder(careful),
      settlesWithin: () => 10_000,
    })
    return observed({ nodes: [1], events, clocks }, definition).flatMap((seen) =>
      seen.type === 'view'
        ? [[msOf(seen.at), seen.view.role, seen.until === null ? null : msOf(seen.until)]]
        : [],
    )
  }
  const asleep = { atMs: 10, suspend: 1, forMs: 50 }

  it('has its end in true time, regardless of the clock of its holder', () => {
    expect(leases([], true)).toEqual([[0, 'leader', 100]])
    const [[, , until] = []] = leases([], true, { driftPpm: 100_000 }) as readonly (readonly number[])[]
    expect(until).not.toBe(100)
    expect(until).toBeGreaterThan(90)
    expect(until).toBeLessThan(112)
  })

  it('is shown again after a sleep, with the later end, if its holder still believes in it', () => {
    expect(leases([asleep, act(80, 1)], false)).toEqual([
      [0, 'leader', 100],
      [80, 'leader', 150],
    ])
    expect(leases([asleep], false)).toEqual([[0, 'leader', 100]])
    expect(leases([{ atMs: 10, pause: 1, forMs: 50 }, act(80, 1)], false)).toEqual([[0, 'leader', 100]])
  })

  it('is not shown again by a holder that gives it up on hearing of the sleep', () => {
    expect(leases([asleep, act(80, 1)], true)).toEqual([
      [0, 'leader', 100],
      [80, 'follower', null],
    ])
  })

  it('of a sleeper that was put to sleep twice ends later by both', () => {
    const again = { atMs: 100, suspend: 1, forMs: 7 }
    expect(leases([asleep, again, act(120, 1)], false)).toEqual([
      [0, 'leader', 100],
      [120, 'leader', 157],
    ])
  })
})

describe('settling', () => {
  const settledAt = (...events: readonly PlainObject[]): readonly number[] =>
    observed({ events }, probeDefinition).flatMap((seen) => (seen.type === 'settled' ? [msOf(seen.at)] : []))

  it('takes as much longer as an event has made the slowest clock slower', () => {
    expect(settledAt({ atMs: 100, drift: 1, ppm: 500_000 })).toEqual([10, 110, 1000])
    expect(settledAt({ atMs: 100, drift: 1, ppm: -500_000 })).toEqual([10, 120, 1000])
    expect(settledAt({ atMs: 100, drift: 1, ppm: -500_000 }, { atMs: 200, drift: 1, ppm: 0 })).toEqual([
      10, 120, 210, 1000,
    ])
  })

  it('begins again with each event of a message, unless the event is ignored', () => {
    const sent = act(100, 1, send(2, { kind: 'note', text: 'a' }))
    expect(settledAt(sent, { atMs: 102, drop: 0 })).toEqual([10, 112, 1000])
    expect(settledAt(sent, { atMs: 200, drop: 0 })).toEqual([10, 110, 1000])
  })
})
