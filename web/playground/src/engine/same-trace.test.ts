/** A run in the playground is the run of the command line: the same trace, byte for byte. */
import { describe, expect, it } from 'vitest'
import { FAULT_KINDS, present } from '../../../../src/core/index.ts'
import { catalogue, protocols } from '../../../../src/protocols/index.ts'
import {
  parseScenario,
  runScenario,
  scenarioDrawer,
  traceHeader,
} from '../../../../src/workbench/sim/index.ts'
import { traceLine } from '../../../../src/workbench/trace/index.ts'
import type { ScenarioFile } from './messages.ts'
import { fileOf } from './scenario-file.ts'
import { createSession } from './session.ts'

const SEEDS = [1, 2, 3, 4, 5]

/** As src/cli/sim/scenario-file.ts writes it. */
function traceOfCommandLine(file: ScenarioFile): string {
  const scenario = parseScenario(file, catalogue)
  const lines = [traceLine(traceHeader(scenario))]
  runScenario(present(catalogue.find(scenario.protocol), 'protocol'), scenario, {
    record: (record) => lines.push(traceLine(record)),
  })
  return `${lines.join('\n')}\n`
}

describe.each(protocols.map((definition) => [definition.name, definition] as const))(
  '%s',
  (_, definition) => {
    const count = Math.max(3, definition.leastNodes)
    const draw = scenarioDrawer(definition, { nodes: [count, count], options: {}, faults: FAULT_KINDS })

    it.each(SEEDS)('has the trace of conclave sim for the scenario of seed %i', async (seed) => {
      const file = fileOf(draw(seed), catalogue)
      const session = createSession()
      await session.ask({ type: 'run', scenario: file, module: null })
      expect(await session.ask({ type: 'trace' })).toBe(traceOfCommandLine(file))
    })

    it('writes a drawn scenario as a file that means the same', () => {
      for (const seed of SEEDS) {
        const scenario = draw(seed)
        expect(parseScenario(fileOf(scenario, catalogue), catalogue)).toEqual(scenario)
      }
    })
  },
)
