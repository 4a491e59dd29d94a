/** Broken assumptions: the warnings with their remedies, and the explanation of an expired lease. */
import { describe, expect, it } from 'vitest'
import type { NodeId } from '../../core/index.ts'
import { hostingOf } from '../../protocols/index.ts'
import { GroupMonitor, silenceOf } from './group-monitor.ts'
import { ProcessMeasures } from './process-measures.ts'
import { type ThreadTimes, whyLate } from './thread-times.ts'

const SECOND = 1_000_000
const NODES = ['a', 'b', 'c']
const ASSUMED = { sigma: 30_000, delta: 5_000, names: { sigma: 'sigmaMs', delta: 'deltaMs' } }

function lab(times: ThreadTimes | null = null) {
  const warnings: string[] = []
  let reading = times
  const measures = new ProcessMeasures(0, { read: () => reading, close() {} })
  const monitor = new GroupMonitor({
    assumed: ASSUMED,
    remedy: ({ sigma, delta }) =>
      sigma === undefined ? { deltaMs: (delta ?? 0) / 1000 } : { sigmaMs: sigma / 1000 },
    warn: (what, detail) => warnings.push(`${what}: ${detail}`),
  })
  measures.add(monitor)
  return { warnings, measures, monitor, ran: (next: ThreadTimes) => (reading = next) }
}

const HEARD_ALL = { silent: [], isMinority: false, silentFor: null, latePeer: null }

describe('leases that tune themselves', () => {
  it('expire because of what the present lease does not tolerate, and warn of what no lease does', () => {
    const warnings: string[] = []
    const present = {
      sigma: 6000,
      delta: 3000,
      names: { sigma: 'σ of this lease', delta: 'δ of this lease' },
    }
    const monitor = new GroupMonitor({
      assumed: ASSUMED,
      present: () => present,
      remedy: ({ sigma = 0 }) => (sigma > 500_000 ? {} : { leaseMaxMs: 7000 }),
      noRemedy: 'use faster hosts',
      warn: (what, detail) => warnings.push(`${what}: ${detail}`),
    })
    const measures = new ProcessMeasures(0, { read: () => null, close() {} })
    measures.add(monitor)
    monitor.noteRenewal(null, 9 * SECOND)
    measures.noteLateness(5000, 10 * SECOND)
    expect(monitor.late).toBeNull()
    measures.noteLateness(12_000, 11 * SECOND)
    measures.tick(14 * SECOND)
    expect(warnings).toEqual([])
    expect(monitor.explain({ now: 15 * SECOND, ...HEARD_ALL })).toMatchObject({
      kind: 'late',
      detail: 'this node was late by 12 ms (σ of this lease is 6 ms)',
    })
    expect(monitor.measured(measures, 15 * SECOND)).toMatchObject({ sigmaMs: 30, deltaMs: 5 })
    measures.noteLateness(31_000, 16 * SECOND)
    measures.tick(18 * SECOND)
    expect(warnings).toEqual([
      'late: this node was up to 31 ms late (sigmaMs is 30); leaseMaxMs >= 7000 would have held',
    ])
    measures.noteLateness(400_000, 26 * SECOND)
    measures.tick(28 * SECOND)
    expect(warnings.at(-1)).toBe('late: this node was up to 400 ms late (sigmaMs is 30); use faster hosts')
  })
})

describe('the renewal margin', () => {
  it('is that of the present length of leases: a longer lease is not compared with what shorter ones left', () => {
    const names = { sigma: 'σ of this lease', delta: 'δ of this lease' }
    let present = { sigma: 6000, delta: 3000, names }
    const monitor = new GroupMonitor({
      assumed: ASSUMED,
      present: () => present,
      remedy: () => ({}),
      warn: () => expect.fail(),
    })
    const measures = new ProcessMeasures(0, { read: () => null, close() {} })
    const margin = (second: number) => monitor.measured(measures, second * SECOND).renewalMarginMs
    monitor.noteRenewal(null, 9 * SECOND)
    monitor.noteRenewal(24_000, 10 * SECOND)
    expect(margin(10)).toMatchObject({ min: 24 })
    present = { sigma: 12_000, delta: 6000, names }
    // This renewal still ends a shorter lease.
    monitor.noteRenewal(25_000, 11 * SECOND)
    expect(margin(11)).toBeNull()
    monitor.noteRenewal(48_000, 12 * SECOND)
    expect(margin(12)).toMatchObject({ min: 48 })
  })
})

describe('a node that is later than σ', () => {
  it('warns with the worst lateness, how often, why, and the setting that would have held; then rarely', () => {
    const { warnings, measures, ran } = lab({ ran: 0, waited: 0 })
    ran({ ran: 1000, waited: 55_000 })
    measures.noteLateness(60_000, 10 * SECOND)
    measures.noteLateness(31_000, 12 * SECOND)
    measures.noteLateness(29_000, 13 * SECOND)
    measures.tick(14 * SECOND)
    expect(warnings).toEqual([
      'late: this node was up to 60 ms late, 2 times in 4 s (sigmaMs is 30): other processes used the CPU; sigmaMs >= 90 would have held',
    ])
    measures.noteLateness(80_000, 20 * SECOND)
    measures.tick(22 * SECOND)
    expect(warnings).toHaveLength(1)
    measures.tick(45 * SECOND)
    expect(warnings).toHaveLength(2)
    measures.tick(90 * SECOND)
    expect(warnings).toHaveLength(2)
    // It has become much worse, so the setting that was named would not do.
    measures.noteLateness(60_000, 91 * SECOND)
    measures.tick(93 * SECOND)
    expect(warnings).toHaveLength(3)
    ran({ ran: 1000, waited: 500_000 })
    measures.noteLateness(300_000, 94 * SECOND)
    measures.tick(97 * SECOND)
    expect(warnings[3]).toContain('sigmaMs >= 450 would have held')
  })

  it('says that it was stopped, and proposes no setting for that', () => {
    const { warnings, measures } = lab({ ran: 0, waited: 0 })
    measures.noteLateness(600_000, 10 * SECOND)
    measures.tick(11 * SECOND)
    expect(warnings).toEqual([
      expect.stringMatching(/^paused: this node was stopped for up to 600 ms: by SIGSTOP/),
    ])
    expect(warnings[0]).not.toContain('would have held')
  })

  it('does not warn while the process starts', () => {
    const { warnings, measures } = lab()
    measures.noteLateness(500_000, SECOND / 2)
    measures.tick(SECOND)
    expect(warnings).toEqual([])
    expect(measures.lateness.spread(SECOND)).toBeNull()
  })
})

describe('messages that take longer than δ', () => {
  it('does not take a peer that was stopped for a slow link: no setting would have held', () => {
    const { warnings, measures } = lab()
    for (let at = 2; at < 20; at++) measures.noteRoundTrip('b', 2000, at * SECOND)
    // It answers what waited for it, all at once.
    for (const trip of [32, 31, 5, 1]) measures.noteRoundTrip('b', trip * SECOND, 52 * SECOND + trip)
    for (let at = 53; at < 60; at++) measures.noteRoundTrip('b', 2000, at * SECOND)
    measures.tick(60 * SECOND)
    expect(warnings).toEqual([])
    expect(measures.rttTo('b')).toBe(2)
    expect(measures.delays.spread(60 * SECOND)?.max).toBeLessThan(10)
  })

  it('measures peers that are heard rarely', () => {
    const { warnings, measures } = lab()
    for (let at = 2; at < 60; at += 6) measures.noteRoundTrip('b', 41_000, at * SECOND)
    measures.noteRoundTrip('b', 91_000, 66 * SECOND)
    measures.tick(68 * SECOND)
    expect(warnings).toEqual([expect.stringContaining('slow: messages took up to 71 ms, from b')])
  })

  it('are measured by round trips, of which the shortest is split in halves', () => {
    const { warnings, measures } = lab()
    for (let at = 2; at < 10; at++) measures.noteRoundTrip('b', 2000, at * SECOND)
    measures.noteRoundTrip('b', 41_000, 10 * SECOND)
    measures.tick(12 * SECOND)
    expect(measures.delays.spread(11 * SECOND)).toMatchObject({ p50: 1.02, max: 40 })
    expect(warnings).toEqual([
      'slow: messages took up to 40 ms, from b (deltaMs is 5); deltaMs >= 60 would have held',
    ])
    expect(measures.rttTo('b')).toBeCloseTo(6.88, 1)
    expect(measures.rttTo('c')).toBeNull()
  })

  it('do not count while this node was late itself', () => {
    const { warnings, measures } = lab()
    measures.noteRoundTrip('b', 2000, 5 * SECOND)
    measures.noteLateness(40_000, 10 * SECOND)
    measures.noteRoundTrip('b', 41_000, 10 * SECOND)
    measures.tick(11 * SECOND)
    expect(warnings).toEqual([expect.stringMatching(/^late: /)])
  })
})

describe('a lease that expires', () => {
  const LATE = { by: 93_000, at: 5 * SECOND, why: 'starved' } as const
  const SLOW = { by: 41_000, at: 5 * SECOND, from: 'b', isStarved: false } as const

  it('names the cause: late, stopped, partitioned, slow messages, a late peer, or none that is known', () => {
    const cases: readonly (readonly [(monitor: GroupMonitor) => object, string, string])[] = [
      [() => HEARD_ALL, 'unknown', 'a majority did not answer in time'],
      [
        (monitor) => {
          monitor.noteLateness(LATE)
          return HEARD_ALL
        },
        'late',
        'this node was late by 93 ms (sigmaMs is 30)',
      ],
      [
        (monitor) => {
          monitor.noteLateness({ ...LATE, by: 2_600_000, why: 'stopped' })
          return HEARD_ALL
        },
        'paused',
        'this node was stopped for 2600 ms',
      ],
      [
        () => ({ ...HEARD_ALL, silent: ['b', 'c'], isMinority: true, silentFor: 210_000 }),
        'partitioned',
        'this node heard nothing from b and c for 210 ms, and the others are no majority',
      ],
      [
        (monitor) => {
          monitor.noteDelay(SLOW)
          return HEARD_ALL
        },
        'slow-messages',
        'messages were slower than deltaMs: 41 ms from b (deltaMs is 5)',
      ],
      [
        () => ({ ...HEARD_ALL, latePeer: { id: 'b', by: 80_000 } }),
        'late',
        'b was late by 80 ms (sigmaMs is 30)',
      ],
    ]
    for (const [prepare, kind, detail] of cases) {
      const { monitor } = lab()
      monitor.noteRenewal(null, 4 * SECOND)
      const seen = prepare(monitor) as typeof HEARD_ALL
      expect(monitor.explain({ now: 6 * SECOND, ...seen })).toMatchObject({ kind, detail })
    }
  })

  it('is not blamed on what happened before the last renewal', () => {
    const { monitor } = lab()
    monitor.noteRenewal(null, 4 * SECOND)
    monitor.noteLateness(LATE)
    monitor.noteDelay(SLOW)
    monitor.noteRenewal(25_000, 6 * SECOND)
    expect(monitor.explain({ now: 7 * SECOND, ...HEARD_ALL }).kind).toBe('unknown')
  })

  it('counts what was left of it at renewals', () => {
    const { monitor, measures } = lab()
    monitor.noteRenewal(null, SECOND)
    for (const left of [40_000, 30_000, 35_000]) monitor.noteRenewal(left, 2 * SECOND)
    expect(monitor.measured(measures, 3 * SECOND).renewalMarginMs?.min).toBe(30)
    // Other nodes refuse a report with a negative number.
    monitor.noteRenewal(-2000, 3 * SECOND)
    expect(monitor.measured(measures, 3 * SECOND).renewalMarginMs?.min).toBe(0)
  })
})

it('the voters that were not heard since the last renewal are a minority or not', () => {
  const heard = new Map([
    ['b', 100],
    ['c', 900],
  ])
  const silence = silenceOf([NODES], 'a', (id) => heard.get(String(id)) ?? null, 500, 1000)
  expect(silence).toEqual({ silent: ['b'], isMinority: false, silentFor: 900 })
  expect(silenceOf([NODES], 'a', (id) => (id === 'b' ? null : 100), 500, 1000)).toEqual({
    silent: ['b', 'c'],
    isMinority: true,
    silentFor: 900,
  })
  expect(silenceOf([NODES], 'a', () => 100, 500, 1000)).toMatchObject({
    silent: ['b', 'c'],
    isMinority: true,
  })
  expect(silenceOf([NODES], 'a', () => 600, 500, 1000)).toEqual({
    silent: [],
    isMinority: false,
    silentFor: null,
  })
})

it('why a thread was late: it ran, it waited for a CPU, it was stopped, or that is unknown', () => {
  const before = { ran: 100, waited: 100 }
  expect(whyLate(1000, before, { ran: 900, waited: 150 })).toBe('busy')
  expect(whyLate(1000, before, { ran: 150, waited: 1000 })).toBe('starved')
  expect(whyLate(1000, before, { ran: 200, waited: 200 })).toBe('stopped')
  expect(whyLate(1000, null, before)).toBe('unknown')
})

describe('the settings that would have held', () => {
  const remedy = (protocol: string, options: object, broken: object): object =>
    hostingOf(protocol)?.assumptions?.remedy(options as never, NODES, broken) ?? {}

  it('of local-leader are σ, or δ with a Δ that has room for a round trip', () => {
    const options = { ...LOCAL_LEADER, profile: 'lan' }
    expect(remedy('local-leader', options, { sigma: 87_000 })).toEqual({ sigmaMs: 90 })
    expect(remedy('local-leader', options, { delta: 40_000 })).toEqual({ deltaMs: 40, fastMs: 80 })
    expect(remedy('local-leader', options, { delta: 4000 })).toEqual({ deltaMs: 4 })
  })

  it('of omega are the times of its links, and of epochs the time of an access', () => {
    const links = { detector: 'nfd-e', pingMs: 205, alphaMs: 230, timeoutMs: 500 }
    expect(remedy('omega', links, { sigma: 50_000 })).toEqual({ alphaMs: 310, timeoutMs: 620 })
    const store = { periodMs: 500, accessMs: 25, driftPpm: 100, leaseMs: null }
    expect(remedy('epochs', store, { delta: 110_000 })).toMatchObject({ accessMs: 110 })
  })
})

const LOCAL_LEADER = {
  mode: 'majority',
  rule: 'quorum',
  deltaMs: null,
  deltaMinMs: null,
  fastMs: null,
  sigmaMs: null,
  rhoPpm: 100,
  renewalIntervalMs: null,
  renewalTries: 2,
  electionPeriodMs: null,
  expiresMs: null,
  voters: null,
  observers: [],
  witnesses: [],
  treeFrom: 100,
}

it('says for how long none of the silent voters was heard', () => {
  const heard = new Map([
    ['b', 100],
    ['c', 400],
  ])
  const heardAt = (id: NodeId): number | null => heard.get(String(id)) ?? null
  expect(silenceOf([['a', 'b', 'c', 'd']], 'a', heardAt, 500, 1000)).toEqual({
    silent: ['b', 'c', 'd'],
    isMinority: true,
    silentFor: 600,
  })
  expect(silenceOf([['a', 'd']], 'a', heardAt, 500, 1000).silentFor).toBeNull()
})
