import { describe, expect, it } from 'vitest'
import { sized } from '../../../test/support/sizes.ts'
import type { FaultKind } from '../../core/index.ts'
import { FAULT_KINDS } from '../../core/index.ts'
import { catalogue, protocols } from '../../protocols/index.ts'
import {
  addTallies,
  type CampaignTally,
  checkedOptions,
  EMPTY_TALLY,
  parseScenario,
  promisedSpecs,
  runScenario,
  runSeed,
  scenarioDrawer,
} from './index.ts'

/**
 * The first seeds that reach the goals which none of the usual seeds reaches: `merged` and `reconfigured`; and seeds of
 * `recovery` with settled moments, which are rare among its first ones.
 */
const RARE: { readonly [protocol: string]: readonly number[] } = {
  'local-leader': [44, 77],
  recovery: [25, 26],
}

function seedsFor(protocol: string): readonly number[] {
  // A run of `recovery` takes the longest.
  const usual = protocol === 'recovery' ? 15 : 20
  const first = Array.from({ length: sized(usual, 300) }, (_, index) => index + 1)
  return [...new Set([...first, ...(RARE[protocol] ?? [])])]
}

/**
 * These protocols start settled and are broken on purpose; the explorer covers them
 * (omega-printed/printed.test.ts).
 */
const PRINTED = ['phi', 'psi', 'omega-printed']
const drawn = protocols.filter(({ name }) => !PRINTED.includes(name))

describe.each(drawn.map((definition) => [definition.name, definition] as const))(
  '%s',
  (protocol, definition) => {
    const seeds = seedsFor(protocol)
    const settings = { nodes: [2, 6] as const, options: {}, faults: FAULT_KINDS }
    const draw = scenarioDrawer(definition, settings)

    it('keeps its promises over many seeds of faults, and every goal is reached', () => {
      const tally = seeds.reduce<CampaignTally>(
        (sum, seed) => addTallies(sum, runSeed(definition, draw, seed)),
        EMPTY_TALLY,
      )
      expect(tally.violations).toEqual([])
      expect(tally.goals.filter(({ reached }) => !reached)).toEqual([])
      // Each specification is judged at least once for every seed whose options promise it.
      const promised = seeds.flatMap((seed) => promisedSpecs(definition, draw(seed).options))
      const seedsOf = (spec: string): number => promised.filter(({ name }) => name === spec).length
      expect(Object.entries(tally.judged).filter(([spec, judged]) => judged < seedsOf(spec))).toEqual([])
    }, 180_000)

    it('keeps the contract at every step of a few of them', () => {
      for (const seed of seeds.slice(0, sized(2, 15))) {
        expect(() => runScenario(definition, draw(seed), { strict: true })).not.toThrow()
      }
    }, 180_000)

    it('is given scenarios that could stand in a file', () => {
      for (const seed of seeds.slice(0, 30)) {
        const scenario = draw(seed)
        expect(parseScenario(JSON.parse(JSON.stringify(scenario)), catalogue)).toEqual(scenario)
        expect(draw(seed)).toEqual(scenario)
      }
    })

    it('is given only the faults that were asked for and that it bears', () => {
      const kinds = (faults: readonly FaultKind[]) => {
        const drawer = scenarioDrawer(definition, { ...settings, faults })
        return new Set(
          seeds.slice(0, 60).flatMap((seed) => drawer(seed).events.flatMap((event) => Object.keys(event))),
        )
      }
      expect(kinds([]).has('crash')).toBe(false)
      expect(kinds(['crash']).has('pause')).toBe(false)
      expect(kinds(['crash']).has('crash')).toBe(
        definition.bears(checkedOptions(definition, [1, 2], {})).includes('crash'),
      )
    })
  },
)
