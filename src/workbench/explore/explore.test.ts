import { describe, expect, it } from 'vitest'
import { lease, type Terms } from '../../../test/canaries/lease.ts'
import { exploreQuietly, exploring, ids, simulate } from '../../../test/support/run.ts'
import { sized } from '../../../test/support/sizes.ts'
import {
  canonical,
  type Definition,
  equalPlain,
  type Outcome,
  type Plain,
  type PlainObject,
} from '../../core/index.ts'
import { bullyDefinition } from '../../protocols/bully/index.ts'
import { epochsDefinition } from '../../protocols/epochs/index.ts'
import { catalogue } from '../../protocols/index.ts'
import { checkedOptions, type ScheduleStep } from '../scenario/index.ts'
import {
  type Budget,
  canFlip,
  deliverable,
  endOf,
  isClosed,
  type LinkHistory,
  mustFollow,
  type NodeStep,
  readingsOf,
  UntimedRules,
  type UntimedWorld,
} from '../untimed/index.ts'

/** The same search, done slowly and plainly: a key of every world in a set. */
function naively(
  definition: Definition,
  count: number,
  initial: Outcome | null,
  options: PlainObject,
  order: 'fifo' | 'any',
  timers: 'any' | 'quiet',
  budget: Budget,
  most: number,
  history?: LinkHistory,
): { states: number; transitions: number } {
  const nodes = ids(count)
  const resolved = checkedOptions(definition, nodes, options)
  const rules = new UntimedRules(definition, nodes, resolved, order, false, history)
  type State = { world: UntimedWorld; budget: Budget }
  const { world } = rules.start(initial)
  const first: State = { world, budget }
  const keyOf = stateKeys()
  const seen = new Set([keyOf(first)])
  const queue = [first]
  let transitions = 0
  for (const state of queue) {
    if (seen.size > most) break
    for (const [step, left] of stepsFrom(rules, state, order, timers)) {
      const performed = rules.perform(state.world, step)
      if (typeof performed === 'string') throw new Error(performed)
      transitions += 1
      const next: State = { world: performed.world, budget: left }
      const key = keyOf(next)
      if (seen.has(key)) continue
      seen.add(key)
      queue.push(next)
    }
  }
  return { states: seen.size, transitions }
}

/**
 * Gives states short keys: equal keys exactly where the canonical texts are equal. Each part of a world (a node's slot,
 * an inbox, a register) has a number for its text. A step leaves most parts as they were, so most are known already.
 */
function stateKeys(): (state: { world: UntimedWorld; budget: Budget }) => string {
  const numberOfText = new Map<string, number>()
  const numberOfPart = new WeakMap<object, number>()
  const numberOf = (part: Plain): number => {
    const known = typeof part === 'object' && part !== null ? numberOfPart.get(part) : undefined
    if (known !== undefined) return known
    const text = canonical(part)
    const number = numberOfText.get(text) ?? numberOfText.size
    numberOfText.set(text, number)
    if (typeof part === 'object' && part !== null) numberOfPart.set(part, number)
    return number
  }
  return ({ world: { slots, inboxes, cut, ends, cells }, budget }) =>
    [budget, cut, ends, ...slots, ...inboxes, ...cells].map(numberOf).join()
}

function stepsFrom(
  rules: UntimedRules,
  { world, budget }: { world: UntimedWorld; budget: Budget },
  order: 'fifo' | 'any',
  timers: 'any' | 'quiet',
): [ScheduleStep, Budget][] {
  const steps: [ScheduleStep, Budget][] = []
  const quiet = world.inboxes.every((inbox) => inbox.length === 0)
  for (const [index, node] of rules.nodes.entries()) {
    const slot = world.slots[index]
    const inbox = world.inboxes[index] ?? []
    const inputs: ScheduleStep[] = []
    for (const { place, nth } of deliverable(inbox, order, (message) =>
      rules.canDeliver(world, index, message),
    )) {
      const from = rules.nodes[inbox[place]?.from ?? -1] ?? 0
      inputs.push({ node, do: 'deliver', from, nth })
    }
    if (slot?.up === true && (quiet || timers === 'any')) {
      inputs.push(...slot.timers.map((name) => ({ node, do: 'timer', name }) as const))
    }
    inputs.push(...rules.commands(world, index).map((command) => ({ node, do: 'command', command }) as const))
    for (const [at, peer] of rules.nodes.entries()) {
      if (!rules.reported || at === index || slot?.up !== true) continue
      const end = endOf(world.ends, rules.nodes.length, index, at)
      if (mustFollow(end)) inputs.push({ node, do: 'follow', peer })
      const canMove = canFlip(end, index, at, rules.history) && (end.up || world.slots[at]?.up === true)
      if (canMove && budget.flips > 0) inputs.push({ node, do: 'flip', peer })
    }
    const options = rules.model === null ? 1 : readings(rules, world, index)
    for (let nth = 0; slot?.up === false && budget.recoveries > 0 && nth < options; nth++) {
      inputs.push({ node, do: 'recover', nth })
    }
    for (const input of inputs) {
      const left = spent(budget, input)
      steps.push([input, left])
      if (left.crashes > 0 && (slot?.up === true || input.do === 'recover')) {
        steps.push(...cutsOf(rules, world, input).map((cut): [ScheduleStep, Budget] => [cut, crashed(left)]))
      }
    }
    if (slot?.up === true) steps.push([{ node, do: 'crash' }, crashed(budget)])
  }
  steps.push(
    ...registerSteps(rules, world).map((step): [ScheduleStep, Budget] => [
      step,
      'late' in step ? crashed(budget) : budget,
    ]),
  )
  for (const [a, node] of rules.nodes.entries()) {
    for (const [b, peer] of rules.nodes.entries()) {
      if (b <= a || budget.flips === 0 || rules.reported) continue
      const isCut = world.cut.some(([x, y]) => x === a && y === b)
      steps.push([
        { node, do: isCut ? 'heal' : 'cut', peer },
        { ...budget, flips: budget.flips - 1 },
      ])
    }
  }
  if (budget.ticks > 0) steps.push([{ do: 'tick' }, { ...budget, ticks: budget.ticks - 1 }])
  return steps.filter(([, { crashes }]) => crashes >= 0)
}

/** How many values a read of this register may return; none where its owner was removed. */
function readings(rules: UntimedRules, world: UntimedWorld, index: number): number {
  const cell = world.cells[index]
  if (cell === undefined || rules.model === null || isClosed(cell)) return 0
  return readingsOf(cell, rules.model).length
}

/** Every step of registers that the world allows: each is tried. */
function registerSteps(rules: UntimedRules, world: UntimedWorld): ScheduleStep[] {
  if (rules.model === null) return []
  const tries = rules.nodes.flatMap((node, index): ScheduleStep[] => {
    const slot = world.slots[index]
    const reads = (slot?.calls ?? []).flatMap((call): ScheduleStep[] => {
      if (call.op !== 'read') return [{ node, do: 'tickMem' }]
      const cell = world.cells[rules.nodes.indexOf(call.of)]
      const options = cell === undefined || rules.model === null ? [] : readingsOf(cell, rules.model)
      return options.map((_, nth) => ({ node, do: 'read', of: call.of, nth }))
    })
    const late = slot?.up === true && rules.model?.semantics === 'late'
    const lates: ScheduleStep[] = late
      ? [
          ...slot.timers.map((): ScheduleStep => ({ node, do: 'write', late: true })),
          ...rules
            .commands(world, index)
            .map(({ to }): ScheduleStep => ({ node, do: 'tickDisk', to: to as number, late: true })),
        ]
      : []
    const cell = world.cells[index]
    const tombstones = cell === undefined || !rules.burials ? [] : rules.tombstones(cell.other)
    const burials = tombstones.map((_, nth): ScheduleStep => ({ node, do: 'bury', nth }))
    // Reading it once more is a step only if it was written meanwhile.
    const isNew = cell?.is !== 'examined' || !equalPlain(cell.value, cell.other)
    const examine: ScheduleStep[] = isNew ? [{ node, do: 'examine' }] : []
    return [
      ...reads,
      ...lates,
      { node, do: 'land' },
      ...examine,
      ...burials,
      { node, do: 'delete' },
    ] satisfies ScheduleStep[]
  })
  return tries.filter((step) => typeof rules.perform(world, step) !== 'string')
}

function spent(budget: Budget, { do: what }: ScheduleStep): Budget {
  if (what === 'recover') return { ...budget, recoveries: budget.recoveries - 1 }
  return what === 'flip' ? { ...budget, flips: budget.flips - 1 } : budget
}

const crashed = (budget: Budget): Budget => ({ ...budget, crashes: budget.crashes - 1 })

/** Crashes in the middle of a step, where some but not all of what it persists and sends has been done. */
function cutsOf(rules: UntimedRules, world: UntimedWorld, step: ScheduleStep): ScheduleStep[] {
  const whole = rules.perform(world, step)
  if (typeof whole === 'string' || whole.nodeSteps[0] === undefined) return []
  const [{ stable, result: did }] = whole.nodeSteps as [NodeStep]
  const before = canonical([stable, [], []])
  const done = new Set([before, canonical([did.slot.stable, did.sends, did.writes])])
  const cuts: ScheduleStep[] = []
  for (let crashAfter = 1; crashAfter < did.effects.length; crashAfter++) {
    const cut = { ...step, crashAfter } as ScheduleStep
    const performed = rules.perform(world, cut)
    if (typeof performed === 'string' || performed.nodeSteps[0] === undefined) continue
    const { slot, sends, writes } = performed.nodeSteps[0].result
    const text = canonical([slot.stable, sends, writes])
    if (done.has(text)) continue
    done.add(text)
    cuts.push(cut)
  }
  return cuts
}

const OMEGA: PlainObject = { links: 'reported', quorum: 'dynamic', reinit: 'quorum' }

/** More states than a plain search can bear. */
const MOST = 30_000
const NO_SPECS = { specs: [], goals: [], progress: false } as const

describe('the explorer finds exactly what a plain search finds', () => {
  it.each([
    [
      'bully, FIFO links',
      3,
      { repaired: true },
      'fifo',
      'quiet',
      { crashes: 1, recoveries: 1, flips: 0, ticks: 0 },
    ],
    [
      'as printed',
      3,
      { repaired: false },
      'fifo',
      'quiet',
      { crashes: 1, recoveries: 1, flips: 0, ticks: 0 },
    ],
    [
      'links without order',
      3,
      { repaired: true },
      'any',
      'quiet',
      { crashes: 1, recoveries: 1, flips: 0, ticks: 0 },
    ],
    [
      'links that are cut and healed',
      3,
      { repaired: true },
      'fifo',
      'quiet',
      { crashes: 1, recoveries: 0, flips: 2, ticks: 0 },
    ],
    [
      'two crashes, two nodes',
      2,
      { repaired: true },
      'fifo',
      'any',
      { crashes: 2, recoveries: 2, flips: 0, ticks: 0 },
    ],
  ] as const)('%s', (_name, count, options, order, timers, budget) => {
    const initial = { leader: count, members: ids(count) }
    const given = { detector: 'none', ...options }
    const plain = naively(bullyDefinition, count, initial, given, order, timers, budget, MOST)
    expect(plain.states).toBeLessThan(MOST)
    const { states, transitions } = exploring('bully', count, { options, order, timers, budget, ...NO_SPECS })
    expect({ states, transitions }).toEqual(plain)
  })

  it.each<[string, string, number, PlainObject, LinkHistory, Partial<Budget>]>([
    ['nodes told of their links', 'phi', 3, {}, { slack: 1, labelled: true }, { flips: 4 }],
    ['both ends at once', 'phi', 3, {}, { slack: 0, labelled: true }, { flips: 4 }],
    ['ends that lead by two', 'omega', 2, OMEGA, { slack: 2, labelled: true }, { flips: 6 }],
    ['frames without labels', 'omega', 2, OMEGA, { slack: 2, labelled: false }, { flips: 5 }],
    [
      'links and crashes',
      'omega',
      2,
      OMEGA,
      { slack: 1, labelled: true },
      { flips: 3, crashes: 2, recoveries: 2 },
    ],
    [
      'slack and crashes',
      'omega',
      2,
      OMEGA,
      { slack: 2, labelled: true },
      { flips: 3, crashes: 1, recoveries: 1 },
    ],
    [
      'links of three',
      'omega',
      3,
      OMEGA,
      { slack: 1, labelled: true },
      { flips: sized(1, 2), crashes: 1, recoveries: 1 },
    ],
  ])('%s', (_name, protocol, count, options, history, some) => {
    const definition = catalogue.find(protocol)
    if (definition === null) throw new Error(`no protocol ${protocol}`)
    const budget = { crashes: 0, recoveries: 0, flips: 0, ticks: 0, ...some }
    const initial = { leader: 1, members: ids(count) }
    const plain = naively(definition, count, initial, options, 'fifo', 'any', budget, MOST, history)
    expect(plain.states).toBeLessThan(MOST)
    const { states, transitions } = exploring(protocol, count, { options, budget, history, ...NO_SPECS })
    expect({ states, transitions }).toEqual(plain)
  })

  it.each<[string, number, Partial<Terms>, 'fifo' | 'any', Partial<Budget>]>([
    ['time that passes', 2, {}, 'fifo', { ticks: 4 }],
    ['time that passes, links without order', 2, {}, 'any', { ticks: 3 }],
    ['asking twice', 2, { rounds: 2 }, 'fifo', { ticks: 2 }],
    ['time and crashes', 2, {}, 'fifo', { ticks: 3, crashes: 1, recoveries: 1 }],
    ['time and cut links', 2, {}, 'fifo', { ticks: 3, flips: 2 }],
    ['three nodes', 3, {}, 'fifo', { ticks: 1 }],
  ])('%s', (_name, count, terms, order, some) => {
    const budget = { crashes: 0, recoveries: 0, flips: 0, ticks: 0, ...some }
    const plain = naively(lease(terms), count, null, {}, order, 'any', budget, MOST)
    expect(plain.states).toBeLessThan(MOST)
    const { states, transitions } = exploreQuietly({
      definition: lease(terms),
      nodes: ids(count),
      options: {},
      budget,
      from: 'boot',
      order,
      timers: 'any',
      depth: Number.MAX_SAFE_INTEGER,
      maxStates: MOST,
      memoryMB: 1000,
      ...NO_SPECS,
    })
    expect({ states, transitions }).toEqual(plain)
  })
})

describe('the explorer on registers finds exactly what a plain search finds', () => {
  it.each([
    ['atomic', 2, { epochs: 2, ballots: 1, jumps: false }, 1],
    ['the counter at once', 2, { epochs: 2, ballots: 1, tick: 'atomic' }],
    ['three nodes', 3, { epochs: 1, ballots: 1, tick: 'atomic' }, 0],
    ['regular', 2, { epochs: 1, ballots: 2, registers: 'regular' }],
    ['late, compared', 2, { epochs: 1, ballots: 2, registers: 'late' }],
    ['late', 2, { epochs: 1, ballots: 2, misreading: 'late-writes' }],
    ['stale', 2, { epochs: 1, ballots: 1, misreading: 'stale-reads' }],
    ['torn', 2, { epochs: 1, ballots: 1, misreading: 'torn-blocks' }],
    ['lost', 2, { epochs: 1, ballots: 2, misreading: 'lost-block' }],
    ['deleted', 2, { epochs: 2, ballots: 1, removals: true }],
    ['buried', 2, { epochs: 1, ballots: 1, burials: true, tick: 'atomic' }, 1],
    ['buried blindly', 2, { epochs: 1, ballots: 1, misreading: 'blind-burial', tick: 'atomic' }, 0],
  ] as const)('%s', { timeout: 120_000 }, (_name, count, given, most?: number) => {
    const crashes = most ?? 2
    const options = { clock: 'none', ...given }
    const budget = { crashes, recoveries: crashes, flips: 0, ticks: 0 }
    const plain = naively(epochsDefinition, count, null, options, 'any', 'any', budget, MOST)
    expect(plain.states).toBeLessThan(MOST)
    const { states, transitions } = exploring('epochs', count, { options: given, budget, ...NO_SPECS })
    expect({ states, transitions }).toEqual(plain)
  })
})

describe('bounds', () => {
  const world = { budget: { crashes: 2, recoveries: 2, flips: 0, ticks: 0 } } as const

  it('keeps a depth and reports it', () => {
    const report = exploring('bully', 3, { ...world, depth: 5 })
    expect(report).toMatchObject({ complete: false, cutShort: 'depth', depth: 5 })
    expect(exploring('bully', 3, { ...world, depth: 6 }).states).toBeGreaterThan(report.states)
  })

  it('keeps bounds on states and memory', () => {
    expect(exploring('bully', 3, { ...world, maxStates: 20_000 })).toMatchObject({
      complete: false,
      cutShort: 'max-states',
    })
    expect(exploring('bully', 3, { ...world, memoryMB: 1 })).toMatchObject({
      complete: false,
      cutShort: 'memory',
    })
  })

  it('is complete if the depth covers all states', () => {
    const { depth, states } = exploring('bully', 3)
    expect(exploring('bully', 3, { depth: depth + 1 })).toMatchObject({ complete: true, states })
  })
})

describe('a counterexample', () => {
  const { counterexample } = exploring('bully', 3, { options: { repaired: false } })

  it('is replayed by the simulator to the same violation', () => {
    const report = simulate(counterexample?.scenario ?? {})
    expect(report.specs.find(({ name }) => name === counterexample?.spec)).toMatchObject({
      verdict: 'violated',
      why: counterexample?.why,
    })
    expect(report.steps).toBe(counterexample?.steps.length)
  })

  it('does not violate without its last step', () => {
    const { scenario = {}, steps = [] } = counterexample ?? {}
    const report = simulate({ ...scenario, schedule: steps.slice(0, -1) })
    expect(report.specs.every(({ verdict }) => verdict !== 'violated')).toBe(true)
  })

  it.each([
    ['omega-printed', 3, { convergence: 'recipient' }, { flips: 5 }, 1],
    ['omega-printed', 3, { convergence: 'recipient' }, { flips: 4 }, 0],
  ])('of %s, %i nodes, %j is replayed, too', (protocol, count, options, some, slack) => {
    const budget = { crashes: 0, recoveries: 0, ticks: 0, ...some }
    const history = { slack, labelled: true }
    const { counterexample: found } = exploring(protocol, count, { options, budget, history })
    const report = simulate(found?.scenario ?? {})
    expect(report.specs.find(({ name }) => name === found?.spec)).toMatchObject({
      verdict: 'violated',
      why: found?.why,
    })
  })

  it('names a message that overtakes another on unordered links', () => {
    const { counterexample: found } = exploring('bully', 3, { order: 'any' })
    expect(found?.steps.some((step) => step.do === 'deliver' && step.nth === 1)).toBe(true)
    const report = simulate(found?.scenario ?? {})
    expect(report.specs.some(({ verdict }) => verdict === 'violated')).toBe(true)
  })
})
