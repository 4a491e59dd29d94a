/**
 * A small world as a row of integers, and its transitions.
 *
 * Node states, inboxes, registers, the monitor's memory and the environment are interned to small integers,
 * so a world is one row (parts.ts has the layout) and a transition is a few table lookups. steps.ts and
 * environment-steps.ts enumerate the transitions, successors.ts applies them, state-checks.ts judges single
 * states. The rules are those of untimed/world.ts; tests compare the two.
 */
import { fail } from '../../core/index.ts'
import type { ScheduleStep } from '../scenario/index.ts'
import type { Observation } from '../trace/index.ts'
import type { Budget } from '../untimed/index.ts'
import type { Action, Batch } from './batch.ts'
import { describe } from './describe-step.ts'
import { EnvironmentSteps } from './environment-steps.ts'
import type { Environments, Outlook } from './environments.ts'
import { ExpansionCache, type ExpansionRules } from './expansion-cache.ts'
import { sumOf } from './hash.ts'
import { EMPTY_INBOX } from './inboxes.ts'
import type { Judge, Violation } from './judge.ts'
import { type ModelSettings, type Parts, partsOf } from './parts.ts'
import { NO_SLEEP_SET } from './sleep-sets.ts'
import { StateChecks } from './state-checks.ts'
import { NodeSteps } from './steps.ts'
import { Successors } from './successors.ts'

export class Model {
  readonly columns: number
  readonly judge: Judge
  /** The column of the monitor's memory. */
  readonly memoryAt: number
  readonly #environmentAt: number
  readonly #environments: Environments
  readonly #parts: Parts
  readonly #checks: StateChecks
  readonly #successors: Successors
  readonly #steps: NodeSteps
  readonly #environmentSteps: EnvironmentSteps
  /** Null if nodes also exchange messages. */
  readonly #cache: ExpansionCache | null

  constructor(settings: ModelSettings) {
    const parts = partsOf(settings)
    const { layout, judge } = parts
    this.#parts = parts
    this.#environments = parts.environments
    this.judge = judge
    this.columns = layout.columns
    this.memoryAt = layout.memoryAt
    this.#environmentAt = layout.environmentAt
    this.#checks = new StateChecks(parts)
    this.#successors = new Successors(parts)
    this.#steps = new NodeSteps(parts, this.#checks, this.#successors)
    this.#environmentSteps = new EnvironmentSteps(parts, this.#checks, this.#successors)
    this.#cache =
      layout.cellAt >= 0 && layout.inboxAt < 0
        ? new ExpansionCache(layout, this.#expansionRules(), judge)
        : null
  }

  /** Whether `expand` uses the sleep set of a state. */
  get usesSleepSets(): boolean {
    return this.#cache !== null
  }

  /** Number of runs of protocol code. */
  get runs(): number {
    return this.#parts.reactions.runs
  }

  /** The largest value in any column so far. */
  get largest(): number {
    const { registers, reactions, inboxes, environments } = this.#parts
    return Math.max(reactions.size, inboxes.size, this.judge.size, environments.size, registers.size)
  }

  /** Estimated memory of the interned values, without the rows of visited states. */
  get bytes(): number {
    const { registers, reactions, inboxes } = this.#parts
    return reactions.bytes + inboxes.bytes + this.judge.bytes + registers.bytes
  }

  begin(): { readonly row: Int32Array; readonly violation: Violation | null } {
    const { settings, rules, layout, events, inboxes, registers, reactions, environments } = this.#parts
    let memory = this.judge.begin()
    let violation: Violation | null = null
    const started = rules.start(settings.initial)
    let { world } = started
    const watch = (seen: Observation): void => {
      const next = this.judge.next(memory, events.idOf(seen))
      if (next < 0) violation ??= this.judge.violation(next)
      else memory = next
    }
    for (const { result: did } of started.nodeSteps) for (const seen of did.seen) watch(seen)
    for (const [place, step] of (settings.after ?? []).entries()) {
      const performed = rules.perform(world, step)
      if (typeof performed === 'string') fail(`after.${place}: ${performed}`)
      for (const seen of performed.seen) watch(seen)
      world = performed.world
    }
    const filled = world.inboxes.map((inbox) =>
      inbox.reduce((id, { from, body, ahead }) => {
        const message = inboxes.messageId(from, body)
        return inboxes.append(id, ahead === undefined ? message : inboxes.ahead(message, ahead))
      }, EMPTY_INBOX),
    )
    const row = Int32Array.from([
      ...world.slots.map((slot, node) => reactions.slotId(node, slot)),
      memory,
      environments.idOf({ ...budgetOf(settings.budget), cut: world.cut, ends: world.ends }),
      ...(layout.inboxAt < 0 ? [] : filled),
      ...world.cells.map((cell) => registers.idOf(cell)),
    ])
    return { row, violation }
  }

  /**
   * Adds the successors of a state to the batch. With a sleep set (sleep-sets.ts) and the monitor's memory in
   * the parent state, transitions to known states are omitted.
   */
  expand(row: Int32Array, into: Batch, sleepSet = NO_SLEEP_SET, earlier = 0): void {
    const outlook = this.#environments.outlook(row[this.#environmentAt] as number)
    const sum = sumOf(row, 0, this.columns)
    if (this.#cache !== null) this.#cache.expand(row, sum, sleepSet, earlier, into)
    this.#successors.begin(row, into, outlook, sum)
    if (this.#cache === null) this.#steps.expandAll(row, outlook)
    this.#environmentSteps.expand(row, into, outlook)
  }

  /**
   * Whether anything except faults can still happen: a message, a timer, or a stimulus that the environment
   * owes.
   */
  isBusy(row: Int32Array): boolean {
    return this.#checks.isBusy(row)
  }

  /** The violation of a specification that this state has by itself. */
  stateViolation(row: Int32Array): Violation | null {
    return this.#checks.violation(row)
  }

  /** The violation that this state has if it counts as settled; null if the specifications accept it. */
  settledViolation(row: Int32Array): Violation | null {
    return this.#checks.settledViolation(row)
  }

  /** Turns an action into a schedule step. */
  describe(row: Int32Array, action: Action): ScheduleStep {
    return describe(this.#parts, row, action)
  }

  #expansionRules(): ExpansionRules {
    const { reactions } = this.#parts
    return {
      readsOf: (node, slot) => reactions.readsOf(node, slot),
      crashEvents: (node, slot) => reactions.crashEvents(node, slot),
      isForgotten: (node, before, after) => reactions.isForgotten(node, before, after),
      isFreeCrash: (node, environment) =>
        this.#environments.outlook(environment).crashed[node] === environment,
      ownMoves: (row, into, node) =>
        this.#forCache(row, into, (outlook) => this.#steps.ownMoves(row, outlook, node, true)),
      reads: (row, into, node, of) => this.#forCache(row, into, () => this.#steps.reads(row, node, of)),
    }
  }

  /** Expands a row for the cache. The row holds only the columns that the expansion depends on. */
  #forCache(row: Int32Array, into: Batch, expand: (outlook: Outlook) => void): void {
    const outlook = this.#environments.outlook(row[this.#environmentAt] as number)
    this.#successors.begin(row, into, outlook, sumOf(row, 0, this.columns))
    this.#successors.forCache = true
    expand(outlook)
    this.#successors.forCache = false
  }
}

/** Keeps only the fields that count: others would make equal environments differ. */
function budgetOf({ crashes, recoveries, flips, ticks }: Budget): Budget {
  return { crashes, recoveries, flips, ticks }
}
