/** Draws a recorded run: everything that the page looks up. */
import type { Picture } from '../picture.ts'
import type { RecordedRun } from '../recorded-run.ts'
import { commandForms } from './commands.ts'
import { flightsOf } from './flights.ts'
import { lanesOf } from './lanes.ts'
import { momentsOf } from './moments.ts'
import { networksOf } from './networks.ts'

/** `onPart` is called after each part: drawing a long run takes a while. */
export function pictureOf(run: RecordedRun, onPart: () => void = () => {}): Picture {
  const { definition, header, scenario, isUntimed, endsAt, cutShort, verdicts, goals } = run
  onPart()
  const flights = flightsOf(run)
  onPart()
  const moments = momentsOf(run, flights)
  onPart()
  const lanes = lanesOf(run)
  onPart()
  return {
    protocol: header.protocol,
    nodes: header.nodes,
    seed: header.seed,
    isUntimed,
    endsAt,
    cutShort,
    moments,
    flights,
    lanes,
    networks: networksOf(run),
    verdicts,
    goals,
    // Nothing can be done to a trace, nor to a schedule.
    commands: scenario === null || isUntimed ? [] : commandForms(definition, header.nodes),
  }
}
