/** The parts of a model: one table of interned values per kind of column, and the layout of a row. */
import { assert, type Definition, type NodeId, type Outcome, type PlainObject } from '../../core/index.ts'
import { type ScheduleStep } from '../scenario/index.ts'
import type { Monitor } from '../specs/index.ts'
import type { Observation } from '../trace/index.ts'
import { type Budget, type LinkHistory, UntimedRules } from '../untimed/index.ts'
import { Environments } from './environments.ts'
import { Inboxes } from './inboxes.ts'
import { Interner } from './intern.ts'
import { Judge } from './judge.ts'
import { Reactions } from './reactions.ts'
import { Registers } from './registers.ts'

export type ModelSettings = {
  readonly definition: Definition
  readonly nodes: readonly NodeId[]
  readonly options: PlainObject
  readonly order: 'fifo' | 'any'
  /** `quiet`: a timer fires only if no message is in flight. */
  readonly timers: 'any' | 'quiet'
  readonly initial: Outcome | null
  /** Steps from the initial world to the world in which the search starts. */
  readonly after?: readonly ScheduleStep[]
  readonly budget: Budget
  readonly history: LinkHistory
  readonly monitor: Monitor
}

/**
 * One slot per node, the monitor's memory, the environment; then one inbox per node if there are messages,
 * and one register per node if there are registers. `-At` fields: the first column of each kind, or -1.
 */
export type RowLayout = {
  readonly nodes: number
  readonly columns: number
  readonly memoryAt: number
  readonly environmentAt: number
  readonly inboxAt: number
  readonly cellAt: number
}

export type Parts = {
  readonly settings: ModelSettings
  readonly rules: UntimedRules
  readonly layout: RowLayout
  readonly events: Interner<Observation>
  readonly judge: Judge
  readonly inboxes: Inboxes
  readonly registers: Registers
  readonly reactions: Reactions
  readonly environments: Environments
}

export function partsOf(settings: ModelSettings): Parts {
  const { nodes, definition, options, order, history, monitor, budget } = settings
  const rules = new UntimedRules(definition, nodes, options, order, false, history)
  assert(
    !(budget.ticks > 0) || rules.tick > 0,
    `${definition.name} does not define the length of a tick (exploration.tick)`,
  )
  const events = new Interner<Observation>()
  const judge = new Judge(monitor, events)
  const inboxes = new Inboxes(order, history)
  const registers = new Registers(rules)
  return {
    settings,
    rules,
    layout: layoutOf(definition, rules),
    events,
    judge,
    inboxes,
    registers,
    reactions: new Reactions(rules, inboxes, judge, registers, budget.crashes > 0),
    environments: new Environments(nodes.length, history),
  }
}

function layoutOf(definition: Definition, rules: UntimedRules): RowLayout {
  const nodes = rules.nodes.length
  const hasMessages = definition.kinds.length + definition.linkKinds.length > 0 || rules.reported
  const hasRegisters = rules.model !== null
  const fixed = nodes + 2
  const inboxes = hasMessages ? nodes : 0
  return {
    nodes,
    columns: fixed + inboxes + (hasRegisters ? nodes : 0),
    memoryAt: nodes,
    environmentAt: nodes + 1,
    inboxAt: hasMessages ? fixed : -1,
    cellAt: hasRegisters ? fixed + inboxes : -1,
  }
}
