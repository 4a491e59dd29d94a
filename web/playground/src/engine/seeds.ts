/** Tries many seeds of a scenario, or scenarios drawn from many seeds, until one violates a specification. */
import { type Definition, FAULT_KINDS, type PlainObject } from '../../../../src/core/index.ts'
import type { Scenario } from '../../../../src/workbench/scenario/index.ts'
import { runScenario } from '../../../../src/workbench/sim/run.ts'
import { NO_ERROR, shrink } from '../../../../src/workbench/sim/shrink.ts'
import { scenarioDrawer } from '../../../../src/workbench/sim/swarm.ts'
import { EngineError, problemText } from './engine-error.ts'
import type { Found, ScenarioFile } from './messages.ts'
import { errorText } from './problems.ts'
import { checkScenario, type Protocols, withProtocol } from './run.ts'
import { fileOf } from './scenario-file.ts'

/** The first violation of a range of seeds. Tallies of several ranges add up. */
export type SeedTally = {
  readonly seeds: number
  readonly steps: number
  readonly violation: { readonly seed: number; readonly spec: string; readonly why: string } | null
}

export class SeedTrials {
  readonly #definition: Definition
  readonly #draw: (seed: number) => Scenario
  readonly #protocols: Protocols

  /** `swarm`: draws the network, clocks and faults from each seed, as `conclave sim --faults swarm` does. */
  constructor(given: ScenarioFile, swarm: boolean, protocols: Protocols) {
    const file = withProtocol(given, protocols)
    const { scenario, definition } = checkScenario(file, protocols)
    if (scenario.schedule !== null)
      throw new EngineError([
        { place: 'schedule', message: 'a schedule leaves nothing to chance: every seed gives the same run' },
      ])
    this.#definition = definition
    this.#protocols = protocols
    const { length } = scenario.nodes
    const options = (file['options'] ?? {}) as PlainObject
    this.#draw = swarm
      ? scenarioDrawer(definition, { nodes: [length, length], options, faults: FAULT_KINDS })
      : (seed) => ({ ...scenario, seed, checkpointsMs: [] })
    // Options that no drawn scenario can have are a mistake, not a finding of a seed.
    this.#draw(1)
  }

  /** Runs the seeds in order, up to the first violation. `onSeed` is called after each. */
  run(first: number, last: number, onSeed: (tally: SeedTally) => void = () => {}): SeedTally {
    let tally: SeedTally = { seeds: 0, steps: 0, violation: null }
    for (let seed = first; seed <= last && tally.violation === null; seed++) {
      const { steps, violation } = this.#runSeed(seed)
      tally = { seeds: tally.seeds + 1, steps: tally.steps + steps, violation }
      onSeed(tally)
    }
    return tally
  }

  /** The smallest scenario with the same violation. `onEvent` is called often, to show that it goes on. */
  shrink({ seed, spec, why }: NonNullable<SeedTally['violation']>, onEvent: () => void = () => {}): Found {
    const watching = { ...this.#protocols.specsFor(this.#definition), observe: onEvent }
    const shrunk = shrink(this.#definition, this.#draw(seed), spec, watching)
    return { spec, why, seed, scenario: fileOf(shrunk, this.#protocols.lookup), schedule: null }
  }

  /** An exception in a step is a finding of its seed, like a violation. */
  #runSeed(seed: number): Pick<SeedTally, 'steps' | 'violation'> {
    try {
      const { specs, steps } = runScenario(
        this.#definition,
        this.#draw(seed),
        this.#protocols.specsFor(this.#definition),
      )
      const violated = specs.find(({ verdict }) => verdict === 'violated')
      if (violated?.verdict !== 'violated') return { steps, violation: null }
      return { steps, violation: { seed, spec: violated.name, why: violated.why } }
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown))
      const why = problemText({ place: this.#protocols.placeOf(error), message: errorText(error) })
      return { steps: 0, violation: { seed, spec: NO_ERROR, why } }
    }
  }
}
