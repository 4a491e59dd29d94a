/**
 * What a process measures for all of its groups: how late the timers of its elections fire, how long messages take, and
 * the round-trip time to each peer. Everything costs a few operations per timer and datagram, and constant memory.
 *
 * A datagram of a session returns the timestamps of an earlier one, so it shows the time of both ways without the time
 * that the peer held it. The peer returns the timestamps of the fastest datagram that it has lately received. So the way
 * there took about half of the shortest round trip, and the rest is the delay of this datagram.
 */
import type { Micros, NodeId } from '../../core/index.ts'
import type { LateEpisode } from './explain.ts'
import type { GroupMonitor } from './group-monitor.ts'
import type { Hearing } from './measured.ts'
import { RollingHistogram } from './rolling-histogram.ts'
import { openThreadClock, type ThreadClock, type ThreadTimes, type WhyLate, whyLate } from './thread-times.ts'

/** While a process starts, its code is loaded and compiled: that is no lateness to act on. */
const WARM_UP: Micros = 1_000_000
/** The shortest round trip of a link is forgotten after one to two of these. */
const LINK_INTERVAL: Micros = 30_000_000
/** The weight of a new round trip in the average, as for TCP (RFC 6298). */
const WEIGHT = 1 / 8

/** A peer that was silent for this long, and much longer than usual, was stopped or cut off. */
const LEAST_SILENCE: Micros = 2_000_000
const USUAL_INTERVALS = 4

type Link = {
  rtt: Micros
  shortest: Micros
  shortestBefore: Micros
  since: Micros
  /** When the last round trip ended, and the usual time between two; 0 before the second. */
  lastAt: Micros
  interval: Micros
  /** When the peer was heard again after a silence. */
  returnedAt: Micros
}

export class ProcessMeasures {
  readonly lateness = new RollingHistogram()
  readonly delays = new RollingHistogram()
  readonly #links = new Map<NodeId, Link>()
  readonly #monitors = new Set<GroupMonitor>()
  readonly #threadClock: ThreadClock
  #threadTimes: ThreadTimes | null
  readonly #startedAt: Micros
  #leastSigma: Micros = Number.POSITIVE_INFINITY
  #leastDelta: Micros = Number.POSITIVE_INFINITY
  /** The last time that this process was later than a group assumes. */
  lastLate: LateEpisode | null = null

  constructor(now: Micros, threadClock: ThreadClock = openThreadClock()) {
    this.#startedAt = now
    this.#threadClock = threadClock
    this.#threadTimes = threadClock.read()
  }

  add(monitor: GroupMonitor): void {
    this.#monitors.add(monitor)
    this.#updateLeast()
  }

  delete(monitor: GroupMonitor): void {
    this.#monitors.delete(monitor)
    this.#updateLeast()
  }

  /** A timer fired, or was found to be due, this long after its deadline. */
  noteLateness(by: Micros, now: Micros): void {
    if (now - this.#startedAt < WARM_UP) return
    this.lateness.add(by, now)
    if (by <= this.#leastSigma) return
    this.lastLate = { by, at: now, why: this.#explainLateness(by) }
    for (const monitor of this.#monitors) monitor.noteLateness(this.lastLate)
  }

  /** A datagram of a peer completed a round trip. */
  noteRoundTrip(peer: NodeId, trip: Micros, now: Micros): void {
    if (trip < 0 || now - this.#startedAt < WARM_UP) return
    const link = this.#linkTo(peer, trip, now)
    noteInterval(link, now)
    // It waited for a peer that did not run or could not be reached: that is no delay of the network.
    if (now - trip < link.returnedAt) return
    link.rtt += (trip - link.rtt) * WEIGHT
    if (trip < link.shortest) link.shortest = trip
    this.noteDelay(peer, trip - Math.min(link.shortest, link.shortestBefore) / 2, now)
  }

  /** A message, or an access to a store, took this long. */
  noteDelay(peer: NodeId | null, delay: Micros, now: Micros): void {
    this.delays.add(delay, now)
    // If this process was late itself, the message waited here.
    if (delay <= this.#leastDelta) return
    if (this.lastLate !== null && now - this.lastLate.at <= delay) return
    const isStarved = this.#explainLateness(delay) === 'starved'
    for (const monitor of this.#monitors) monitor.noteDelay({ by: delay, at: now, from: peer, isStarved })
  }

  /** In milliseconds; null before the first round trip. */
  rttTo(peer: NodeId): number | null {
    const link = this.#links.get(peer)
    return link === undefined ? null : Math.round(link.rtt / 10) / 100
  }

  hearingOf(peer: NodeId, heardAt: Micros | null, now: Micros): Hearing {
    return {
      heardMsAgo: heardAt === null ? null : Math.max(0, Math.round((now - heardAt) / 1000)),
      rttMs: this.rttTo(peer),
    }
  }

  forget(peer: NodeId): void {
    this.#links.delete(peer)
  }

  /** Called about once a second. */
  tick(now: Micros): void {
    this.#threadTimes = this.#threadClock.read()
    for (const monitor of this.#monitors) monitor.tick(now)
    // Leases that tune themselves assume more or less, as they become longer or shorter.
    this.#updateLeast()
  }

  close(): void {
    this.#threadClock.close()
  }

  #explainLateness(by: Micros): WhyLate {
    const before = this.#threadTimes
    this.#threadTimes = this.#threadClock.read()
    return whyLate(by, before, this.#threadTimes)
  }

  #linkTo(peer: NodeId, trip: Micros, now: Micros): Link {
    let link = this.#links.get(peer)
    if (link === undefined) {
      link = {
        rtt: trip,
        shortest: trip,
        shortestBefore: Number.POSITIVE_INFINITY,
        since: now,
        lastAt: now,
        interval: 0,
        returnedAt: Number.NEGATIVE_INFINITY,
      }
      this.#links.set(peer, link)
    } else if (now - link.since >= LINK_INTERVAL) {
      link.shortestBefore = link.shortest
      link.shortest = trip
      link.since = now
    }
    return link
  }

  #updateLeast(): void {
    this.#leastSigma = Math.min(...[...this.#monitors].map(({ assumed }) => assumed.sigma))
    this.#leastDelta = Math.min(...[...this.#monitors].map(({ assumed }) => assumed.delta))
  }
}

function noteInterval(link: Link, now: Micros): void {
  const silence = now - link.lastAt
  link.lastAt = now
  if (link.interval === 0) link.interval = silence
  else if (silence >= LEAST_SILENCE && silence > USUAL_INTERVALS * link.interval) link.returnedAt = now
  else link.interval += (silence - link.interval) * WEIGHT
}
