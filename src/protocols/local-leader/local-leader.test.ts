import { describe, expect, it } from 'vitest'
import { exploring, ids, simulate } from '../../../test/support/run.ts'
import { sized } from '../../../test/support/sizes.ts'
import { FAULT_KINDS, type FaultKind, type NodeId, present } from '../../core/index.ts'
import { Random } from '../../workbench/scenario/random.ts'
import { type Budget, checkedOptions, runSeed, scenarioDrawer } from '../../workbench/sim/index.ts'
import type { TraceRecord } from '../../workbench/trace/index.ts'
import { protocolNamed } from '../index.ts'
import { brokenBounds, timingOf } from './constants.ts'
import { givenBy, localLeaderOptions } from './options.ts'

const definition = present(protocolNamed('local-leader'), 'local-leader')

type Campaign = {
  readonly mode: 'local' | 'majority'
  readonly nodes: readonly [number, number]
  readonly faults: readonly FaultKind[]
  readonly seeds: readonly [number, number]
}

/** The specifications that a campaign found violated. */
function violated({ mode, nodes, faults, seeds }: Campaign, misreading: string): readonly string[] {
  const draw = scenarioDrawer(definition, { nodes, options: { mode, misreading }, faults })
  const found = new Set<string>()
  for (let seed = seeds[0]; seed <= seeds[1]; seed++) {
    for (const { spec } of runSeed(definition, draw, seed).violations) found.add(spec)
  }
  return [...found].sort()
}

const ANY = { nodes: [3, 7], faults: FAULT_KINDS } as const
/** Three nodes, and only events that change reachability or memory: most seeds then hit the same few moments. */
const FEW = { nodes: [3, 3], faults: ['crash', 'cut', 'partition', 'graph'] } as const

describe('a campaign catches each restored defect', () => {
  it.each<[string, Campaign, readonly string[]]>([
    ['release-while-leader', { mode: 'local', ...ANY, seeds: [106, 108] }, ['SO', 'views-disjoint']],
    ['short-kappa', { mode: 'local', ...ANY, seeds: [72, 74] }, ['T']],
    ['no-echo', { mode: 'local', ...ANY, seeds: [126, 128] }, ['BI']],
    ['renewal-after-expiry', { mode: 'majority', ...ANY, seeds: [61, 63] }, ['told-in-pairs']],
    ['volatile-promises', { mode: 'majority', ...FEW, seeds: [24, 26] }, ['tokens']],
    ['no-suspend-check', { mode: 'majority', ...ANY, seeds: [591, 592] }, ['SO', 'one-leader', 'tokens']],
    ['stubborn-candidates', { mode: 'majority', ...ANY, seeds: [104, 106] }, ['majority-leads']],
  ])('%s', (misreading, campaign, specs) => {
    expect(violated(campaign, misreading)).toEqual(expect.arrayContaining([...specs]))
    expect(violated(campaign, 'none')).toEqual([])
  })
})

describe('voters that forget their locks in a crash', () => {
  it('elect a second leader while the lease of the first lasts', () => {
    const events = [
      { atMs: 1000, partition: [[1], [2, 3]] },
      { atMs: 1000, crash: 2 },
      { atMs: 1000, crash: 3 },
      { atMs: 1001, recover: 2 },
      { atMs: 1001, recover: 3 },
    ]
    const found = (misreading: string): readonly string[] =>
      simulate(
        {
          protocol: 'local-leader',
          nodes: ids(3),
          options: { mode: 'majority', misreading },
          network: { delayMs: 1 },
          events,
          untilMs: 1500,
        },
        {},
      )
        .specs.filter(({ verdict }) => verdict === 'violated')
        .map(({ name }) => name)
    expect(found('quick-restart')).toEqual(expect.arrayContaining(['SO', 'one-leader']))
    expect(found('none')).toEqual([])
  })
})

describe('a promise for a failed request', () => {
  const starts = sized(10, 100)

  it(`is revoked, so that all voters support the leader after any start: ${starts} starts`, () => {
    for (let seed = 1; seed <= starts; seed++) {
      const random = new Random(seed)
      const events = ids(5).flatMap((node) => [
        { atMs: 0, crash: node },
        { atMs: random.integer(5, 125), recover: node },
      ])
      let supporters: readonly NodeId[] = []
      const file = {
        protocol: 'local-leader',
        nodes: ids(5),
        seed,
        options: { mode: 'majority', sticky: true },
        network: { delayMs: [0.05, 3] },
        events: events.sort((a, b) => a.atMs - b.atMs),
        untilMs: 1500,
      }
      const record = (happened: TraceRecord): void => {
        if (happened.type === 'step' && happened.view?.role === 'leader')
          supporters = happened.view.members ?? []
      }
      simulate(file, { strict: false, record })
      expect(supporters, `${seed}`).toEqual(ids(5))
    }
  })

  it('is kept if a node led by it: otherwise a token is used twice', () => {
    const file = {
      protocol: 'local-leader',
      nodes: [1, 4],
      seed: 16,
      network: { delayMs: 0.997 },
      events: [
        { atMs: 48, partition: [[4], [1]] },
        { atMs: 171, heal: 'all' },
        { atMs: 819, command: { do: 'stepDown', node: 1 } },
        { atMs: 1149, command: { do: 'stepDown', node: 4 } },
      ],
      untilMs: 2301,
    }
    const verdicts = (misreading: string): readonly string[] =>
      simulate({ ...file, options: { mode: 'majority', sticky: true, misreading } }, {})
        .specs.filter(({ verdict }) => verdict === 'violated')
        .map(({ name }) => name)
    expect(verdicts('revoked-promises')).toEqual(['tokens'])
    expect(verdicts('none')).toEqual([])
  })
})

describe('the smallest groups', () => {
  it('keep all their promises, although one of two is no majority', () => {
    const found = [1, 2].flatMap((nodes) =>
      violated(
        { mode: 'majority', nodes: [nodes, nodes], faults: FAULT_KINDS, seeds: [1, sized(15, 200)] },
        'none',
      ),
    )
    expect(found).toEqual([])
  })

  it('refuse a voter that does not exist', () => {
    const draw = scenarioDrawer(definition, { nodes: [1, 1], options: { mode: 'majority' }, faults: [] })
    const scenario = { ...draw(1), events: [{ atMs: 500, command: { node: 1, do: 'addVoter', voter: 2 } }] }
    expect(runSeed(definition, () => scenario, 1).violations).toEqual([])
  })
})

describe('a majority of nodes that hear each other', () => {
  const graphs = sized(15, 150)

  it(`has a leader, even if other nodes hear some of its voters: ${graphs} random graphs`, () => {
    for (let seed = 5001; seed <= 5000 + graphs; seed++) {
      const random = new Random(seed)
      const nodes = ids(random.integer(3, 7))
      const shuffled = nodes.toSorted(() => random.fraction() - 0.5)
      const majority = shuffled.slice(0, Math.floor(nodes.length / 2) + 1)
      const density = random.fraction()
      const links = nodes.flatMap((a, place) =>
        nodes.slice(place + 1).flatMap((b) => {
          const isInside = majority.includes(a) && majority.includes(b)
          return isInside || random.chance(density) ? [[a, b]] : []
        }),
      )
      const file = { protocol: 'local-leader', nodes, seed, links, untilMs: 2000, checkpointsMs: [1000] }
      const report = simulate(file, {})
      expect([report.checkpoints['1000']?.leaders.length, report.leaders.length], `${seed}`).toEqual([1, 1])
    }
  })
})

describe('searched with time as an order of events', () => {
  // Two candidates, a witness, one request per candidate, step-downs at any moment. Two ticks are a lock and a lease.
  const fifo = { order: 'fifo' } as const
  const budget = { crashes: 1, recoveries: 1, flips: 0, ticks: 2 }

  it.each<readonly [string, Budget, number]>([
    ['two ticks', { ...budget, crashes: 0 }, 187_588],
    ...sized<readonly (readonly [string, Budget, number])[]>(
      [],
      [
        ['a restart and a tick', { ...budget, ticks: 1 }, 532_912],
        ['a restart and two ticks', budget, 1_801_694],
      ],
    ),
  ])('has no two leaders in all interleavings of %s', (_what, bounds, states) => {
    const report = exploring('local-leader', 3, { ...fifo, budget: bounds })
    expect(report.complete).toBe(true)
    expect(report.counterexample).toBeNull()
    expect(report.states).toBe(states)
  })

  it('has no two leaders in the first ten steps with a restart and two ticks: a defect shows in eight', () => {
    const report = exploring('local-leader', 3, { ...fifo, budget, depth: 10 })
    expect(report.counterexample).toBeNull()
    expect(report.depth).toBe(10)
  })

  it('has no two leaders, and tokens that grow, where a leader raises its epoch (from depth 8 on)', () => {
    const report = exploring('local-leader', 3, {
      ...fifo,
      budget: { ...budget, crashes: 0, recoveries: 0 },
      depth: sized(9, 11),
      options: { requests: 2 },
    })
    expect(report.counterexample).toBeNull()
    expect(report.depth).toBe(sized(9, 11))
  })

  it('lets exactly a lock and a lease pass in two ticks', () => {
    const { lockTime, lease } = timingOf(givenBy(localLeaderOptions([1, 2, 3]).parse({}), 3))
    const { tick } = definition.exploration
    expect(tick).toBeLessThan(lease)
    expect(2 * tick).toBeGreaterThan(lockTime)
  })

  it('has two when a restarted voter forgets its lock', () => {
    const report = exploring('local-leader', 3, { ...fifo, budget, options: { misreading: 'quick-restart' } })
    expect(report.counterexample?.spec).toBe('one-leader')
    expect(report.counterexample?.steps).toHaveLength(8)
  })

  it('has two when a failed renewal releases the locks of its lease', () => {
    const report = exploring('local-leader', 3, {
      order: sized('fifo', 'any'),
      budget: { ...budget, crashes: 0 },
      options: { misreading: 'release-while-leader', requests: 2 },
    })
    expect(report.counterexample?.spec).toBe('one-leader')
    expect(report.counterexample?.steps).toHaveLength(10)
  })
})

describe('the constants', () => {
  const resolved = (options: object) => localLeaderOptions([1, 2, 3, 4, 5]).parse(options)
  const timing = (options: object) => timingOf(givenBy(resolved(options), 5))

  it.each([
    ['lan', 'majority', { lockTime: 100, electionPeriod: 120, expires: 110 }],
    ['lan', 'local', { lockTime: 100, electionPeriod: 120, expires: 280 }],
    ['region', 'majority', { lockTime: 260, electionPeriod: 310, expires: 290 }],
    ['region', 'local', { lockTime: 260, electionPeriod: 310, expires: 739 }],
    ['wan', 'majority', { lockTime: 1515, electionPeriod: 1821, expires: 1807 }],
  ])('of %s in %s mode match the values computed by hand, up to the drift', (profile, mode, want) => {
    const { lockTime, electionPeriod, expires } = timing({ profile, mode })
    const rounded = { lockTime, electionPeriod, expires }
    for (const [name, micros] of Object.entries(rounded)) {
      const wanted = want[name as keyof typeof want]
      expect(Math.abs(micros / 1000 - wanted), `${name}: ${micros}`).toBeLessThan(wanted * 0.008)
    }
  })

  it('leave room for every try before the lease ends, for any given constants', () => {
    for (const profile of ['lan', 'region', 'wan']) {
      for (const renewalTries of [1, 2, 5]) {
        for (const rhoPpm of [1, 100, 5000]) {
          const fastMs = profile === 'wan' ? 300 : null
          const chosen = { ...resolved({ profile, renewalTries }), rhoPpm, fastMs }
          const { lease, renewalInterval, tries, tryTime, lockTime, rho } = timingOf(givenBy(chosen, 5))
          expect(lease).toBeGreaterThanOrEqual(renewalInterval + tries * tryTime)
          expect(lease).toBeLessThanOrEqual(lockTime * (1 - 2 * rho))
        }
      }
    }
  })

  it('refuse the constants of the paper, which break its own bound, and name the nearest valid value', () => {
    const paper = { deltaMs: 7, deltaMinMs: 0.1, fastMs: 15, sigmaMs: 30, electionPeriodMs: 50 }
    expect(() => checkedOptions(definition, [1, 2, 3], paper)).toThrow(
      /^options\.electionPeriodMs: breaks the bound lockTime\(1 − 2ρ\) ≥ renewal interval \+ K\(2Δ\(1 \+ ρ\) \+ σ\): \S+ ms is below \S+ ms; the nearest valid value is (\S+)$/,
    )
    const nearest = brokenBounds(givenBy({ ...resolved({}), ...paper }, 3))[0]?.nearest
    expect(() =>
      checkedOptions(definition, [1, 2, 3], { ...paper, electionPeriodMs: nearest ?? 0 }),
    ).not.toThrow()
  })

  it('that are accepted in local mode keep T and BI at the largest clock drift', () => {
    for (const rhoPpm of [2000, 5000]) {
      const given = { ...resolved({ mode: 'local' }), rhoPpm }
      const fastMs = brokenBounds(givenBy(given, 3))[0]?.nearest ?? null
      for (let seed = 1; seed <= 3; seed++) {
        const report = simulate(
          {
            protocol: 'local-leader',
            nodes: ids(2 + (seed % 2)),
            seed,
            options: { mode: 'local', rhoPpm, fastMs },
            network: { delayMs: seed % 3 === 0 ? [0.02, 5] : 5 },
            clocks: { driftPpm: rhoPpm, lateMs: seed % 2 === 0 ? 10 : [0, 10] },
            untilMs: 2000,
          },
          { strict: false },
        )
        const broken = report.specs.filter(({ verdict }) => verdict === 'violated')
        expect(broken, `${rhoPpm} ${seed}`).toEqual([])
      }
    }
  })

  it.each<[object, string]>([
    [{ deltaMs: 6 }, 'options.fastMs: breaks the bound Δ ≥ (2δ − δmin)(1 + ρ): 10.1 ms is below 11.982 ms'],
    [
      { mode: 'local', rhoPpm: 2000 },
      'options.fastMs: breaks the bound Δ ≥ (2δ − δmin)(1 + ρ) + 4ρ(heartbeat + σ + 2δ): 10.1 ms is below 10.875 ms; the nearest valid value is 10.903',
    ],
    [
      { rule: 'equality', rhoPpm: 5000 },
      'options.fastMs: breaks the bound Δ ≥ (2δ − δmin)(1 + ρ) + 4ρ(heartbeat + σ + 2δ)',
    ],
    [{ deltaMs: 0.01, fastMs: 1 }, 'options.deltaMs: breaks the bound δ ≥ δmin: 0.01 ms is below 0.02 ms'],
    [{ expiresMs: 50 }, 'options.expiresMs: breaks the bound expires ≥ lockTime: 50 ms is below'],
    [{ mode: 'local', expiresMs: 100 }, 'options.expiresMs: breaks the bound expires ≥ (EP(1 + ρ)'],
    [{ voters: [1, 1] }, 'options.voters[1]: 1 is listed twice'],
    [{ voters: [] }, 'options.voters: is empty: without voters no node can lead'],
    [{ voters: [1, 2], observers: [2] }, 'options.observers: 2 is a voter too: an observer never votes'],
    [{ observers: [1, 2, 3] }, 'options.voters: is empty'],
    [{ witnesses: [1, 2, 3] }, 'options.witnesses: every voter is a witness: no node could lead'],
    [{ voters: [1, 2], witnesses: [3] }, 'options.witnesses: 3 is not a voter: witnesses must be voters'],
    [{ voters: [9] }, 'options.voters[0]: 9 is not one of the nodes'],
  ])('%j is refused', (options, message) => {
    expect(() => checkedOptions(definition, [1, 2, 3], options as never)).toThrow(message)
  })
})

describe('stable data', () => {
  const create = () =>
    definition.create({ self: 1, nodes: [1, 2, 3] }, checkedOptions(definition, [1, 2, 3], {}))
  const { lockTime, silence } = timingOf(givenBy(localLeaderOptions([1, 2, 3]).parse({}), 3))
  const good = {
    incarnation: 1,
    lockTime,
    promised: { number: 0, owner: null },
    config: { id: [0, 0], sets: [[1, 2, 3]] },
  }

  it('starts the next incarnation, silent until its locks have expired', () => {
    const { state, effects } = create().start({ layer: 1, upper: good }, 0)
    expect(state).toMatchObject({ upper: { incarnation: 2, silentUntil: silence } })
    expect(effects.filter(({ type }) => type === 'send')).toEqual([])
  })

  it('keeps the longest lock of all incarnations when the constants become shorter', () => {
    const { state } = create().start({ layer: 1, upper: { ...good, lockTime: 500_000 } }, 0)
    expect(state).toMatchObject({ upper: { silentUntil: 500_100, longestLock: 500_000 } })
  })

  it.each<[string, object, string]>([
    ['a negative epoch', { promised: { number: -1, owner: 2 } }, 'promised.number'],
    [
      'an epoch without an owner',
      { promised: { number: 4, owner: null } },
      'promised: an epoch and its owner',
    ],
    ['no voters', { config: { id: [0, 0], sets: [] } }, 'config.sets'],
    ['an unknown field', { more: 1 }, 'more: is unknown'],
  ])('with %s is refused, and the error says what to do', (_what, damage, field) => {
    const start = () => create().start({ layer: 1, upper: { ...good, ...damage } as never }, 0)
    expect(start).toThrow(field)
    expect(start).toThrow('run "conclave recover"')
  })
})
