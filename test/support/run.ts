/** Shortcuts to simulate and explore in tests. */
import type { NodeId, PlainObject } from '../../src/core/index.ts'
import { catalogue } from '../../src/protocols/index.ts'
import { type ExploreReport, type ExploreSettings, explore } from '../../src/workbench/explore/index.ts'
import {
  checkedOptions,
  parseScenario,
  type Report,
  type RunOptions,
  runScenario,
} from '../../src/workbench/sim/index.ts'

export function ids(count: number): readonly NodeId[] {
  return Array.from({ length: count }, (_, index) => index + 1)
}

/** Runs a scenario given as in a file, strictly by default. */
export function simulate(file: PlainObject, options: RunOptions = { strict: true }): Report {
  const scenario = parseScenario(file, catalogue)
  const definition = catalogue.find(scenario.protocol)
  if (definition === null) throw new Error('parseScenario checks this')
  return runScenario(definition, scenario, options)
}

type Asked = Partial<Omit<ExploreSettings, 'nodes'>>

/** Explores a protocol of the package like `conclave explore`. */
export function exploring(name: string, count: number, asked: Asked = {}): ExploreReport {
  const definition = catalogue.find(name)
  if (definition === null) throw new Error(`no protocol ${name}`)
  const { exploration } = definition
  const nodes = ids(count)
  return exploreQuietly({
    definition,
    nodes,
    budget: exploration,
    from: exploration.from,
    order: definition.order,
    timers: exploration.timers,
    depth: Number.MAX_SAFE_INTEGER,
    maxStates: 10_000_000,
    memoryMB: 1000,
    progress: exploration.progress,
    ...asked,
    options: checkedOptions(definition, nodes, { ...exploration.options, ...asked.options }),
  })
}

export function exploreQuietly(settings: ExploreSettings): ExploreReport {
  return explore(settings, { seconds: () => 0, shouldContinue: () => true })
}
