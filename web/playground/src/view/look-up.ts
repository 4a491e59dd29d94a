/** What a picture says about one instant. All lists are sorted by time, so each answer is a binary search. */
import type { Micros, NodeId } from '../../../../src/core/index.ts'
import type {
  Flight,
  Lane,
  LeaseSpan,
  NetworkState,
  Picture,
  RoleSpan,
  TimerSpan,
} from '../engine/picture.ts'

/** The number of entries at the start of a sorted list for which `isBefore` holds. */
export function countWhile<T>(list: readonly T[], isBefore: (entry: T) => boolean): number {
  let low = 0
  let high = list.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (isBefore(list[middle] as T)) low = middle + 1
    else high = middle
  }
  return low
}

/** The role of a node after a moment: several moments may share an instant. */
export function roleAfter(lane: Lane, moment: number): RoleSpan | null {
  return lane.roles[countWhile(lane.roles, (span) => span.moment <= moment) - 1] ?? null
}

/** The lease that a node has at an instant, by its own belief or by the true time. */
export function leaseAt(lane: Lane, at: Micros): LeaseSpan | null {
  const span = lane.leases[countWhile(lane.leases, ({ from }) => from <= at) - 1]
  return span === undefined || span.to <= at ? null : span
}

export function stallAt(lane: Lane, at: Micros): Lane['stalls'][number] | null {
  const stall = lane.stalls[countWhile(lane.stalls, ({ from }) => from <= at) - 1]
  return stall === undefined || stall.to <= at ? null : stall
}

export function isLoadedAt({ loads }: Lane, at: Micros): boolean {
  return loads.some(({ from, to }) => from <= at && at < to)
}

export function networkAt(picture: Picture, at: Micros): NetworkState | null {
  return picture.networks[countWhile(picture.networks, ({ from }) => from <= at) - 1] ?? null
}

/** What the node's clock shows, counted from what it showed at the start. */
export function ownElapsed(lane: Lane, at: Micros): Micros {
  const [first] = lane.clock
  const piece = lane.clock[countWhile(lane.clock, ({ from }) => from <= at) - 1] ?? first
  if (first === undefined || piece === undefined) return at
  return piece.shows - first.shows + first.from + (at - piece.from) * piece.rate
}

/** Timers that are set at an instant, the next one first. A lane with very many timers is searched from the end. */
export function timersAt(lane: Lane, at: Micros): readonly TimerSpan[] {
  const found: TimerSpan[] = []
  const count = countWhile(lane.timers, ({ from }) => from <= at)
  for (let place = count - 1; place >= 0 && place >= count - MOST_TIMERS; place -= 1) {
    const timer = lane.timers[place] as TimerSpan
    if (timer.to > at) found.push(timer)
  }
  return found.sort((a, b) => a.due - b.due)
}
/** A timer is not looked for further back than this many settings. */
const MOST_TIMERS = 200

export const placeOf = (picture: Picture, node: NodeId): number =>
  picture.nodes.findIndex((each) => String(each) === String(node))

/** Finds the messages of a span of time without looking at all of them. */
export class FlightIndex {
  readonly #flights: readonly Flight[]
  /** The latest end among the flights up to each place. */
  readonly #latestEnd: readonly number[]
  #byNumber: ReadonlyMap<string, Flight> | null = null

  constructor(flights: readonly Flight[]) {
    this.#flights = flights.toSorted((a, b) => a.sentAt - b.sentAt)
    let latest = Number.NEGATIVE_INFINITY
    this.#latestEnd = this.#flights.map(({ endedAt }) => {
      latest = Math.max(latest, endedAt ?? Number.POSITIVE_INFINITY)
      return latest
    })
  }

  find(message: number, copy: number): Flight | undefined {
    this.#byNumber ??= new Map(this.#flights.map((flight) => [`${flight.message} ${flight.copy}`, flight]))
    return this.#byNumber.get(`${message} ${copy}`)
  }

  /** All that were in flight at some instant from `from` to `to`, in the order of sending. */
  between(from: Micros, to: Micros): readonly Flight[] {
    const first = countWhile(this.#latestEnd, (end) => end < from)
    const found: Flight[] = []
    for (let place = first; place < this.#flights.length; place += 1) {
      const flight = this.#flights[place] as Flight
      if (flight.sentAt > to) break
      if (flight.endedAt === null || flight.endedAt >= from) found.push(flight)
    }
    return found
  }

  /** All that are in flight after a moment that happens at `at`. */
  after(moment: number, at: Micros): readonly Flight[] {
    return this.between(at, at).filter(
      ({ sentIn, endedIn }) => sentIn <= moment && (endedIn === null || endedIn > moment),
    )
  }
}
