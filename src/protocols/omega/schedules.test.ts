/** Omega+ in every schedule of small worlds, and in random schedules of larger ones. */
import { describe, expect, it } from 'vitest'
import { type Broken, brokenOmega, type Defect } from '../../../test/canaries/omega.ts'
import { exploring, ids } from '../../../test/support/run.ts'
import { isSoak, sized } from '../../../test/support/sizes.ts'
import type { PlainObject } from '../../core/index.ts'
import {
  checkedOptions,
  RandomWalker,
  type ScheduleStep,
  UntimedRules,
  type UntimedWorld,
} from '../../workbench/sim/index.ts'
import { type Spec, specNamed } from '../../workbench/specs/index.ts'
import { omegaDefinition } from './index.ts'
import type { OmegaState } from './state.ts'

type Bounds = {
  readonly flips: number
  readonly crashes?: number
  readonly slack?: number
  readonly raw?: true
}

function explored(n: number, options: PlainObject, { flips, crashes = 0, slack = 1, raw }: Bounds) {
  return exploring('omega', n, {
    options,
    budget: { crashes, recoveries: crashes, flips, ticks: 0 },
    history: { slack, labelled: raw === undefined },
    memoryMB: sized(1000, 4000),
  })
}

const DYNAMIC = { quorum: 'dynamic', reinit: 'quorum' }
const STATIC = { quorum: 'static', reinit: 'quorum' }

/** Only for npm run soak: most searches take about a minute, and the others repeat the check of a smaller search. */
const LARGE: readonly [number, PlainObject, Bounds, number][] = [
  [3, {}, { flips: 4 }, 22_568],
  [4, {}, { flips: 3 }, 28_798],
  [4, STATIC, { flips: 3 }, 28_798],
  [3, DYNAMIC, { flips: 4 }, 44_206],
  [3, {}, { flips: 5 }, 174_812],
  [3, {}, { flips: 3, crashes: 1 }, 100_509],
  [3, DYNAMIC, { flips: 5 }, 440_815],
  [3, {}, { flips: 4, crashes: 1 }, 915_751],
  [3, { reinit: 'all' }, { flips: 4, crashes: 1 }, 917_622],
  [3, STATIC, { flips: 4, crashes: 1 }, 1_221_332],
  [3, DYNAMIC, { flips: 4, crashes: 1 }, 3_225_854],
  [3, DYNAMIC, { flips: 3, crashes: 2 }, 3_909_324],
  [3, { filter: true }, { flips: 4 }, 374_223],
  [4, {}, { flips: 4 }, 567_684],
  [4, STATIC, { flips: 4 }, 565_060],
  [4, DYNAMIC, { flips: 4 }, 694_274],
]

describe('every schedule of a small world', () => {
  it.each<[number, PlainObject, Bounds, number]>([
    ...sized([], LARGE),
    [3, {}, { flips: 2, crashes: 1 }, 10_449],
    [3, DYNAMIC, { flips: 2, crashes: 1 }, 18_457],
    [3, { filter: true }, { flips: 3 }, 9445],
    [3, {}, { flips: 4, slack: 2 }, 25_115],
    [4, DYNAMIC, { flips: 3 }, 29_174],
  ])(
    '%i nodes, %j, %j: no violation, and a settled state stays reachable',
    (n, options, bounds, states) => {
      const report = explored(n, options, bounds)
      expect(report.counterexample).toBeNull()
      expect(report).toMatchObject({ complete: true, states, progress: { verdict: 'held' } })
      expect(report.specs.filter(({ verdict }) => verdict !== 'held')).toEqual([])
      expect(report.goals.find(({ name }) => name === 'view-installed')?.reached).toBe(true)
    },
    isSoak ? 0 : 900_000,
  )
})

describe('what each rule prevents', () => {
  it.each<[Broken, string, PlainObject, Bounds]>([
    ['no attempts', 'primary-chain', DYNAMIC, { flips: 4 }],
    ['volatile attempts', 'primary-chain', DYNAMIC, { flips: 3, crashes: 1, slack: sized(0, 1) }],
    ['no life', 'weak-liveness', {}, { flips: 4 }],
    ['no yield', 'connected-leaders', {}, { flips: 4 }],
    ['lost stable state', 'omega-views', {}, { flips: 3, crashes: 1 }],
    ['early attempts', 'majority-of-view-leads', DYNAMIC, { flips: sized(1, 2), crashes: 2, slack: 0 }],
  ])('%s: violates %s', (broken, name, options, { flips, crashes = 0, slack = 1 }) => {
    const { counterexample } = exploring('omega', 3, {
      definition: brokenOmega(broken),
      options,
      budget: { crashes, recoveries: crashes, flips, ticks: 0 },
      history: { slack, labelled: true },
      specs: [specNamed(name) as Spec],
      goals: [],
    })
    expect(counterexample?.spec).toBe(name)
    expect(counterexample?.steps.length).toBeLessThanOrEqual(18)
  })

  it('frames without labels, with slack 2: a node stays dead', () => {
    const specs = [specNamed('weak-liveness') as Spec]
    const budget = { crashes: 0, recoveries: 0, flips: sized(4, 5), ticks: 0 }
    const raw = { slack: 2, labelled: false }
    const { counterexample } = exploring('omega', 3, { budget, specs, goals: [], history: raw })
    expect(counterexample?.why).toContain('is left dead')
    expect(explored(3, {}, { flips: 3, slack: 1, raw: true }).counterexample).toBeNull()
  })
})

describe('two leaders in quorum, searched from worlds of five nodes in the middle of a split', () => {
  /** Takes all links between the two sides down, delivers messages until the condition holds, then flips `links`. */
  function splitUntil(
    options: PlainObject,
    side: readonly number[],
    isDone: (world: UntimedWorld) => boolean,
    links: readonly (readonly [number, number])[],
  ): readonly ScheduleStep[] {
    const nodes = ids(5).map(Number)
    const asked = { links: 'reported', ...options }
    const rules = new UntimedRules(
      omegaDefinition,
      nodes,
      checkedOptions(omegaDefinition, nodes, asked),
      'fifo',
      false,
      {
        slack: 0,
        labelled: true,
      },
    )
    let { world } = rules.start({ leader: 1, members: nodes })
    const steps: ScheduleStep[] = []
    const take = (step: ScheduleStep): void => {
      const performed = rules.perform(world, step)
      if (typeof performed === 'string') throw new Error(performed)
      steps.push(step)
      world = performed.world
    }
    const flip = (at: number, peer: number): void => take({ node: at, do: 'flip', peer })
    for (const a of nodes) {
      for (const b of nodes) if (a < b && side.includes(a) !== side.includes(b)) flip(a, b)
    }
    while (!isDone(world)) {
      const at = world.inboxes.findIndex((inbox) => inbox.length > 0)
      take({ node: at + 1, do: 'deliver', from: (world.inboxes[at]?.[0]?.from ?? 0) + 1 })
    }
    for (const [a, b] of links) flip(a, b)
    return steps
  }

  const leaderOf = (world: UntimedWorld, place: number): unknown =>
    (world.slots[place]?.state as OmegaState | null)?.view.id[1]

  it.each<[string, Defect, PlainObject, readonly ScheduleStep[], number]>([
    [
      // 3 has installed a view of 3, 4, 5; then 5 is linked with 1 and 2 instead.
      'dynamic',
      'double support',
      DYNAMIC,
      splitUntil(DYNAMIC, [1, 2], (world) => leaderOf(world, 2) === 3, [
        [1, 5],
        [2, 5],
        [3, 5],
        [4, 5],
      ]),
      0,
    ],
    [
      // 1 leads 1, 2, 3; then 3 is linked with 4 and 5, and two more links change. The first is 1-3, except in soak.
      'static',
      'view majority',
      STATIC,
      splitUntil(STATIC, [1, 2, 3], ({ inboxes }) => inboxes.every((inbox) => inbox.length === 0), [
        [3, 4],
        [3, 5],
        ...sized<readonly (readonly [number, number])[]>([[1, 3]], []),
      ]),
      sized(1, 2),
    ],
  ])(
    '%s: none exist; with the defect "%s" the search finds them',
    (_quorum, flaw, options, after, flips) => {
      const search = (broken: Defect | null) =>
        exploring('omega', 5, {
          ...(broken === null ? {} : { definition: brokenOmega(broken) }),
          options,
          after,
          budget: { crashes: 0, recoveries: 0, flips, ticks: 0 },
          history: { slack: 0, labelled: true },
          specs: [specNamed('one-acting-leader') as Spec],
          goals: [],
          progress: false,
        })
      expect(search(flaw).counterexample).toMatchObject({
        spec: 'one-acting-leader',
        why: expect.stringMatching(/^1 .* and 3 .* both lead/),
      })
      expect(search(null)).toMatchObject({ complete: true, counterexample: null })
    },
    600_000,
  )
})

/** The total number of schedules of all cases; npm run soak sets it to a million. */
const SCHEDULES = Number(process.env['OMEGA_SCHEDULES'] ?? 1000)
const PATIENCE_MS = isSoak ? 0 : 600_000

describe('random schedules with crashes: after all faults are healed there is one view', () => {
  it.each<[number, PlainObject, number]>([
    [3, {}, 0.25],
    [3, DYNAMIC, 0.2],
    [4, DYNAMIC, 0.2],
    [4, STATIC, 0.1],
    [4, { filter: true }, 0.1],
    [5, { ...DYNAMIC, tie: true }, 0.08],
    [5, { reinit: 'all' }, 0.04],
    [6, DYNAMIC, 0.02],
    [7, { ...DYNAMIC, filter: true }, 0.01],
  ])(
    '%i nodes, %j',
    (n, options, share) => {
      const nodes = ids(n)
      const walker = new RandomWalker({
        definition: omegaDefinition,
        nodes,
        options: checkedOptions(omegaDefinition, nodes, {
          links: 'reported',
          quorum: 'none',
          reinit: 'never',
          ...options,
        }),
        initial: { leader: 1, members: nodes },
        faults: 10 + 2 * n,
        crashes: true,
      })
      const seeds = Array.from({ length: Math.ceil(SCHEDULES * share) }, (_, place) => place + 1)
      let steps = 0
      const broken = seeds.flatMap((seed) => {
        const { violation, schedule } = walker.walk(seed)
        steps += schedule.length
        return violation === null ? [] : [{ seed, ...violation }]
      })
      expect(broken).toEqual([])
      expect(steps).toBeGreaterThan(seeds.length * walker.faults)
    },
    PATIENCE_MS,
  )
})
