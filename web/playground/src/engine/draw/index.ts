/** Draws a recorded run: everything that the page looks up. */
import type { Flight, Moment, Picture } from '../picture.ts'
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
    moments: isUntimed ? moments.map((moment) => ({ ...moment, isRoutine: false })) : moments,
    flights: flights.map((flight) => ({ ...flight, isRoutine: isRoutine(flight, run, moments) })),
    lanes,
    networks: networksOf(run),
    verdicts,
    goals,
    // Nothing can be done to a trace, nor to a schedule.
    commands: scenario === null || isUntimed ? [] : commandForms(definition, header.nodes),
  }
}

/**
 * A message that is repeated while nothing changes is worth a look where something changes: in the step that sends it or
 * in the step that receives it. That does not make heartbeats of a layer worth one. In a schedule each step was chosen.
 */
function isRoutine(
  flight: Flight,
  { definition, isUntimed }: RecordedRun,
  moments: readonly Moment[],
): boolean {
  if (isUntimed || !flight.isRoutine) return false
  if (!definition.kinds.includes(flight.kind)) return true
  const { sentIn, endedIn } = flight
  return moments[sentIn]?.isRoutine !== false && (endedIn === null || moments[endedIn]?.isRoutine !== false)
}
