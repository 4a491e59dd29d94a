/** Handing over to a chosen node. `run` checks all promises: at most one leader, and tokens that grow. */
import { describe, expect, it } from 'vitest'
import { histories, LOCAL, leadersIn, MAJORITY, run } from '../../../test/support/local-leader.ts'
import { exploring, ids, simulate } from '../../../test/support/run.ts'
import { sized } from '../../../test/support/sizes.ts'
import { type Definition, FAULT_KINDS, type NodeId, type PlainObject, present } from '../../core/index.ts'
import { type Report, runScenario, runSeed, scenarioDrawer } from '../../workbench/sim/index.ts'
import { specNamed } from '../../workbench/specs/index.ts'
import { catalogue } from '../index.ts'

const STICKY = { ...MAJORITY, sticky: true }

/** Node 1 leads and hands over to `to` at 1000 ms. */
const handOver = (to: NodeId, more: PlainObject = {}): Report =>
  run({
    nodes: ids(5),
    options: STICKY,
    network: { delayMs: 2 },
    events: [{ atMs: 1000, command: { node: 1, do: 'stepDown', to } }],
    untilMs: 2000,
    ...more,
  })

describe('a leader that hands over to a chosen node', () => {
  it('is followed by that node regardless of its rank, as fast as by the next in rank', () => {
    for (const to of [2, 3, 4, 5]) {
      const report = handOver(to)
      expect(histories(report)).toEqual([
        [1, 'elected', 'stepped down'],
        [to, 'handed over', null],
      ])
      expect(report.leaderships[1]?.token).toBe(2)
      expect(report.leaderships[1]?.fromMs).toBeCloseTo(1006, 2)
    }
  })

  it('is followed by that node at any delays, and by no other in between', () => {
    for (let seed = 1; seed <= sized(8, 200); seed++) {
      const to = 2 + (seed % 4)
      const report = handOver(to, { network: { delayMs: [0.02, 5] }, seed })
      expect(leadersIn(report)).toEqual([1, to])
    }
  })

  it('is followed by that node even if others have a higher priority, which take over afterwards', () => {
    const options = { ...STICKY, priorities: { 1: 5, 2: 4, 3: 3 } }
    const report = handOver(5, { options })
    expect(leadersIn(report).slice(0, 2)).toEqual([1, 5])
    expect(leadersIn(report).at(-1)).toBe(2)
  })

  it('is followed by another node when the chosen one has just crashed, after a short wait', () => {
    const events = [
      { atMs: 999, crash: 4 },
      { atMs: 1000, command: { node: 1, do: 'stepDown', to: 4 } },
    ]
    const report = handOver(4, { events })
    expect(histories(report)).toEqual([
      [1, 'elected', 'stepped down'],
      [2, 'handed over', null],
    ])
    expect(report.leaderships[1]?.fromMs).toBeLessThan(1100)
  })

  it('is followed by another node when the chosen one is cut off with it', () => {
    const report = handOver(4, {
      network: { delayMs: 2, rules: [{ from: 1, to: 4, kind: 'Release', drop: true }] },
    })
    expect(leadersIn(report)[1]).not.toBe(1)
    expect(report.leaderships[1]?.fromMs).toBeLessThan(1100)
  })

  it('refuses nodes that cannot lead, and goes on', () => {
    const refused: readonly (readonly [NodeId, PlainObject])[] = [
      [1, {}],
      [5, { options: { ...STICKY, witnesses: [5] } }],
      [5, { options: { ...STICKY, observers: [5] } }],
      [5, { options: { ...LOCAL, sticky: true } }],
      [
        5,
        {
          events: [
            { atMs: 500, crash: 5 },
            { atMs: 1000, command: { node: 1, do: 'stepDown', to: 5 } },
          ],
        },
      ],
      [
        5,
        {
          events: [
            { atMs: 500, command: { node: 5, do: 'campaign', willing: false } },
            { atMs: 1000, command: { node: 1, do: 'stepDown', to: 5 } },
          ],
        },
      ],
    ]
    for (const [to, more] of refused) expect(histories(handOver(to, more))).toEqual([[1, 'elected', null]])
  })
})

const plain = present(catalogue.find('local-leader'), 'local-leader')

it('every promise is kept in a campaign with faults in which leaders hand over to chosen nodes', () => {
  const commands = [1, 2, 3].map((to) => ({ do: 'stepDown', to }))
  const choosing: Definition = { ...plain, swarm: { ...plain.swarm, commands } }
  const draw = scenarioDrawer(choosing, { nodes: [3, 5], options: { mode: 'majority' }, faults: FAULT_KINDS })
  let handOvers = 0
  for (let seed = 1; seed <= sized(15, 2000); seed++) {
    const { violations, goals } = runSeed(choosing, draw, seed)
    expect([seed, violations]).toEqual([seed, []])
    handOvers += goals.find(({ name }) => name === 'handed-over')?.count ?? 0
  }
  expect(handOvers).toBeGreaterThan(0)
})

it('the chosen node leads next in a campaign with faults, whenever the group was calm', () => {
  const spec = present(specNamed('chosen-successor'), 'chosen-successor')
  const commands = [1, 2, 3].map((to) => ({ do: 'stepDown', to }))
  const choosing: Definition = { ...plain, swarm: { ...plain.swarm, commands } }
  const draw = scenarioDrawer(choosing, { nodes: [3, 5], options: { mode: 'majority' }, faults: FAULT_KINDS })
  let judged = 0
  for (let seed = 1; seed <= sized(60, 2000); seed++) {
    const [verdict] = runScenario(choosing, draw(seed), { specs: [spec] }).specs
    expect([seed, verdict]).not.toMatchObject([seed, { verdict: 'violated' }])
    judged += verdict?.verdict === 'held' ? verdict.judged : 0
  }
  expect(judged).toBeGreaterThan(0)
})

describe('in all interleavings of an exhaustive search', () => {
  let handOvers = 0
  /** A leader may hand over to any other candidate at any moment. */
  const choosing: Definition = {
    ...plain,
    create(identity, options) {
      const protocol = plain.create(identity, options)
      return {
        ...protocol,
        step(state, input, now) {
          const step = protocol.step(state, input, now)
          if (step.effects.some((effect) => effect.type === 'send' && effect.body['to'] !== undefined))
            handOvers += 1
          return step
        },
      }
    },
    stimuli: (state, { self }) =>
      (state as { readonly term: unknown }).term === null
        ? []
        : [1, 2].flatMap((to) =>
            to === self ? [] : [{ command: { do: 'stepDown', to }, whenDown: null, owed: false }],
          ),
  }

  it('there is at most one leader, and tokens grow', () => {
    const budget = { ...plain.exploration, crashes: sized(0, 1), recoveries: 0, ticks: 2 }
    const report = exploring('local-leader', 3, { definition: choosing, budget })
    expect(report.complete).toBe(true)
    expect(report.counterexample).toBeNull()
    expect(report.specs.map(({ verdict }) => verdict)).toEqual(['held', 'held', 'held'])
    expect(handOvers).toBeGreaterThan(0)
  })
})

describe('step-downs of all nodes, one soon after the other', () => {
  it.each(['fixed', 'adaptive'])('hand over at once each time, with %s timing', (timing) => {
    const options = timing === 'fixed' ? {} : { timing, leaseMinMs: 2000, leaseMaxMs: 4000 }
    const led: number[] = []
    const steps = [1, 2, 3, 1, 2]
    simulate(
      {
        protocol: 'local-leader',
        nodes: [1, 2, 3],
        network: { delayMs: [0.1, 0.5] },
        options: { sticky: true, ...options },
        events: steps.map((node, index) => ({
          atMs: 12_000 + 300 * index,
          command: { node, do: 'stepDown' },
        })),
        untilMs: 14_000,
      },
      {
        observe(seen) {
          if (seen.type === 'output' && seen.event.type === 'elected') led.push(seen.at / 1000)
        },
      },
    )
    expect(led.slice(1).map((atMs) => Math.round((atMs - 12_000) / 300))).toEqual([0, 1, 2, 3, 4])
  })
})
