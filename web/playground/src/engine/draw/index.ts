/** Draws a recorded run: everything that the page looks up. */
import type { Picture } from '../picture.ts'
import type { RecordedRun } from '../recorded-run.ts'
import { commandForms } from './commands.ts'
import { flightsOf } from './flights.ts'
import { lanesOf } from './lanes.ts'
import { momentsOf } from './moments.ts'
import { networksOf } from './networks.ts'

export function pictureOf(run: RecordedRun): Picture {
  const { definition, header, scenario, isUntimed, endsAt, cutShort, verdicts, goals } = run
  const flights = flightsOf(run)
  return {
    protocol: header.protocol,
    nodes: header.nodes,
    seed: header.seed,
    isUntimed,
    endsAt,
    cutShort,
    moments: momentsOf(run, flights),
    flights,
    lanes: lanesOf(run),
    networks: networksOf(run),
    verdicts,
    goals,
    // Nothing can be done to a trace, nor to a schedule.
    commands: scenario === null || isUntimed ? [] : commandForms(definition, header.nodes),
  }
}
