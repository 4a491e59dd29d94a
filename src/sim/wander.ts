/**
 * A random walk through a world without time whose nodes are told of their links: for worlds too large to be searched.
 *
 * From a seed: so many faults (ends that move, crashes, recoveries) among whatever else can happen, in any order; then
 * everything is healed, and all that is left happens until nothing can. Judged all the way, and at rest.
 */
import { type Definition, fail, type NodeId, type Outcome, type PlainObject, present } from '../core/index.ts'
import { monitor, type Spec, Watch } from '../specs/index.ts'
import type { Observation } from '../trace/index.ts'
import { endOf, type History, mayFlip, mustFollow, USUAL_HISTORY } from './ends.ts'
import { deliverable } from './inbox.ts'
import { factsOf, promisedSpecs } from './options.ts'
import { Random } from './random.ts'
import type { ScheduleStep } from './scenario.ts'
import { StillRules, type StillWorld } from './still.ts'

export type WanderSettings = {
  readonly definition: Definition
  readonly nodes: readonly NodeId[]
  readonly options: PlainObject
  readonly initial: Outcome | null
  readonly faults: number
  readonly crashes: boolean
  readonly history?: History
  readonly specs?: readonly Spec[]
}

export type Wandered = {
  readonly schedule: readonly ScheduleStep[]
  readonly violation: { readonly spec: string; readonly why: string } | null
}

/** A walk that does not come to rest within this many steps goes on for ever, for all we know. */
const MOST_STEPS = 20_000

export class Wanderer {
  readonly #settings: WanderSettings
  readonly #rules: StillRules
  readonly #history: History

  constructor(settings: WanderSettings) {
    const { definition, nodes, options, history = USUAL_HISTORY } = settings
    this.#settings = settings
    this.#history = history
    this.#rules = new StillRules(definition, nodes, options, 'fifo', false, history)
    if (!this.#rules.reported) fail(`${definition.name} is told nothing of its links`)
  }

  /** How many faults there are in a walk. */
  get faults(): number {
    return this.#settings.faults
  }

  walk(seed: number): Wandered {
    const { definition, nodes, options, specs, initial } = this.#settings
    const random = new Random(seed)
    const watched = specs ?? promisedSpecs(definition, options)
    const watch = new Watch(monitor(watched, [], factsOf(definition, nodes, options)))
    const begin = this.#rules.begin(initial)
    let { world } = begin
    for (const { did } of begin.turns) for (const seen of did.seen) watch.observe(seen)
    const schedule: ScheduleStep[] = []
    let faults = this.#settings.faults
    const take = (step: ScheduleStep): void => {
      const performed = this.#rules.perform(world, step)
      if (typeof performed === 'string') fail(performed)
      schedule.push(step)
      for (const seen of performed.seen) watch.observe(seen)
      world = performed.world
    }
    const violation = (): Wandered['violation'] => {
      const found = watch.verdicts().find(({ verdict }) => verdict === 'violated')
      return found?.verdict === 'violated' ? { spec: found.name, why: found.why } : null
    }
    while (schedule.length < MOST_STEPS) {
      // Bursts of faults close together, and long calms: what breaks protocols lies between.
      const faultFirst = random.chance(faults > 0 ? 0.25 : 0.5)
      const choose = (isFault: boolean): readonly ScheduleStep[] => {
        if (!isFault) return this.#owed(world)
        return faults > 0 ? this.#faults(world) : this.#healing(world)
      }
      let isFault = faultFirst
      let steps = choose(isFault)
      if (steps.length === 0) {
        isFault = !isFault
        steps = choose(isFault)
      }
      if (steps.length === 0) break
      if (isFault) faults -= 1
      take(steps[random.integer(0, steps.length - 1)] as ScheduleStep)
      if (watch.violated) return { schedule, violation: violation() }
    }
    if (schedule.length >= MOST_STEPS) {
      return { schedule, violation: { spec: 'ends', why: `not at rest after ${MOST_STEPS} steps` } }
    }
    const settled: Observation = { type: 'settled', at: 0, connected: this.#rules.connected(world) }
    watch.observe(settled)
    return { schedule, violation: violation() }
  }

  /** What will happen some time: deliveries, and ends that follow. */
  #owed(world: StillWorld): readonly ScheduleStep[] {
    const { nodes } = this.#settings
    const steps: ScheduleStep[] = []
    for (const [at, node] of nodes.entries()) {
      const inbox = present(world.inboxes[at], 'inbox')
      for (const { place } of deliverable(inbox, 'fifo', (message) =>
        this.#rules.mayCome(world, at, message),
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

  #faults(world: StillWorld): readonly ScheduleStep[] {
    const { nodes, crashes } = this.#settings
    const steps: ScheduleStep[] = []
    for (const [at, node] of nodes.entries()) {
      const isUp = world.slots[at]?.up === true
      if (crashes) steps.push({ node, do: isUp ? 'crash' : 'recover' })
      if (isUp) steps.push(...this.#flips(world, at, () => true))
    }
    return steps
  }

  /** Whatever brings the world nearer to all nodes up and all links up. */
  #healing(world: StillWorld): readonly ScheduleStep[] {
    return this.#settings.nodes.flatMap((node, at): readonly ScheduleStep[] => {
      if (world.slots[at]?.up !== true) return [{ node, do: 'recover' }]
      return this.#flips(world, at, (up) => !up)
    })
  }

  #flips(world: StillWorld, at: number, wanted: (up: boolean) => boolean): readonly ScheduleStep[] {
    const { nodes } = this.#settings
    return nodes.flatMap((peer, place): readonly ScheduleStep[] => {
      if (place === at) return []
      const end = endOf(world.ends, nodes.length, at, place)
      if (!wanted(end.up) || !mayFlip(end, at, place, this.#history)) return []
      if (!end.up && world.slots[place]?.up !== true) return []
      return [{ node: present(nodes[at], 'node'), do: 'flip', peer }]
    })
  }
}
