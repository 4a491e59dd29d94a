import { describe, expect, it } from 'vitest'
import { catalogue, type PlannedTrial, type TrialPlan } from '../../protocols/index.ts'
import { checkedOptions, EMPTY_TRIALS, type SteadyState, type TrialTally } from '../sim/index.ts'
import { type Distribution, EMPTY_DISTRIBUTION, withSample } from '../trace/index.ts'
import { cardOf, measuredIn, type Run } from './card.ts'
import { runsOf } from './trials.ts'

const of = (...micros: readonly number[]): Distribution => micros.reduce(withSample, EMPTY_DISTRIBUTION)
const definition = catalogue.find('epochs')
if (definition === null) throw new Error('no protocol epochs')
const options = checkedOptions(definition, ['a', 'b'], {})

const trial = (name: string, share: number, restoredWithin: number | null): PlannedTrial =>
  ({ name, what: `${name} happens`, share, restoredWithin, stoppedWithin: null }) as unknown as PlannedTrial
const PLAN = {
  kind: 'trials',
  card: { protocol: 'epochs', nodes: ['a', 'b'] },
  tolerance: { spare: 1 },
  trials: [trial('crash', 1, 3000), trial('crash-slow', 1, 3000), trial('restart', 0.1, 4000)],
  figures: [
    {
      name: 'failover',
      title: 'the leader crashes',
      computed: { typical: 1000, worst: 3000 },
      usual: { trials: ['crash'], of: 'restored' },
      worst: { trials: ['crash', 'crash-slow'], of: 'restored' },
    },
  ],
  mayBeIdle: false,
  load: { field: 'operations', measure: () => ({ card: ['load'], exceeded: [], rows: [] }) },
} as unknown as TrialPlan
const tally = (change: Partial<TrialTally>): TrialTally => ({ ...EMPTY_TRIALS, runs: 1, ...change })
const run = (...tallies: readonly TrialTally[]): Run => ({
  definition,
  options,
  seeds: 10,
  tallies,
  steady: {} as SteadyState,
})
const measured = (plan: TrialPlan, ...tallies: readonly TrialTally[]) => measuredIn(plan, run(...tallies))

describe('the measurements of a card', () => {
  const good = [tally({ restored: of(900) }), tally({ restored: of(2000) }), tally({ restored: of(3900) })]

  it('combine the trials of a figure, and list the trials with fewer runs as shapes', () => {
    const { runs, figures, shapes, exceeded } = measured(PLAN, ...good)
    expect(runs).toBe(3)
    expect(figures).toMatchObject([
      { name: 'failover', punctual: { runs: 1, maxMs: 0.9 }, late: { runs: 2, maxMs: 2 } },
    ])
    expect(shapes.map(({ name }) => name)).toEqual(['restart'])
    expect(exceeded).toEqual([])
  })

  it('name a figure and a shape that exceed their bound', () => {
    const slow = [good[0], tally({ restored: of(3001) }), tally({ restored: of(4001) })] as TrialTally[]
    expect(measured(PLAN, ...slow).exceeded).toEqual(['failover', 'restart'])
  })

  it('name a world that had no leader to begin with, unless the protocol allows it', () => {
    const idle = [good[0], good[1], tally({ restored: of(1), idle: 2 })] as TrialTally[]
    expect(measured(PLAN, ...idle)).toMatchObject({ idle: 2, exceeded: ['no leader to begin with'] })
    expect(measured({ ...PLAN, mayBeIdle: true }, ...idle).exceeded).toEqual([])
  })

  it('name violated specifications, and a load that is too high', () => {
    const violations = [{ seed: 3, spec: 'one-leader', why: 'two' }]
    const violated = [tally({ restored: of(1), violations }), good[1], good[2]] as TrialTally[]
    expect(measured(PLAN, ...violated).exceeded).toEqual(['one-leader'])
    const load = { ...PLAN.load, measure: () => ({ card: [], exceeded: ['leader: writes'], rows: [] }) }
    expect(measured({ ...PLAN, load }, ...good).exceeded).toEqual(['leader: writes'])
  })

  it('become one object, with the load under the name that the protocol gives it', () => {
    expect(cardOf(PLAN, measured(PLAN, ...good), 10)).toMatchObject({
      protocol: 'epochs',
      nodes: ['a', 'b'],
      seeds: 10,
      runs: 3,
      idle: 0,
      operations: ['load'],
      tolerance: { spare: 1 },
      exceeded: [],
    })
  })
})

it.each([
  [1, 100, 100],
  [0.1, 100, 10],
  [0.1, 5, 1],
  [0.15, 10, 2],
  [3, 10, 10],
])('a share of %j of %i seeds is %i runs', (share, seeds, runs) => {
  expect(runsOf({ share }, seeds)).toBe(runs)
})
