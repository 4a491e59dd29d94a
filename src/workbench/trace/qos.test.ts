import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { NodeId } from '../../core/index.ts'
import { addDistributions, EMPTY_DISTRIBUTION, quantile, withSample } from './distribution.ts'
import {
  EMPTY_QOS,
  type Observation,
  observationsOf,
  type QosReport,
  QosWatch,
  qosOfTrace,
  qosReport,
  type Trace,
  type TraceRecord,
} from './index.ts'

const MS = 1000
const MONITOR = 1
const PEER = 2

function say(atMs: number, type: 'suspect' | 'trust' | 'unwatch', monitor: NodeId = MONITOR): Observation {
  return { type: 'output', at: atMs * MS, node: monitor, event: { type, peer: PEER } }
}

function change(atMs: number, type: 'up' | 'down', node: NodeId): Observation {
  return { type, at: atMs * MS, node }
}

function measure(endMs: number, ...seen: readonly Observation[]): QosReport {
  const watch = new QosWatch()
  for (const each of seen) watch.observe(each)
  const [pair] = watch.finish(endMs * MS)
  return qosReport(pair?.tally ?? EMPTY_QOS)
}

const NONE = { samples: 0, censored: 0, meanMs: null, p99Ms: null, maxMs: null }

function samples(...values: readonly number[]) {
  const sum = values.reduce((total, value) => total + value, 0)
  const max = Math.max(...values)
  return { samples: values.length, censored: 0, meanMs: sum / values.length, p99Ms: max, maxMs: max }
}

describe('the quality of service', () => {
  it('of mistakes: recurrence, duration, good period, accuracy, rate', () => {
    const qos = measure(
      1000,
      say(0, 'trust'),
      say(100, 'suspect'),
      say(130, 'trust'),
      say(400, 'suspect'),
      say(450, 'trust'),
    )
    expect(qos).toEqual({
      watchedMs: 1000,
      mistakes: 2,
      mistakesPerHour: 7200,
      queryAccuracy: 1 - 80 / 1000,
      detection: NONE,
      mistakeRecurrence: { ...samples(300), censored: 1 },
      mistakeDuration: samples(30, 50),
      goodPeriod: { ...samples(270), censored: 1 },
    })
  })

  it('of a crash: the time to the last suspicion, which is no mistake', () => {
    const qos = measure(
      1000,
      say(0, 'trust'),
      change(500, 'down', PEER),
      say(600, 'suspect'),
      say(650, 'trust'),
      say(700, 'suspect'),
    )
    expect(qos.detection).toEqual(samples(200))
    expect(qos).toMatchObject({ mistakes: 0, watchedMs: 500, queryAccuracy: 1, mistakeDuration: NONE })
  })

  it('of a crash that falls into a mistake: detected at once, and the mistake is censored', () => {
    const qos = measure(1000, say(0, 'trust'), say(400, 'suspect'), change(500, 'down', PEER))
    expect(qos.detection).toEqual(samples(0))
    expect(qos.mistakeDuration).toEqual({ ...NONE, censored: 1 })
    expect(qos).toMatchObject({ mistakes: 1, queryAccuracy: 0.8 })
  })

  it('of a crash that goes unnoticed until the run ends, or the watching stops: censored', () => {
    const crash = [say(0, 'trust'), change(500, 'down', PEER)]
    expect(measure(600, ...crash).detection).toEqual({ ...NONE, censored: 1 })
    expect(measure(600, ...crash, say(550, 'unwatch')).detection).toEqual({ ...NONE, censored: 1 })
    expect(measure(600, ...crash, change(550, 'down', MONITOR)).detection).toEqual({ ...NONE, censored: 1 })
    expect(measure(900, ...crash, change(550, 'up', PEER)).detection).toEqual({ ...NONE, censored: 1 })
  })

  it('restarts with each incarnation of the peer', () => {
    const qos = measure(
      1000,
      say(0, 'trust'),
      say(100, 'suspect'),
      say(110, 'trust'),
      change(200, 'down', PEER),
      say(250, 'suspect'),
      change(300, 'up', PEER),
      say(310, 'trust'),
      say(400, 'suspect'),
      say(420, 'trust'),
    )
    expect(qos.detection).toEqual(samples(50))
    // 100 to 400 is not a recurrence: the peer restarted in between. 300 to 310 is not a mistake.
    expect(qos.mistakeRecurrence).toEqual({ ...NONE, censored: 2 })
    expect(qos.mistakeDuration).toEqual(samples(10, 20))
    expect(qos).toMatchObject({ mistakes: 2, watchedMs: 200 + 690 })
  })

  it('does not count unwatched time', () => {
    const qos = measure(
      1000,
      say(0, 'trust'),
      say(100, 'suspect'),
      say(110, 'trust'),
      say(200, 'unwatch'),
      say(700, 'trust'),
      say(750, 'suspect'),
      say(760, 'trust'),
      say(800, 'unwatch'),
    )
    expect(qos.mistakeRecurrence).toEqual({ ...samples(150), censored: 1 })
    expect(qos).toMatchObject({ watchedMs: 300, queryAccuracy: 1 - 20 / 300 })
  })

  it('is null for a run without a detector', () => {
    expect(new QosWatch().finish(1000)).toEqual([])
    expect(measure(1000)).toMatchObject({ watchedMs: 0, mistakesPerHour: null, queryAccuracy: null })
  })

  it('keeps pairs apart, and sorts them', () => {
    const watch = new QosWatch()
    for (const seen of [say(0, 'trust', 3), say(0, 'trust', 1), say(5, 'suspect', 1)]) watch.observe(seen)
    const pairs = watch.finish(10 * MS)
    expect(pairs.map(({ monitor, peer, tally }) => [monitor, peer, tally.mistakes])).toEqual([
      [1, 2, 1],
      [3, 2, 0],
    ])
  })
})

describe('from a trace', () => {
  const turn = { node: MONITOR, now: 0, sent: [], view: null, cutAfter: null }
  const outputs = (...types: readonly string[]) =>
    types.map((type) => ({ type: 'output' as const, event: { type, peer: PEER } }))
  const step = (at: number, cutAfter: number | null, ...types: readonly string[]): TraceRecord => ({
    ...turn,
    type: 'step',
    at,
    input: { type: 'timer', name: 'x' },
    message: null,
    effects: outputs(...types),
    cutAfter,
  })

  it('includes the effects before a crash in the middle of a step, and the crash', () => {
    expect(observationsOf(step(5, 1, 'suspect', 'trust'))).toEqual([
      { type: 'output', at: 5, node: MONITOR, event: { type: 'suspect', peer: PEER } },
      { type: 'down', at: 5, node: MONITOR },
    ])
    const announced = { type: 'world', at: 4, event: { crash: MONITOR, afterEffects: 1 } } as const
    expect(observationsOf(announced)).toEqual([])
  })

  it('ignores a second crash of a node that is down', () => {
    const header = { trace: 1, protocol: 'p', nodes: [1, 2], options: {}, seed: 1 } as const
    const crash = (at: number): TraceRecord => ({ type: 'world', at, event: { crash: PEER } })
    const trace: Trace = {
      header,
      records: [step(0, null, 'trust'), crash(10_000), crash(12_000), step(15_000, null, 'suspect')],
    }
    expect(qosOfTrace(trace)?.all.detection).toMatchObject({ samples: 1, meanMs: 5 })
    expect(qosOfTrace({ header, records: [crash(1)] })).toBeNull()
  })
})

describe('distributions', () => {
  const of = (values: readonly number[]) => values.reduce(withSample, EMPTY_DISTRIBUTION)
  const durations = fc.array(fc.integer({ min: 0, max: 1e9 }), { minLength: 1, maxLength: 300 })

  it('add up to the same in any order', () => {
    fc.assert(
      fc.property(durations, durations, (a, b) => {
        expect(addDistributions(of(a), of(b))).toEqual(of([...b, ...a]))
      }),
    )
  })

  it('know their 99th percentile to three digits', () => {
    fc.assert(
      fc.property(durations, (values) => {
        const sorted = values.toSorted((a, b) => a - b)
        const exact = sorted[Math.ceil(0.99 * values.length) - 1] as number
        const read = quantile(of(values), 0.99) as number
        expect(read).toBeGreaterThanOrEqual(exact)
        expect(read).toBeLessThanOrEqual(exact * 1.01 + 1)
      }),
    )
  })
})
