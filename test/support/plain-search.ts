/** A plain implementation of the explorer's search, to compare results with. */
import {
  canonical,
  type Definition,
  equalPlain,
  type Outcome,
  type Plain,
  type PlainObject,
} from '../../src/core/index.ts'
import { checkedOptions, type ScheduleStep } from '../../src/workbench/scenario/index.ts'
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
} from '../../src/workbench/untimed/index.ts'
import { ids } from './run.ts'

/** More states than a plain search can handle. */
export const MOST = 30_000

type PlainWorld = {
  readonly definition: Definition
  readonly count: number
  readonly initial?: Outcome
  readonly options: PlainObject
  readonly order: 'fifo' | 'any'
  readonly timers: 'any' | 'quiet'
  readonly budget: Budget
  readonly history?: LinkHistory
}

/** The same search, done slowly and plainly: a key of every world in a set. */
export function searchPlainly(start: PlainWorld): { states: number; transitions: number } {
  const { definition, order, timers, budget } = start
  const nodes = ids(start.count)
  const options = checkedOptions(definition, nodes, start.options)
  const rules = new UntimedRules(definition, nodes, options, order, false, start.history)
  type State = { world: UntimedWorld; budget: Budget }
  const { world } = rules.start(start.initial ?? null)
  const first: State = { world, budget }
  const keyOf = stateKeys()
  const seen = new Set([keyOf(first)])
  const queue = [first]
  let transitions = 0
  for (const state of queue) {
    if (seen.size > MOST) break
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
