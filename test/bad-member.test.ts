/**
 * One bad member must not end the group. A member with the right key may be buggy or old: it may cost a term. When it
 * has stopped, the others elect within the protocol's own bound, every node starts again from its stable data, no number
 * has left the exact integers, nothing was thrown, and nobody's state has grown.
 */
import { describe, expect, it } from 'vitest'
import { canonical, type Plain } from '../src/core/index.ts'
import type { GroupSpec } from '../src/protocols/index.ts'
import {
  BadWorld,
  boundOf,
  chance,
  IDS,
  protocolFor,
  specOf,
  tampering,
  unsafeIn,
} from './support/bad-member.ts'

const RUNS = Number(process.env['BAD_MEMBER_RUNS'] ?? 20_000)
/** Runs that follow each other in one world: what bad messages leave behind must not add up. */
const CHAIN = 20

const SMALL: readonly [string, { readonly [group: string]: GroupSpec }, number][] = [
  ['local-leader', { g: specOf('local-leader') }, 0.5],
  ['omega', { g: specOf('omega') }, 0.25],
  [
    'a bundle of both',
    {
      g: specOf('local-leader', { sticky: true }),
      h: specOf('omega'),
      i: specOf('local-leader', { mode: 'local' }),
    },
    0.25,
  ],
]

type Ending = 'goes on' | 'restarts' | 'is gone'

function sizes(world: BadWorld): number {
  return Math.max(...world.nodes.map(({ state }) => canonical(state).length))
}

function stablesOf(world: BadWorld): readonly (readonly [string, string, Plain])[] {
  return world.nodes.flatMap(({ id, stable }) => {
    const { upper } = stable as { upper: { readonly [group: string]: Plain } }
    return Object.entries(upper).map(([group, kept]) => [String(id), group, kept] as const)
  })
}

describe.each(SMALL)('a bad member of %s', (name, specs, share) => {
  const runs = Math.ceil(RUNS * share)
  const hasOmega = Object.values(specs).some(({ protocol }) => protocol === 'omega')
  const bound = Math.max(...Object.values(specs).map(boundOf))

  it(`costs a term at most, in ${runs} runs`, () => {
    const rested = BadWorld.begun(specs)
    expect(rested.run(2 * bound, () => rested.isLed())).toBe(true)
    rested.run(500_000)
    const size = sizes(rested)
    let world = rested
    let refused = 0
    for (let seed = 1; seed <= runs; seed++) {
      const random = chance(seed)
      world = (seed % CHAIN === 1 ? rested : world).copy(random)
      const bad = IDS[random(IDS.length)] as string
      const endings: readonly Ending[] = hasOmega
        ? ['restarts', 'is gone']
        : ['goes on', 'goes on', 'restarts', 'is gone']
      const ending = endings[random(endings.length)] as Ending
      const tamper = tampering(random, world, bad)
      let left = 1 + random(4)
      world.bad = {
        id: bad,
        tamper: (body, to) => {
          if (left === 0 || random(3) === 0) return body
          left -= 1
          const said = tamper(body, to)
          if (said === null) refused += 1
          return said
        },
      }
      const why = `${name}: seed ${seed}, ${bad} ${ending}`
      world.run(hasOmega ? 400_000 : 60_000, () => left === 0)
      world.bad = null
      if (ending !== 'goes on') world.stop(bad)
      if (ending === 'restarts') world.start(bad)
      world.run(2000)
      const isLed = world.run(bound, () => world.isLed())
      if (!isLed) expect.unreachable(`${why}: nobody leads within ${bound} µs`)
      if (ending === 'is gone') world.start(bad)
      if (!world.run(2 * bound, () => world.isWhole())) expect.unreachable(`${why}: not all are back`)
      for (const { id, state } of world.nodes) {
        const unsafe = unsafeIn(state)
        if (unsafe !== null) expect.unreachable(`${why}: ${id}: ${unsafe}`)
      }
      for (const [id, group, kept] of stablesOf(world)) {
        protocolFor(id, specs[group] as GroupSpec).start(kept, world.now)
      }
      if (seed % CHAIN === 0) {
        if (sizes(world) > size + 4000)
          expect.unreachable(`${why}: a state grew from ${size} to ${sizes(world)}`)
        for (const id of IDS) world.stop(id)
        for (const id of IDS) world.start(id)
        const isBack = world.run(2 * bound, () => world.isLed())
        if (!isBack) expect.unreachable(`${why}: nobody leads after all were restarted`)
      }
    }
    expect(refused).toBeGreaterThan(runs / 10)
  }, 600_000)
})
