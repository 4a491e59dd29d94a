import { describe, expect, it } from 'vitest'
import type { HistoryOptions } from '../../links/index.ts'
import type { PlanAsked } from '../planning.ts'
import { computeOmegaGuarantees } from './guarantees.ts'
import { omegaHosting } from './hosting.ts'
import { omegaPlanning } from './planning.ts'

const TIMES = { pingMs: 200, alphaMs: 240, timeoutMs: 500, detector: 'nfd-e' } as HistoryOptions
const ASSUMED = { deltaMs: 20, deltaMinMs: 0, sigmaMs: 5 }
const computed = (quorum: 'none' | 'static' | 'dynamic', nodes = 5, times = TIMES) =>
  computeOmegaGuarantees(nodes, { quorum }, times, ASSUMED)

describe('the guarantees of omega', () => {
  it('add one delay per message to the detection', () => {
    expect(computed('static')).toEqual({
      detectedMs: { typical: 350, worst: 470 },
      promisedMs: { typical: 360, worst: 490 },
      installedMs: { typical: 380, worst: 530 },
      actingMs: { typical: 390, worst: 550 },
      datagramsPerSecondPerPair: 10,
      atOnce: 2,
      inTurn: 2,
    })
  })

  it('add two more messages with dynamic voting', () => {
    expect(computed('dynamic')).toMatchObject({
      promisedMs: { worst: 490 },
      installedMs: { typical: 400, worst: 570 },
      actingMs: { typical: 410, worst: 590 },
    })
  })

  it('are bounded by the timeout of the links', () => {
    expect(computed('static', 5, { ...TIMES, alphaMs: 900 }).detectedMs.worst).toBe(530)
    const fixed = computed('static', 5, { ...TIMES, detector: 'fixed' } as unknown as HistoryOptions)
    expect(fixed.detectedMs).toEqual({ typical: 410, worst: 530 })
  })

  it.each([
    ['none', 5, 3, 3],
    ['static', 5, 2, 2],
    ['dynamic', 5, 2, 3],
    ['static', 4, 1, 1],
    ['dynamic', 4, 1, 2],
    ['dynamic', 2, 0, 0],
  ] as const)(
    'with quorum %s tolerate, of %i nodes, %i at once and %i in turn',
    (quorum, nodes, atOnce, inTurn) => {
      expect(computed(quorum, nodes)).toMatchObject({ atOnce, inTurn })
    },
  )
})

describe('the plan of omega', () => {
  const asked = (some: Partial<PlanAsked>): PlanAsked => ({
    nodes: ['a', 'b', 'c'],
    options: {},
    chosen: {},
    seeds: 3,
    ...some,
  })
  const optionsFor = (some: Partial<PlanAsked>) => omegaPlanning.optionsFor(asked(some))

  it('takes the quorum from the mode', () => {
    expect(optionsFor({})).toMatchObject({ options: { quorum: 'dynamic', pingMs: 205 } })
    expect(optionsFor({ mode: 'local' })).toMatchObject({ options: { quorum: 'none' } })
    expect(optionsFor({ mode: 'majority', chosen: { quorum: 'static' } })).toMatchObject({
      options: { quorum: 'static' },
    })
  })

  it.each<[Partial<PlanAsked>, string, string]>([
    [
      { options: { links: 'reliable' } },
      'options.links',
      'does not apply to a plan: real nodes always use datagrams; remove it',
    ],
    [
      { mode: 'local', chosen: { quorum: 'static' } },
      '--mode local',
      'contradicts options.quorum = "static"; remove one of them',
    ],
    [
      { mode: 'majority', options: { quorum: 'none' } },
      '--mode majority',
      'contradicts options.quorum = "none"; remove one of them',
    ],
  ])('refuses %j', (some, field, message) => {
    expect(optionsFor(some)).toEqual({ problems: [{ field, message }] })
  })

  it('simulates a crash of the leader at a different moment for each seed', () => {
    const options = { quorum: 'static', ...TIMES, retransmitMs: 50 }
    const plan = omegaPlanning.describe({ asked: asked({}), options })
    if (plan.kind !== 'milestones') throw new Error('omega plans milestones')
    const [one, two] = [plan.run(1), plan.run(2)]
    expect([one.faultMs, two.faultMs]).toEqual([2124, 2047])
    expect(one.scenario).toMatchObject({ seed: 1, events: [{ atMs: 2124, crash: 1 }], nodes: [1, 2, 3] })
    expect(plan.milestones.map(({ output }) => output)).toEqual(['promise', 'view', 'elected'])
    expect(plan.idle).toMatchObject({ betweenMs: [4000, 8000], pairs: 3, most: 10 })
    expect(plan.text.tolerance).toEqual([
      '1 of 3 nodes may fail at once, or 1 one after another (a view needs a majority of all nodes).',
    ])
  })

  it('promises no fail-over where no failure is tolerated', () => {
    const options = { quorum: 'static', ...TIMES, retransmitMs: 50 }
    const plan = omegaPlanning.describe({ asked: asked({ nodes: ['a', 'b'] }), options })
    expect(plan.kind === 'milestones' && plan.milestones).toEqual([])
  })
})

describe('the configuration of a real node', () => {
  const optionsFor = (some: object, nodes: readonly string[] = ['a', 'b']) =>
    omegaHosting.optionsFor({ id: 'a', data: '/data', ...some }, nodes)

  it('uses datagrams for every configuration', () => {
    expect(optionsFor({ options: { links: 'reliable', quorum: 'static' } })).toMatchObject({
      options: { links: 'datagrams', quorum: 'static' },
    })
    expect(optionsFor({ mode: 'local' })).toMatchObject({ options: { quorum: 'none' } })
  })

  it('reports everything that omega does not have at once', () => {
    const asked = { data: undefined, priority: 3, observer: true, witness: true }
    expect(optionsFor(asked, ['a'])).toEqual({
      problems: [
        {
          field: 'data',
          message:
            'is required with omega, whose promises must survive a crash; give each node a folder of its own',
        },
        { field: 'peers', message: 'is empty; omega needs at least two nodes' },
        {
          field: 'priority',
          message:
            'does not apply to omega, which compares weights that all nodes know; set options.weights on all nodes',
        },
        { field: 'observer', message: 'does not apply to omega, which has no such role; remove it' },
        { field: 'witness', message: 'does not apply to omega, which has no such role; remove it' },
      ],
    })
  })

  it('counts the answer of a peer for as long as its link stays up', () => {
    const options = { ...TIMES, retransmitMs: 50 } as never
    expect(omegaHosting.leaseLength(options, [])).toEqual({ lease: 440_000, margin: 190_000 })
    const fixed = { ...TIMES, detector: 'fixed', pingMs: 500, retransmitMs: 50 } as never
    expect(omegaHosting.leaseLength(fixed, [])).toEqual({ lease: 500_000, margin: 0 })
  })
})
