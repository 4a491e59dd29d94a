/**
 * A small world as a row of integers, and all that can happen next.
 *
 * Every node's local state, every inbox, the monitor's memory and what is left of the fault budget are interned to
 * small numbers, each by the file of its name; a world is one row of them (parts.ts says which column is which), and a
 * transition is a few table lookups: steps.ts and surroundings.ts say what may happen, successors.ts what that makes of a world,
 * checks.ts what is to be said of it as it is. The rules are those of the world without time in sim/untimed.ts, against which the tests
 * compare.
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
  /** Where in a row stands what the monitor remembers. */
  readonly memoryAt: number
  readonly #environmentAt: number
  readonly #environments: Environments
  readonly #parts: Parts
  readonly #checks: StateChecks
  readonly #successors: Successors
  readonly #steps: NodeSteps
  readonly #environmentSteps: EnvironmentSteps
  /** Null where messages, too, have a part in what happens next. */
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

  /** Whether `expand` makes use of how a world was come to. */
  get usesSleepSets(): boolean {
    return this.#cache !== null
  }

  /** How often protocol code was run. */
  get runs(): number {
    return this.#parts.reactions.runs
  }

  /** No column holds a number above this, so far. */
  get largest(): number {
    const { registers, reactions, inboxes, environments } = this.#parts
    return Math.max(reactions.size, inboxes.size, this.judge.size, environments.size, registers.size)
  }

  /** About what the interned pieces take, beside the rows of worlds. */
  get bytes(): number {
    const { registers, reactions, inboxes } = this.#parts
    return reactions.bytes + inboxes.bytes + this.judge.bytes + registers.bytes
  }

  begin(): { readonly row: Int32Array; readonly violation: Violation | null } {
    const { settings, rules, layout, events, inboxes, registers, reactions, environments } = this.#parts
    let memory = this.judge.begin()
    let violation: Violation | null = null
    const begun = rules.start(settings.initial)
    let { world } = begun
    const watch = (seen: Observation): void => {
      const next = this.judge.next(memory, events.idOf(seen))
      if (next < 0) violation ??= this.judge.violation(next)
      else memory = next
    }
    for (const { result: did } of begun.nodeSteps) for (const seen of did.seen) watch(seen)
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
   * Puts every successor of a world into the batch; but for such that are known, if it is said in which sleepSet the world was
   * come to (sleepSets.ts), and what the monitor remembered in the one before.
   */
  expand(row: Int32Array, into: Batch, sleepSet = NO_SLEEP_SET, earlier = 0): void {
    const outlook = this.#environments.outlook(row[this.#environmentAt] as number)
    const sum = sumOf(row, 0, this.columns)
    this.#successors.sum = sum
    if (this.#cache === null) this.#steps.expandAll(row, into, outlook)
    else this.#cache.expand(row, sum, sleepSet, earlier, into)
    this.#environmentSteps.expand(row, into, outlook)
  }

  /** Whether anything but faults can still happen: a message or a timer that is due, or news that is owed. */
  isBusy(row: Int32Array): boolean {
    return this.#checks.isBusy(row)
  }

  /** What is wrong with this world as it stands, whatever happens next. */
  stateViolation(row: Int32Array): Violation | null {
    return this.#checks.violation(row)
  }

  /** What the specifications say of this world, if it is taken to be settled; null when they have no objection. */
  settledViolation(row: Int32Array): Violation | null {
    return this.#checks.settledViolation(row)
  }

  /** A action in words: as a step of a schedule. */
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
        this.#forCache(row, (outlook) => this.#steps.ownMoves(row, into, outlook, node, true)),
      reads: (row, into, node, of) =>
        this.#forCache(row, (outlook) => this.#steps.reads(row, into, outlook, node, of)),
    }
  }

  /** Expands another row than the one that is being expanded, for a fan. */
  #forCache(row: Int32Array, expand: (outlook: Outlook) => void): void {
    const successors = this.#successors
    const { sum } = successors
    successors.sum = sumOf(row, 0, this.columns)
    successors.forCache = true
    expand(this.#environments.outlook(row[this.#environmentAt] as number))
    successors.forCache = false
    successors.sum = sum
  }
}

/** The budget may come with more than that; what does not count must not tell worlds apart. */
function budgetOf({ crashes, recoveries, flips, ticks }: Budget): Budget {
  return { crashes, recoveries, flips, ticks }
}
