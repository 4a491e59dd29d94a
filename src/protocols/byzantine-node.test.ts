/**
 * One Byzantine node must not stop the group. A node with the right key may be buggy or outdated, and may cost a term.
 * After it stops, the others elect within the protocol's bound, every node restarts from its stable data, all numbers
 * are still exact integers, nothing has thrown, and no state has grown.
 */
import { describe, expect, it } from 'vitest'
import { byzantineRuns, corruptedDatagrams } from '../../test/support/byzantine/runs.ts'
import { ByzantineWorld, boundOf, IDS, seededRandom, specOf } from '../../test/support/byzantine/world.ts'
import { FAULT_KINDS, type PlainObject, present } from '../core/index.ts'
import { runScenario, scenarioDrawer } from '../workbench/sim/index.ts'
import { type GroupSpec, protocolNamed } from './index.ts'

/** The total number of runs of all cases; npm run soak sets it to a million. */
const RUNS = Number(process.env['BYZANTINE_RUNS'] ?? 20_000)
const FIRST = Number(process.env['BYZANTINE_SEED'] ?? 1)

/** Short leases, since the bound within which a group recovers grows with the longest. */
const ADAPTIVE = { timing: 'adaptive', leaseMinMs: 20, leaseMaxMs: 200 } as const

const GROUPS: readonly (readonly [string, number, { readonly [group: string]: GroupSpec }])[] = [
  ['local-leader', 0.7, { g: specOf('local-leader') }],
  ['local-leader with leases that adapt', 0.1, { g: specOf('local-leader', ADAPTIVE) }],
  ['local-leader, one leader in each partition', 0.1, { g: specOf('local-leader', { mode: 'local' }) }],
  ['omega', 0.05, { g: specOf('omega') }],
  ['a bundle of both', 0.05, { g: specOf('local-leader', { sticky: true }), h: specOf('omega') }],
]

describe.each(GROUPS)('a Byzantine node in %s', (_, share, specs) => {
  const runs = Math.ceil(RUNS * share)

  it(`costs a term at most, in ${runs} runs`, () => {
    const { failure, refused, implausible } = byzantineRuns(specs, FIRST, runs)
    expect(failure).toBeNull()
    // The fuzzer has produced both messages out of bounds and implausible ones.
    expect(refused).toBeGreaterThan(runs / 10)
    expect(implausible).toBeGreaterThan(runs / 100)
  }, 3_600_000)
})

/** Failures of a million runs, by the seed of their world and the number of runs in it. */
describe('the group elects after a faulty node', () => {
  const bundle = present(GROUPS.at(-1), 'groups')[2]
  const cases: readonly (readonly [string, { readonly [group: string]: GroupSpec }, number, number])[] = [
    ['claimed 2^32, the largest number that every node finds plausible', bundle, 4781, 5],
    ['sent a frame as its own next process', { h: specOf('omega') }, 7841, 8],
    ['sent a frame as its own next process, in a bundle', bundle, 9281, 6],
    ['sent a ping of a later period as its own next process', { h: specOf('omega') }, 29_641, 7],
    ['claimed a view that names the next life of another node', bundle, 35_401, 5],
  ]

  it.each(cases)('%s', (_, specs, seed, runs) => {
    expect(byzantineRuns(specs, seed, runs).failure).toBeNull()
  })
})

/** The node behaves well afterwards and is needed: no node may have to be restarted. */
describe.each(['local-leader', 'omega'] as const)('the session of a Byzantine node of %s', (protocol) => {
  const most = 2 ** 52
  const cases: readonly PlainObject[] = [
    { sent: most },
    { sent: most, awake: most },
    { sent: most, awake: most, number: most },
    { sent: most, awake: most, by: most - 1 },
    { sent: most, awake: most, number: most, by: most - 1 },
    { sent: 0, awake: 0 },
    { awake: 0 },
    { number: most },
    { by: most - 1, number: 0 },
    { echo: { sent: most, received: most } },
    { echo: { sent: 0, received: most }, number: most },
    { for: most },
  ]

  it.each(cases)('recovers once the node stops sending %j', (change) => {
    const specs = { g: specOf(protocol) }
    const bound = boundOf(specs.g)
    const settled = ByzantineWorld.create(specs)
    expect(settled.run(2 * bound, () => settled.isWhole())).toBe(true)
    settled.run(500_000)
    for (const [place, bad] of IDS.entries()) {
      const world = settled.copy(seededRandom(FIRST + place))
      sendChanged(world, bad, change, 4)
      world.run(bound)
      expect(world.isWhole()).toBe(true)
      world.stop(present(IDS[(place + 1) % IDS.length], 'another'))
      world.run(2000)
      expect(world.run(bound, () => world.isLed())).toBe(true)
    }
  })
})

/** Changes the session fields of the next datagrams of a node. */
function sendChanged(world: ByzantineWorld, bad: string, change: PlainObject, times: number): void {
  let left = times
  world.bad = {
    id: bad,
    tamper: (body, to) => {
      if (left === 0) return body
      left -= 1
      return world.decode(world.encode(bad, to, { ...body, ...change }))
    },
  }
  world.run(1_000_000, () => left === 0)
  expect(left).toBe(0)
  world.bad = null
  world.run(2000)
}

describe.each([
  ['local-leader', { g: specOf('local-leader') }],
  ['omega', { g: specOf('omega') }],
] as const)('corrupted datagrams of %s, sealed with the right key', (_, specs) => {
  const runs = Math.ceil(RUNS / 2)

  it(`cost a term at most, ${runs} of them`, () => {
    const { read, unread, failure } = corruptedDatagrams(specs, FIRST, runs)
    expect(failure).toBeNull()
    expect(Math.min(read, unread)).toBeGreaterThan(runs / 20)
  }, 3_600_000)
})

/** Correct nodes must never look implausible: campaigns with all faults that the protocol tolerates. */
describe.each([
  ['local-leader', 0.002, {}],
  ['local-leader', 0.0005, { ...ADAPTIVE, mode: 'majority' }],
  ['omega', 0.002, {}],
] as const)('correct nodes of %s', (name, share, options) => {
  const seeds = Math.ceil(RUNS * share)

  it(`never find each other implausible, in ${seeds} seeds`, () => {
    const definition = present(protocolNamed(name), name)
    const draw = scenarioDrawer(definition, { nodes: [3, 5], options, faults: FAULT_KINDS })
    const found: string[] = []
    for (let seed = FIRST; seed < FIRST + seeds; seed++) {
      runScenario(definition, draw(seed), {
        specs: [],
        goals: [],
        observe(seen) {
          if (seen.type === 'output' && seen.event.type === 'implausible')
            found.push(`seed ${seed}: ${JSON.stringify(seen.event)}`)
        },
      })
    }
    expect(found.slice(0, 3)).toEqual([])
  }, 3_600_000)
})
