/** Leases that tune themselves: how groups with adaptive timing behave under load. */
import { describe, expect, it } from 'vitest'
import { ids, simulate } from '../../../test/support/run.ts'
import { sized } from '../../../test/support/sizes.ts'
import { FAULT_KINDS, type Output, present } from '../../core/index.ts'
import { Random } from '../../workbench/scenario/random.ts'
import { type Report, runSeed, type Scenario, scenarioDrawer } from '../../workbench/sim/index.ts'
import { protocolNamed } from '../index.ts'
import { levelFor, lockAt } from './levels.ts'

const definition = present(protocolNamed('local-leader'), 'local-leader')
const LOWEST = levelFor(60_000)

type Happened = { readonly atMs: number; readonly node: number; readonly event: Output }
type Run = { readonly report: Report; readonly events: readonly Happened[] }

function run(nodes: number, file: object): Run {
  const events: Happened[] = []
  const world = {
    network: { delayMs: [0.05, 0.5] },
    clocks: { driftPpm: 50 },
    options: { timing: 'adaptive' },
  }
  const report = simulate(
    { protocol: 'local-leader', nodes: ids(nodes), ...world, ...file },
    {
      observe(seen) {
        if (seen.type === 'output')
          events.push({ atMs: seen.at / 1000, node: Number(seen.node), event: seen.event })
      },
    },
  )
  expect(report.specs.filter(({ verdict }) => verdict === 'violated')).toEqual([])
  return { report, events }
}

const ofType = ({ events }: Run, type: string): readonly Happened[] =>
  events.filter(({ event }) => event.type === type)
const levels = (some: Run): readonly number[] =>
  ofType(some, 'level').map(({ event }) => Number(event['level']))
const leads = (some: Run): number => ofType(some, 'elected').length

describe('the level of a leader', () => {
  it('falls to the lowest one on a quiet network, within six seconds, and the leader stays', () => {
    const quiet = run(3, { untilMs: 20_000 })
    expect(levels(quiet)).toEqual([11, 10, LOWEST])
    expect(ofType(quiet, 'level').at(-1)?.atMs).toBeLessThan(6000)
    expect(leads(quiet)).toBe(1)
  })

  it('follows a step: up at once, back at its best within a minute after the load', () => {
    const events = [
      { atMs: 10_000, load: 'all', lateMs: [0, 60] },
      { atMs: 60_000, load: 'all', lateMs: 0 },
    ]
    const stepped = run(3, { events, untilMs: 125_000 })
    const changes = ofType(stepped, 'level').filter(({ atMs }) => atMs > 10_000)
    const highest = Math.max(...levels(stepped))
    expect(lockAt(highest)).toBeGreaterThan(300_000)
    expect(levels(stepped).at(-1)).toBe(LOWEST)
    expect((changes.at(-1)?.atMs ?? 0) - 60_000).toBeLessThan(60_000)
    // The first lease of 61 ms cannot survive; later ones do.
    expect(leads(stepped)).toBeLessThanOrEqual(4)
    const inLoad = changes.filter(({ atMs, event }) => atMs < 60_000 && event['cause'] === 'quiet')
    expect(inLoad.length).toBeLessThanOrEqual(2)
  })

  it('follows a ramp without losing the lease', () => {
    const events = [
      { atMs: 10_000, load: 'all', lateMs: [0, 100], overMs: 40_000 },
      { atMs: 60_000, load: 'all', lateMs: 0, overMs: 10_000 },
    ]
    expect(leads(run(3, { events, untilMs: 80_000 }))).toBe(1)
  })

  it('stops changing under spikes that come again and again', () => {
    const events = Array.from({ length: 20 }, (_, index) => ({
      atMs: 10_000 + 30_000 * index,
      load: 'all',
      lateMs: [20, 80],
      forMs: 2000,
    }))
    const runs = [1, 2].map((seed) => run(3, { events, untilMs: 620_000, seed }))
    const mean = (count: (spiky: Run) => number): number =>
      runs.reduce((sum, spiky) => sum + count(spiky), 0) / runs.length
    const changes = (from: number, to: number) => (spiky: Run) =>
      ofType(spiky, 'level').filter(({ atMs }) => atMs >= from && atMs < to).length
    // On average: what a spike does depends on chance.
    expect(mean(changes(0, 620_000))).toBeLessThan(60)
    expect(mean(changes(320_000, 620_000))).toBeLessThan(20)
    expect(mean(leads)).toBeLessThan(10)
  }, 120_000)

  it('is not changed by one slow follower of five', () => {
    const events = [{ atMs: 10_000, load: [5], lateMs: [50, 150], delayMs: [10, 40] }]
    const slow = run(5, { events, untilMs: 40_000 })
    expect(levels(slow)).toEqual([11, 10, LOWEST])
    expect(leads(slow)).toBe(1)
  })

  it('is raised by three slow followers of five', () => {
    const events = [{ atMs: 10_000, load: [3, 4, 5], lateMs: [20, 60], delayMs: [5, 20] }]
    const slow = run(5, { events, untilMs: 60_000 })
    const last = slow.report.nodes['1']
    expect(last?.role).toBe('leader')
    expect(
      levels(slow)
        .slice(3)
        .every((level) => level > 12),
    ).toBe(true)
    expect(Math.max(...levels(slow))).toBeGreaterThan(16)
    expect(ofType(slow, 'elected').filter(({ atMs }) => atMs > 40_000)).toEqual([])
  })

  it('leaves the lead to another node, rather than slow the group down, when the leader alone is slow', () => {
    const slow = run(5, { events: [{ atMs: 10_000, load: [1], lateMs: [50, 150] }], untilMs: 40_000 })
    expect(slow.report.leaders).not.toEqual([1])
    expect(levels(slow).at(-1)).toBe(LOWEST)
  })
})

describe('a group that is slower than its constants from the start', () => {
  it.each([
    ['late nodes', { network: { delayMs: [1, 3] }, clocks: { driftPpm: 100, lateMs: [0, 300] } }],
    ['slow links', { network: { delayMs: [100, 200] } }],
    ['links slower than Δ of the highest level', { network: { delayMs: [400, 600] } }],
    ['both', { network: { delayMs: [50, 150] }, clocks: { driftPpm: 100, lateMs: [0, 200] } }],
  ])('elects a leader that stays within three times the longest lease: %s', (_what, world) => {
    for (let seed = 1; seed <= sized(5, 30); seed++) {
      const options = { timing: 'adaptive', leaseMinMs: 20, leaseMaxMs: 5000 }
      const slow = run(5, { ...world, options, seed, untilMs: 30_000 })
      expect(ofType(slow, 'elected')[0]?.atMs ?? Number.POSITIVE_INFINITY).toBeLessThan(15_000)
      // Nodes of a better rank, whose first candidacies came too early, take over one after the other.
      const ends = ofType(slow, 'demoted')
      expect(ends.filter(({ atMs }) => atMs > 15_000)).toEqual([])
      expect(ends.filter(({ event }) => event['cause'] === 'expired').length).toBeLessThanOrEqual(2)
    }
  })
})

describe('campaigns with load', () => {
  it('keep all promises', () => {
    const options = { mode: 'majority', timing: 'adaptive', leaseMinMs: 60, leaseMaxMs: 500 }
    const draw = scenarioDrawer(definition, { nodes: [3, 5], options, faults: FAULT_KINDS })
    const seeds = Array.from({ length: sized(12, 400) }, (_, index) => index + 1)
    const found = seeds.flatMap((seed) => runSeed(definition, draw, seed).violations)
    expect(found).toEqual([])
    expect(seeds.some((seed) => draw(seed).events.some((event) => 'load' in event))).toBe(true)
  }, 240_000)

  // All nodes grant the longest lock, for which the promises are computed.
  it('keep all promises with shortest leases that differ, and change while the group runs', () => {
    const options = { mode: 'majority', timing: 'adaptive', leaseMinMs: 60, leaseMaxMs: 500 }
    const draw = scenarioDrawer(definition, { nodes: [3, 5], options, faults: FAULT_KINDS })
    const drawMixed = (seed: number): Scenario => {
      const { events, ...scenario } = draw(seed)
      const random = new Random(seed)
      const leaseMinMs = (): number => random.integer(20, 390)
      const changes = Array.from({ length: 4 }, () => ({
        atMs: random.integer(0, Math.floor(scenario.untilMs / 2)),
        command: {
          do: 'setLeaseBounds',
          node: scenario.nodes[random.integer(0, scenario.nodes.length - 1)] as number,
          leaseMinMs: leaseMinMs(),
          leaseMaxMs: 500,
        },
      }))
      const nodeOptions = Object.fromEntries(
        scenario.nodes.map((node) => [node, { ...scenario.options, leaseMinMs: leaseMinMs() }]),
      )
      return { ...scenario, nodeOptions, events: [...events, ...changes].sort((a, b) => a.atMs - b.atMs) }
    }
    const seeds = Array.from({ length: sized(12, 400) }, (_, index) => index + 1)
    expect(seeds.flatMap((seed) => runSeed(definition, drawMixed, seed).violations)).toEqual([])
  }, 240_000)
})

describe('lost messages', () => {
  it.each([3, 5])('of one in a hundred do not make the leases of %d nodes long', (nodes) => {
    const lossy = run(nodes, { network: { delayMs: [0.05, 0.5], loss: 0.01 }, untilMs: 300_000 })
    expect(Math.max(...levels(lossy).map(lockAt))).toBeLessThan(500_000)
    expect(leads(lossy)).toBe(1)
  })

  it('are forgotten within minutes, even where every answer is needed', () => {
    const events = [
      { atMs: 5000, crash: 3 },
      { atMs: 10_000, loss: 0.05 },
      { atMs: 15_000, loss: 0 },
    ]
    const burst = run(3, { options: { timing: 'adaptive', sticky: true }, events, untilMs: 300_000 })
    expect(Math.max(...levels(burst).map(lockAt))).toBeGreaterThan(500_000)
    expect(levels(burst).at(-1)).toBe(LOWEST)
  })
})

describe('different bounds', () => {
  it('are no reason for a report where they overlap: the group uses what all grant', () => {
    const nodeOptions = {
      2: { timing: 'adaptive', leaseMinMs: 150 },
      3: { timing: 'adaptive', leaseMinMs: 200 },
    }
    const apart = run(3, { nodeOptions, untilMs: 20_000 })
    expect(apart.report.leaders).toHaveLength(1)
    expect(ofType(apart, 'mismatch')).toEqual([])
    expect(lockAt(levels(apart).at(-1) ?? 0)).toBeGreaterThanOrEqual(150_000)
    const leader = ofType(apart, 'elected').at(-1)?.node
    const members = leader === undefined ? [] : apart.report.nodes[String(leader)]?.members
    expect(members).toContain(leader)
    expect(members).toHaveProperty(
      'length',
      expect.toSatisfy((length: number) => length >= 2),
    )
  })

  it('limit the leader to what a majority grants: it asks for no more, and counts slow messages there', () => {
    const bounds = { timing: 'adaptive', leaseMaxMs: 120 }
    const slow = { slow: [1, 2, 3].flatMap((a) => [1, 2, 3].filter((b) => b > a).map((b) => [a, b])) }
    const limited = run(3, {
      options: { timing: 'adaptive', sticky: true, witnesses: [2, 3] },
      nodeOptions: { 2: bounds, 3: bounds },
      events: [
        { atMs: 2000, ...slow, delayMs: [6, 7] },
        { atMs: 3000, ...slow, delayMs: [12, 13] },
      ],
      untilMs: 50_000,
    })
    expect(leads(limited)).toBe(1)
    expect(limited.report.leaders).toEqual([1])
    expect(Math.max(...levels(limited).map(lockAt))).toBeLessThanOrEqual(120_000)
  })

  it('cost no renewals under load: the leader knows what each voter grants', () => {
    const bounds = { timing: 'adaptive', leaseMaxMs: 120 }
    const limited = run(3, {
      options: { timing: 'adaptive', sticky: true, witnesses: [2, 3] },
      nodeOptions: { 2: bounds, 3: bounds },
      events: [{ atMs: 10_000, load: 'all', lateMs: [8, 13], overMs: 5000 }],
      untilMs: 60_000,
    })
    expect(leads(limited)).toBe(1)
    expect(ofType(limited, 'level').length).toBeLessThanOrEqual(8)
  })

  it('are no reason to change the level again and again in a quiet group', () => {
    const nodeOptions = {
      1: { timing: 'adaptive', leaseMinMs: 60, leaseMaxMs: 95 },
      2: { timing: 'adaptive', leaseMinMs: 77, leaseMaxMs: 5000 },
      3: { timing: 'adaptive', leaseMinMs: 200, leaseMaxMs: 5000 },
    }
    const quiet = run(3, { nodeOptions, untilMs: 300_000 })
    expect(ofType(quiet, 'level').length).toBeLessThanOrEqual(4)
    expect(leads(quiet)).toBe(1)
  })

  /** One voter is gone, so the leader needs the other one, which has other bounds. */
  const WITHOUT_ONE: readonly [string, object][] = [
    ['is down', { atMs: 200, crash: 3 }],
    ['cannot store its vote', { atMs: 200, unwritable: 3 }],
  ]

  it.each(WITHOUT_ONE)('leave a leader its term while another voter %s', (_name, event) => {
    const change = { command: { do: 'setLeaseBounds', node: 2, leaseMinMs: 20, leaseMaxMs: 50 } }
    const options = { timing: 'adaptive', leaseMinMs: 20, leaseMaxMs: 100 }
    const changed = run(3, { options, events: [event, { atMs: 3000, ...change }], untilMs: 30_000 })
    expect(leads(changed)).toBe(1)
    // The leader goes on to the shortest lease.
    expect(levels(changed).at(-1)).toBe(levelFor(20_000))
  })

  it.each(WITHOUT_ONE)('let a node be elected while a voter %s and the other never leads', (_name, event) => {
    const options = { timing: 'adaptive', leaseMinMs: 20, leaseMaxMs: 100, witnesses: [2] }
    const nodeOptions = { 2: { leaseMinMs: 20, leaseMaxMs: 60 } }
    const elected = run(3, { options, nodeOptions, events: [{ ...event, atMs: 0 }], untilMs: 10_000 })
    expect(elected.report.leaders).toEqual([1])
    expect(leads(elected)).toBe(1)
  })

  it('let a node be elected with the one voter that can vote, though another prefers itself', () => {
    const elected = run(3, {
      options: { timing: 'adaptive', leaseMinMs: 20, leaseMaxMs: 100, witnesses: [1] },
      nodeOptions: { 1: { leaseMinMs: 20, leaseMaxMs: 60 } },
      events: [{ atMs: 0, unwritable: 2 }],
      untilMs: 10_000,
    })
    expect(elected.report.leaders).toEqual([3])
  })

  it('that leave one level elect as well as wider ones', () => {
    const narrow = run(3, {
      options: { timing: 'adaptive', leaseMinMs: 100, leaseMaxMs: 120 },
      network: { delayMs: [12, 13] },
      untilMs: 10_000,
    })
    expect(leads(narrow)).toBe(1)
  })

  it('that change are what the promises of a run are computed from', () => {
    const change = (leaseMinMs: number, leaseMaxMs: number) =>
      [1, 2, 3].map((node) => ({
        atMs: 500 + node,
        command: { do: 'setLeaseBounds', node, leaseMinMs, leaseMaxMs },
      }))
    const bounds = (leaseMinMs: number, leaseMaxMs: number) => ({
      timing: 'adaptive',
      leaseMinMs,
      leaseMaxMs,
    })
    // Leases of seconds, although the group started with leases of 80 ms: failover takes seconds.
    const longer = run(3, {
      options: bounds(60, 80),
      events: [...change(4000, 5000), { atMs: 5000, crash: 1 }],
      untilMs: 20_000,
    })
    expect(longer.report.leaders).toHaveLength(1)
    // Leases of 80 ms, although messages take 30 ms: nothing is promised.
    run(3, {
      options: bounds(60, 5000),
      network: { delayMs: [28, 30] },
      events: change(60, 80),
      untilMs: 20_000,
    })
  })

  it('decide which messages may arrive: a node with longer leases still hears a slow peer', () => {
    const nodeOptions = { 1: { leaseMinMs: 40, leaseMaxMs: 160 }, 4: { leaseMinMs: 20, leaseMaxMs: 40 } }
    const slow = run(4, {
      options: { timing: 'adaptive', leaseMinMs: 30, leaseMaxMs: 120 },
      nodeOptions,
      network: { delayMs: 1 },
      events: [{ atMs: 1000, rules: [{ from: 4, to: 1, delayMs: 21 }] }],
      untilMs: 6000,
    })
    expect(leads(slow)).toBe(1)
  })

  it('that become wider while the group runs are used at once', () => {
    const bounds = { timing: 'adaptive', leaseMaxMs: 120 }
    const wider = (node: number) => ({ do: 'setLeaseBounds', leaseMinMs: 60, leaseMaxMs: 5000, node })
    const changed = run(3, {
      nodeOptions: { 2: bounds, 3: bounds },
      events: [
        { atMs: 10_000, command: wider(2) },
        { atMs: 10_000, command: wider(3) },
        { atMs: 12_000, load: 'all', lateMs: [0, 30], overMs: 10_000 },
      ],
      untilMs: 40_000,
    })
    expect(leads(changed)).toBe(1)
    expect(Math.max(...levels(changed).map(lockAt))).toBeGreaterThan(150_000)
  })

  it('that do not overlap leave a majority with the same bounds to itself', () => {
    const nodeOptions = { 3: { timing: 'adaptive', leaseMinMs: 10_000, leaseMaxMs: 20_000 } }
    const apart = run(3, { nodeOptions, untilMs: 10_000 })
    expect(apart.report.leaders).toEqual([1])
    expect(apart.report.nodes['1']?.members).toEqual([1, 2])
    expect(ofType(apart, 'mismatch').map(({ event }) => event)).toContainEqual({
      type: 'mismatch',
      peer: 3,
      field: 'lease bounds',
      ours: { leaseMinMs: 60, leaseMaxMs: 5000 },
      theirs: { leaseMinMs: 10_000, leaseMaxMs: 20_000 },
    })
  })

  it('of the preferred leader that do not overlap with the others leave the lead to another node', () => {
    const nodeOptions = { 1: { timing: 'adaptive', leaseMinMs: 10_000, leaseMaxMs: 20_000 } }
    const apart = run(3, { nodeOptions, untilMs: 60_000 })
    expect(apart.report.leaders).toEqual([2])
    expect(leads(apart)).toBeLessThanOrEqual(2)
  })

  it('can be changed one node at a time, in any order, while the leader stays', () => {
    const change = (atMs: number, node: number) => ({
      atMs,
      command: { node, do: 'setLeaseBounds', leaseMinMs: 300, leaseMaxMs: 8000 },
    })
    for (const order of [
      [1, 2, 3],
      [3, 2, 1],
      [2, 1, 3],
    ]) {
      const events = order.map((node, index) => change(8000 + 3000 * index, node))
      const changed = run(3, { events, untilMs: 30_000 })
      expect(leads(changed)).toBe(1)
      expect(changed.report.nodes['1']?.members).toEqual([1, 2, 3])
      expect(lockAt(levels(changed).at(-1) ?? 0)).toBeGreaterThanOrEqual(300_000)
    }
  })

  it('are refused when they are out of order, or where the timing is fixed', () => {
    const refused = (options: object, leaseMinMs: number, leaseMaxMs: number) => {
      const command = { node: 1, do: 'setLeaseBounds', leaseMinMs, leaseMaxMs }
      return ofType(run(1, { options, events: [{ atMs: 100, command }], untilMs: 200 }), 'refused').map(
        ({ event }) => event['why'],
      )
    }
    expect(refused({ timing: 'adaptive' }, 500, 200)).toEqual([
      'leaseMinMs: 500 is above leaseMaxMs, which is 200; set both, leaseMaxMs at least 1.25 times leaseMinMs',
    ])
    expect(refused({ timing: 'adaptive' }, 100, 110)).toEqual([
      'leaseMaxMs: 110 is too close to leaseMinMs; use 125 or more',
    ])
    expect(refused({}, 100, 900)).toEqual(['the timing of this node is fixed'])
  })
})
