/** Runs a scenario as `conclave sim` does, and keeps its trace and its verdicts. */
import { type Definition, microsOf, msOf, present } from '../../../../src/core/index.ts'
import {
  type Lookup,
  parseScenario,
  promisedGoals,
  promisedSpecs,
  runScenario,
  type Scenario,
  traceHeader,
} from '../../../../src/workbench/sim/index.ts'
import type { Goal, Spec } from '../../../../src/workbench/specs/index.ts'
import type { TraceRecord } from '../../../../src/workbench/trace/index.ts'
import { EngineError, problemText } from './engine-error.ts'
import { Judging } from './judging.ts'
import { Measurements } from './measurements.ts'
import type { ScenarioFile } from './messages.ts'
import { problemsOf } from './problems.ts'
import type { RecordedRun } from './recorded-run.ts'

/** What a page can draw. Larger worlds and longer runs are for the command line. */
export const MOST_NODES_SHOWN = 100
export const MOST_RECORDS = 100_000

/** Where protocols come from: the package, and a module of the user. */
export type Protocols = {
  readonly lookup: Lookup
  /** The name of the protocol in the user's module; null without one. */
  readonly own: string | null
  specsFor(definition: Definition): { readonly specs?: readonly Spec[]; readonly goals?: readonly Goal[] }
  /** The line of the user's module in which an error was thrown; null if it was thrown elsewhere. */
  placeOf(error: Error): string | null
}

/** Ends a run from inside of it. */
class TooLong extends Error {}

export type Checked = { readonly scenario: Scenario; readonly definition: Definition }

/** A scenario that names no protocol is meant for that of the user's module. */
export function withProtocol(file: ScenarioFile, { own }: Protocols): ScenarioFile {
  return own === null || file['protocol'] !== undefined ? file : { protocol: own, ...file }
}

export function checkScenario(file: ScenarioFile, { lookup }: Protocols): Checked {
  const scenario = parseScenario(file, lookup)
  const definition = present(lookup.find(scenario.protocol), 'protocol')
  if (scenario.nodes.length > MOST_NODES_SHOWN)
    throw new EngineError([
      {
        place: 'nodes',
        message: `${scenario.nodes.length} nodes: the playground shows at most ${MOST_NODES_SHOWN}; run larger worlds with conclave sim`,
      },
    ])
  return { scenario, definition }
}

/** `onRecord` is called once per record, so that a long run can report its progress. */
export function runFile(
  file: ScenarioFile,
  protocols: Protocols,
  onRecord: (records: number) => void = () => {},
): RecordedRun {
  const { scenario, definition } = checkScenario(file, protocols)
  const records: TraceRecord[] = []
  const own = protocols.specsFor(definition)
  const judging = new Judging(
    own.specs ?? promisedSpecs(definition, scenario.options),
    own.goals ?? promisedGoals(definition, scenario.options),
    () => records.length - 1,
  )
  const measured = new Measurements(() => records.length)
  let cutShort: string | null = null
  try {
    runScenario(definition, scenario, {
      specs: judging.specs,
      goals: judging.goals,
      inspect: measured,
      record(record) {
        records.push(record)
        onRecord(records.length)
        if (records.length >= MOST_RECORDS) throw new TooLong()
      },
    })
  } catch (error) {
    if (error instanceof EngineError || isBadStep(error)) throw error
    cutShort = stopText(error, records, protocols)
  }
  const isUntimed = scenario.schedule !== null
  const lastAt = records.at(-1)?.at ?? 0
  return {
    definition,
    header: traceHeader(scenario),
    records,
    scenario,
    isUntimed,
    endsAt: isUntimed || cutShort !== null ? lastAt : microsOf(scenario.untilMs),
    cutShort,
    verdicts: judging.verdicts(),
    goals: judging.reached(),
    views: new Map(),
    measured,
  }
}

/** A step of a schedule that is impossible when its turn comes is a mistake in the scenario. */
function isBadStep(error: unknown): boolean {
  return error instanceof Error && error.name === 'InvalidScenarioError'
}

function stopText(error: unknown, records: readonly TraceRecord[], { placeOf }: Protocols): string {
  const at = msOf(records.at(-1)?.at ?? 0)
  if (error instanceof TooLong)
    return `the run was stopped at ${at} ms, after ${MOST_RECORDS.toLocaleString('en')} events: make it shorter, or run it with conclave sim`
  const [problem] = problemsOf(error, placeOf)
  const text = problem === undefined ? 'unknown error' : problemText(problem)
  return `the run was stopped at ${at} ms by an error: ${text}`
}
