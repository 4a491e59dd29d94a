/**
 * A small world as a row of integers, and all that can happen next.
 *
 * Every node's local state, every inbox, the monitor's memory and what is left of the fault budget are interned to
 * small numbers, each by the file of its name; a world is one row of them (parts.ts says which column is which), and a
 * transition is a few table lookups: steps.ts and surroundings.ts say what may happen, turns.ts what that makes of a world,
 * standing.ts what is to be said of it as it is. The rules are those of the world without time in sim/still.ts, against which the tests
 * compare.
 */
import { fail } from '../../core/index.ts'
import type { ScheduleStep } from '../scenario/index.ts'
import type { Observation } from '../trace/index.ts'
import type { Budget } from '../untimed/index.ts'
import type { Batch, Deed } from './batch.ts'
import { describe } from './describe-step.ts'
import { Surroundings } from './environment-steps.ts'
import type { Environments, Outlook } from './environments.ts'
import { type FanRules, Fans } from './expansion-cache.ts'
import { sumOf } from './hash.ts'
import { EMPTY_INBOX } from './inboxes.ts'
import type { Judge, Violation } from './judge.ts'
import { type ModelSettings, type Parts, partsOf } from './parts.ts'
import { ANY_WAY } from './sleep-sets.ts'
import { Standing } from './state-checks.ts'
import { Steps } from './steps.ts'
import { Turns } from './successors.ts'

export class Model {
  readonly columns: number
  readonly judge: Judge
  /** Where in a row stands what the monitor remembers. */
  readonly memoryAt: number
  readonly #environmentAt: number
  readonly #environments: Environments
  readonly #parts: Parts
  readonly #standing: Standing
  readonly #turns: Turns
  readonly #steps: Steps
  readonly #surroundings: Surroundings
  /** Null where messages, too, have a part in what happens next. */
  readonly #fans: Fans | null

  constructor(settings: ModelSettings) {
    const parts = partsOf(settings)
    const { places, judge } = parts
    this.#parts = parts
    this.#environments = parts.environments
    this.judge = judge
    this.columns = places.columns
    this.memoryAt = places.memoryAt
    this.#environmentAt = places.environmentAt
    this.#standing = new Standing(parts)
    this.#turns = new Turns(parts)
    this.#steps = new Steps(parts, this.#standing, this.#turns)
    this.#surroundings = new Surroundings(parts, this.#standing, this.#turns)
    this.#fans = places.cellAt >= 0 && places.inboxAt < 0 ? new Fans(places, this.#fanRules(), judge) : null
  }

  /** Whether `expand` makes use of how a world was come to. */
  get usesWays(): boolean {
    return this.#fans !== null
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
    const { settings, rules, places, events, inboxes, registers, reactions, environments } = this.#parts
    let memory = this.judge.begin()
    let violation: Violation | null = null
    const begun = rules.begin(settings.initial)
    let { world } = begun
    const watch = (seen: Observation): void => {
      const next = this.judge.next(memory, events.idOf(seen))
      if (next < 0) violation ??= this.judge.violation(next)
      else memory = next
    }
    for (const { did } of begun.turns) for (const seen of did.seen) watch(seen)
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
      ...(places.inboxAt < 0 ? [] : filled),
      ...world.cells.map((cell) => registers.idOf(cell)),
    ])
    return { row, violation }
  }

  /**
   * Puts every successor of a world into the batch; but for such that are known, if it is said in which way the world was
   * come to (ways.ts), and what the monitor remembered in the one before.
   */
  expand(row: Int32Array, into: Batch, way = ANY_WAY, earlier = 0): void {
    const outlook = this.#environments.outlook(row[this.#environmentAt] as number)
    const sum = sumOf(row, 0, this.columns)
    this.#turns.sum = sum
    if (this.#fans === null) this.#steps.ofAll(row, into, outlook)
    else this.#fans.spread(row, sum, way, earlier, into)
    this.#surroundings.spread(row, into, outlook)
  }

  /** Whether anything but faults can still happen: a message or a timer that is due, or news that is owed. */
  isBusy(row: Int32Array): boolean {
    return this.#standing.isBusy(row)
  }

  /** What is wrong with this world as it stands, whatever happens next. */
  violationAsItStands(row: Int32Array): Violation | null {
    return this.#standing.violation(row)
  }

  /** What the specifications say of this world, if it is taken to be settled; null when they have no objection. */
  settledViolation(row: Int32Array): Violation | null {
    return this.#standing.settledViolation(row)
  }

  /** A deed in words: as a step of a schedule. */
  describe(row: Int32Array, deed: Deed): ScheduleStep {
    return describe(this.#parts, row, deed)
  }

  #fanRules(): FanRules {
    const { reactions } = this.#parts
    return {
      readsOf: (node, slot) => reactions.readsOf(node, slot),
      crashEvents: (node, slot) => reactions.crashEvents(node, slot),
      isForgotten: (node, before, after) => reactions.isForgotten(node, before, after),
      isFreeCrash: (node, environment) =>
        this.#environments.outlook(environment).crashed[node] === environment,
      ownMoves: (row, into, node) =>
        this.#alone(row, (outlook) => this.#steps.ownMoves(row, into, outlook, node, true)),
      reads: (row, into, node, of) =>
        this.#alone(row, (outlook) => this.#steps.reads(row, into, outlook, node, of)),
    }
  }

  /** Expands another row than the one that is being expanded, for a fan. */
  #alone(row: Int32Array, expand: (outlook: Outlook) => void): void {
    const turns = this.#turns
    const { sum } = turns
    turns.sum = sumOf(row, 0, this.columns)
    turns.forFan = true
    expand(this.#environments.outlook(row[this.#environmentAt] as number))
    turns.forFan = false
    turns.sum = sum
  }
}

/** The budget may come with more than that; what does not count must not tell worlds apart. */
function budgetOf({ crashes, recoveries, flips, ticks }: Budget): Budget {
  return { crashes, recoveries, flips, ticks }
}
