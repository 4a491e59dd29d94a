/**
 * One bad member must not end the group. A member with the right key may be buggy or old: it may cost a term. When it
 * has stopped, the others elect within the protocol's own bound, every node starts again from its stable data, no number
 * has left the exact integers, nothing was thrown, and nobody's state has grown.
 */
import { describe, expect, it } from 'vitest'
import {
  BadWorld,
  badDatagrams,
  badRuns,
  boundOf,
  chance,
  IDS,
  specOf,
} from '../../test/support/bad-member.ts'
import { FAULT_KINDS, type PlainObject, present } from '../core/index.ts'
import { runScenario, scenarioDrawer } from '../workbench/sim/index.ts'
import { type GroupSpec, protocolNamed } from './index.ts'

const RUNS = Number(process.env['BAD_MEMBER_RUNS'] ?? 20_000)
const FIRST = Number(process.env['BAD_MEMBER_SEED'] ?? 1)

const GROUPS: readonly (readonly [string, number, { readonly [group: string]: GroupSpec }])[] = [
  ['local-leader', 0.8, { g: specOf('local-leader') }],
  ['local-leader, one leader in each partition', 0.1, { g: specOf('local-leader', { mode: 'local' }) }],
  ['omega', 0.05, { g: specOf('omega') }],
  ['a bundle of both', 0.05, { g: specOf('local-leader', { sticky: true }), h: specOf('omega') }],
]

describe.each(GROUPS)('a bad member of %s', (_, share, specs) => {
  const runs = Math.ceil(RUNS * share)

  it(`costs a term at most, in ${runs} runs`, () => {
    const { failure, refused, implausible } = badRuns(specs, FIRST, runs)
    expect(failure).toBeNull()
    // The fuzzer has tried what is out of bounds, and what is only implausible.
    expect(refused).toBeGreaterThan(runs / 10)
    expect(implausible).toBeGreaterThan(runs / 100)
  }, 3_600_000)
})

/** A member that goes on afterwards, and is needed: nobody must have to be started again. */
describe.each(['local-leader', 'omega'] as const)('the session of a bad member of %s', (protocol) => {
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

  it.each(cases)('is sound again as soon as it says %j no more', (change) => {
    const specs = { g: specOf(protocol) }
    const bound = boundOf(specs.g)
    const rested = BadWorld.begun(specs)
    expect(rested.run(2 * bound, () => rested.isWhole())).toBe(true)
    rested.run(500_000)
    for (const [place, bad] of IDS.entries()) {
      const world = rested.copy(chance(FIRST + place))
      saying(world, bad, change, 4)
      world.run(bound)
      expect(world.isWhole()).toBe(true)
      world.stop(present(IDS[(place + 1) % IDS.length], 'another'))
      world.run(2000)
      expect(world.run(bound, () => world.isLed())).toBe(true)
    }
  })
})

/** The next so many datagrams of a member say this of its session. */
function saying(world: BadWorld, bad: string, change: PlainObject, times: number): void {
  let left = times
  world.bad = {
    id: bad,
    tamper: (body, to) => {
      if (left === 0) return body
      left -= 1
      return world.decoded(world.encoded(bad, to, { ...body, ...change }))
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
] as const)('datagrams of %s with bytes changed, under the right key', (_, specs) => {
  const runs = Math.ceil(RUNS / 2)

  it(`cost a term at most, ${runs} of them`, () => {
    const { read, unread, failure } = badDatagrams(specs, FIRST, runs)
    expect(failure).toBeNull()
    expect(Math.min(read, unread)).toBeGreaterThan(runs / 20)
  }, 3_600_000)
})

/** What nobody may say must not be what somebody has to say: campaigns of good members, with all faults that they bear. */
describe.each([
  ['local-leader', 0.002],
  ['omega', 0.002],
] as const)('good members of %s', (name, share) => {
  const seeds = Math.ceil(RUNS * share)

  it(`find nothing of each other implausible, in ${seeds} seeds`, () => {
    const definition = present(protocolNamed(name), name)
    const draw = scenarioDrawer(definition, { nodes: [3, 5], options: {}, faults: FAULT_KINDS })
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
