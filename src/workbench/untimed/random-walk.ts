/**
 * Random walks through an untimed world with link notifications, for worlds too large to search.
 *
 * A seed determines the walk: a number of faults (link ends that move, crashes, recoveries) interleaved with
 * all other steps in random order. Sometimes, and after the last fault, faults pause until nothing more can
 * happen; the specifications of settled states are judged there, with the faults still in place. At the end
 * everything is healed and judged again.
 */
import {
  type Definition,
  fail,
  type NodeId,
  type Outcome,
  type PlainObject,
  present,
} from '../../core/index.ts'
import { factsOf, promisedSpecs } from '../scenario/options.ts'
import { Random } from '../scenario/random.ts'
import type { ScheduleStep } from '../scenario/scenario.ts'
import { monitor, type Spec, Watch } from '../specs/index.ts'
import { deliverable } from './inbox.ts'
import { canFlip, DEFAULT_LINK_HISTORY, endOf, type LinkHistory, mustFollow } from './link-ends.ts'
import { UntimedRules, type UntimedWorld } from './world.ts'

export type RandomWalkSettings = {
  readonly definition: Definition
  readonly nodes: readonly NodeId[]
  readonly options: PlainObject
  readonly initial: Outcome | null
  readonly faults: number
  readonly crashes: boolean
  readonly history?: LinkHistory
  readonly specs?: readonly Spec[]
}

export type RandomWalk = {
  readonly schedule: readonly ScheduleStep[]
  readonly violation: { readonly spec: string; readonly why: string } | null
}

/** A walk that does not come to rest within this many steps counts as non-terminating. */
const MOST_STEPS = 20_000
/**
 * Probability that a fault starts a partition: all links between two sides go down, one end after another.
 */
const SPLIT_CHANCE = 0.15
/** Probability per step that faults pause until the world is at rest. */
const CALM_CHANCE = 0.02

export class RandomWalker {
  readonly #settings: RandomWalkSettings
  readonly #rules: UntimedRules
  readonly #history: LinkHistory

  constructor(settings: RandomWalkSettings) {
    const { definition, nodes, options, history = DEFAULT_LINK_HISTORY } = settings
    this.#settings = settings
    this.#history = history
    this.#rules = new UntimedRules(definition, nodes, options, 'fifo', false, history)
    if (!this.#rules.reported) fail(`${definition.name} is not notified of link changes`)
  }

  /** Number of faults in a walk. */
  get faults(): number {
    return this.#settings.faults
  }

  walk(seed: number): RandomWalk {
    const { definition, nodes, options, specs, initial } = this.#settings
    const random = new Random(seed)
    const watched = specs ?? promisedSpecs(definition, options)
    const watch = new Watch(monitor(watched, [], factsOf(definition, nodes, options)))
    const begin = this.#rules.start(initial)
    let { world } = begin
    for (const { result: did } of begin.nodeSteps) for (const seen of did.seen) watch.observe(seen)
    const schedule: ScheduleStep[] = []
    let faults = this.#settings.faults
    const take = (step: ScheduleStep): void => {
      const performed = this.#rules.perform(world, step)
      if (typeof performed === 'string') fail(performed)
      schedule.push(step)
      for (const seen of performed.seen) watch.observe(seen)
      world = performed.world
    }
    const violation = (): RandomWalk['violation'] => {
      const found = watch.verdicts().find(({ verdict }) => verdict === 'violated')
      return found?.verdict === 'violated' ? { spec: found.name, why: found.why } : null
    }
    const rest = (): void => {
      watch.observe({ type: 'settled', at: 0, connected: this.#rules.connected(world) })
    }
    /** One side of the partition in progress, as a bitmask of node indexes; 0 if there is none. */
    let sides = 0
    let isCalm = false
    let isHealing = false
    while (schedule.length < MOST_STEPS) {
      if (faults > 0 && !isCalm) isCalm = random.chance(CALM_CHANCE)
      if (isCalm || (faults === 0 && !isHealing)) {
        const owed = this.#owed(world)
        if (owed.length > 0) {
          take(owed[random.integer(0, owed.length - 1)] as ScheduleStep)
        } else {
          rest()
          isCalm = false
          isHealing = faults === 0
        }
        if (watch.violated) return { schedule, violation: violation() }
        continue
      }
      // Alternates bursts of faults with long calm periods, because protocols break in between.
      const faultFirst = random.chance(faults > 0 ? 0.25 : 0.5)
      const choose = (isFault: boolean): readonly ScheduleStep[] => {
        if (!isFault) return this.#owed(world)
        if (faults === 0) return this.#healing(world)
        const split = this.#split(world, sides)
        return split.length > 0 ? split : this.#faults(world)
      }
      let isFault = faultFirst
      let steps = choose(isFault)
      if (steps.length === 0) {
        isFault = !isFault
        steps = choose(isFault)
      }
      if (steps.length === 0) break
      if (isFault && faults > 0 && this.#split(world, sides).length === 0) {
        faults -= 1
        sides = random.chance(SPLIT_CHANCE) ? random.integer(1, 2 ** nodes.length - 2) : 0
      }
      take(steps[random.integer(0, steps.length - 1)] as ScheduleStep)
      if (watch.violated) return { schedule, violation: violation() }
    }
    if (schedule.length >= MOST_STEPS) {
      return { schedule, violation: { spec: 'ends', why: `not at rest after ${MOST_STEPS} steps` } }
    }
    rest()
    return { schedule, violation: violation() }
  }

  /** Steps that must happen eventually: deliveries, and link ends that catch up. */
  #owed(world: UntimedWorld): readonly ScheduleStep[] {
    const { nodes } = this.#settings
    const steps: ScheduleStep[] = []
    for (const [at, node] of nodes.entries()) {
      const inbox = present(world.inboxes[at], 'inbox')
      for (const { place } of deliverable(inbox, 'fifo', (message) =>
        this.#rules.canDeliver(world, at, message),
      )) {
        steps.push({
          node,
          do: 'deliver',
          from: present(nodes[present(inbox[place], 'message').from], 'node'),
        })
      }
      for (const [place, peer] of nodes.entries()) {
        if (place === at || world.slots[at]?.up !== true) continue
        if (mustFollow(endOf(world.ends, nodes.length, at, place))) steps.push({ node, do: 'follow', peer })
      }
    }
    return steps
  }

  #faults(world: UntimedWorld): readonly ScheduleStep[] {
    const { nodes, crashes } = this.#settings
    const steps: ScheduleStep[] = []
    for (const [at, node] of nodes.entries()) {
      const isUp = world.slots[at]?.up === true
      if (crashes) steps.push({ node, do: isUp ? 'crash' : 'recover' })
      if (isUp) steps.push(...this.#flips(world, at, () => true))
    }
    return steps
  }

  /** Link ends between the two sides that are still up. */
  #split(world: UntimedWorld, sides: number): readonly ScheduleStep[] {
    if (sides === 0) return []
    const isOn = (place: number): boolean => (sides & (1 << place)) !== 0
    const { nodes } = this.#settings
    return nodes.flatMap((_, at) =>
      world.slots[at]?.up === true
        ? this.#flips(world, at, (up) => up).filter(
            (step) => 'peer' in step && isOn(at) !== isOn(nodes.indexOf(step.peer)),
          )
        : [],
    )
  }

  /** Steps towards a world with all nodes up and all links up. */
  #healing(world: UntimedWorld): readonly ScheduleStep[] {
    return this.#settings.nodes.flatMap((node, at): readonly ScheduleStep[] => {
      if (world.slots[at]?.up !== true) return [{ node, do: 'recover' }]
      return this.#flips(world, at, (up) => !up)
    })
  }

  #flips(world: UntimedWorld, at: number, wanted: (up: boolean) => boolean): readonly ScheduleStep[] {
    const { nodes } = this.#settings
    return nodes.flatMap((peer, place): readonly ScheduleStep[] => {
      if (place === at) return []
      const end = endOf(world.ends, nodes.length, at, place)
      if (!wanted(end.up) || !canFlip(end, at, place, this.#history)) return []
      if (!end.up && world.slots[place]?.up !== true) return []
      return [{ node: present(nodes[at], 'node'), do: 'flip', peer }]
    })
  }
}
