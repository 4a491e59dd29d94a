/** Scenarios and runs for tests of the engine. */
import { type Definition, FAULT_KINDS } from '../../../../src/core/index.ts'
import { catalogue } from '../../../../src/protocols/index.ts'
import { scenarioDrawer } from '../../../../src/workbench/sim/index.ts'
import { pictureOf } from './draw/index.ts'
import type { ScenarioFile } from './messages.ts'
import { PACKAGE_ONLY } from './modules.ts'
import type { Picture } from './picture.ts'
import type { RecordedRun } from './recorded-run.ts'
import { runFile } from './run.ts'
import { fileOf } from './scenario-file.ts'

/** A scenario with random faults that the protocol tolerates. */
export function drawnFile(definition: Definition, seed: number): ScenarioFile {
  const count = Math.max(3, definition.leastNodes)
  const settings = { nodes: [count, count] as const, options: {}, faults: FAULT_KINDS }
  return fileOf(scenarioDrawer(definition, settings)(seed), catalogue)
}

export function recordedRun(file: ScenarioFile): RecordedRun {
  return runFile(file, PACKAGE_ONLY)
}

export function drawn(file: ScenarioFile): Picture {
  return pictureOf(recordedRun(file))
}

/** What a clock shows, from its pieces. */
export function reading(clock: Picture['lanes'][number]['clock'], at: number): number {
  const piece = clock.findLast(({ from }) => from <= at)
  return piece === undefined ? Number.NaN : piece.shows + Math.floor((at - piece.from) * piece.rate)
}
