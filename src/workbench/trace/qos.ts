/**
 * Quality of service of failure detectors, as defined by W. Chen, S. Toueg, M. K. Aguilera, On the Quality of
 * Service of Failure Detectors, IEEE Transactions on Computers 51(5), 2002. A fold over observations: nodes
 * that go up and down, and the `suspect`, `trust` and `unwatch` outputs of monitors.
 *
 * - T_D: from a crash to the last S-transition before the peer is up again; 0 if it was already suspected
 * - T_MR: from one S-transition to the next while the peer is up
 * - T_M: from an S-transition to the T-transition that corrects it, while the peer is up
 * - T_G: from such a T-transition to the next S-transition: T_MR - T_M
 *
 * All except T_D are measured in the pair's watching time, which runs while the monitor has an opinion about
 * a peer that is up. During an election a leader is unwatched for a while; such gaps belong to no interval.
 * An interval that is cut by a crash of either node, or by the end of the run, is counted as censored and not
 * measured. A crash ends the peer's incarnation: nothing carries over to the next. Suspecting a crashed peer
 * is not a mistake.
 */
import { canonical, compareIds, type Micros, type NodeId } from '../../core/index.ts'
import {
  addDistributions,
  type Distribution,
  EMPTY_DISTRIBUTION,
  withCensored,
  withSample,
} from './distribution.ts'
import type { Observation } from './observation.ts'

/** Measurements of one pair or of many. Tallies add up. */
export type QosTally = {
  /** Time for which a running peer was watched, and the part of it in which it was suspected. */
  readonly watched: Micros
  readonly mistaken: Micros
  readonly mistakes: number
  readonly detection: Distribution
  readonly recurrence: Distribution
  readonly duration: Distribution
  readonly good: Distribution
}

export type PairQos = { readonly monitor: NodeId; readonly peer: NodeId; readonly tally: QosTally }

export const EMPTY_QOS: QosTally = {
  watched: 0,
  mistaken: 0,
  mistakes: 0,
  detection: EMPTY_DISTRIBUTION,
  recurrence: EMPTY_DISTRIBUTION,
  duration: EMPTY_DISTRIBUTION,
  good: EMPTY_DISTRIBUTION,
}

export function addQos(a: QosTally, b: QosTally): QosTally {
  return {
    watched: a.watched + b.watched,
    mistaken: a.mistaken + b.mistaken,
    mistakes: a.mistakes + b.mistakes,
    detection: addDistributions(a.detection, b.detection),
    recurrence: addDistributions(a.recurrence, b.recurrence),
    duration: addDistributions(a.duration, b.duration),
    good: addDistributions(a.good, b.good),
  }
}

type Measure = 'detection' | 'recurrence' | 'duration' | 'good'

/** One monitor and the peer it watches. */
class Pair {
  readonly monitor: NodeId
  readonly peer: NodeId
  #tally: QosTally = EMPTY_QOS
  #opinion: 'none' | 'trust' | 'suspect' = 'none'
  /** Watching time is counted up to here. */
  #since: Micros = 0
  /** In watching time: the last S- and T-transition of this incarnation. */
  #suspectedAt: Micros | null = null
  #trustedAt: Micros | null = null
  /** In true time: when the peer crashed, and when it was last suspected after that. */
  #downSince: Micros | null
  #detectedAt: Micros | null = null

  constructor(monitor: NodeId, peer: NodeId, downSince: Micros | null) {
    this.monitor = monitor
    this.peer = peer
    this.#downSince = downSince
  }

  get tally(): QosTally {
    return this.#tally
  }

  suspect(at: Micros): void {
    this.#count(at)
    this.#opinion = 'suspect'
    if (this.#downSince !== null) {
      this.#detectedAt = at
      return
    }
    const { watched } = this.#tally
    this.#tally = { ...this.#tally, mistakes: this.#tally.mistakes + 1 }
    if (this.#suspectedAt !== null) this.#sample('recurrence', watched - this.#suspectedAt)
    if (this.#trustedAt !== null) this.#sample('good', watched - this.#trustedAt)
    this.#suspectedAt = watched
    this.#trustedAt = null
  }

  trust(at: Micros): void {
    this.#count(at)
    if (this.#opinion === 'suspect' && this.#downSince === null && this.#suspectedAt !== null) {
      this.#sample('duration', this.#tally.watched - this.#suspectedAt)
      this.#trustedAt = this.#tally.watched
    }
    this.#opinion = 'trust'
    this.#detectedAt = null
  }

  unwatch(at: Micros): void {
    this.#count(at)
    if (this.#downSince !== null && this.#opinion === 'trust') this.#censor('detection')
    this.#opinion = 'none'
  }

  peerDown(at: Micros): void {
    this.#count(at)
    this.#cut()
    this.#downSince = at
    this.#detectedAt = this.#opinion === 'suspect' ? at : null
  }

  /** The peer's next incarnation: the monitor has no opinion of it yet. */
  peerUp(at: Micros): void {
    this.#conclude()
    this.#opinion = 'none'
    this.#downSince = null
    this.#since = at
  }

  /** The monitor crashes, or the run ends. */
  end(at: Micros): void {
    this.#count(at)
    this.#conclude()
    this.#cut()
    this.#opinion = 'none'
  }

  #count(at: Micros): void {
    const passed = at - this.#since
    this.#since = at
    if (this.#opinion === 'none' || this.#downSince !== null || passed === 0) return
    const { watched, mistaken } = this.#tally
    this.#tally = {
      ...this.#tally,
      watched: watched + passed,
      mistaken: this.#opinion === 'suspect' ? mistaken + passed : mistaken,
    }
  }

  /** Records the detection time of a crash. */
  #conclude(): void {
    if (this.#downSince === null) return
    if (this.#detectedAt !== null) this.#sample('detection', this.#detectedAt - this.#downSince)
    else if (this.#opinion === 'trust') this.#censor('detection')
    this.#detectedAt = null
  }

  /** Censors the intervals in progress. */
  #cut(): void {
    if (this.#suspectedAt !== null) {
      this.#censor('recurrence')
      this.#censor(this.#trustedAt === null ? 'duration' : 'good')
    }
    this.#suspectedAt = null
    this.#trustedAt = null
  }

  #sample(measure: Measure, sample: Micros): void {
    this.#tally = { ...this.#tally, [measure]: withSample(this.#tally[measure], sample) }
  }

  #censor(measure: Measure): void {
    this.#tally = { ...this.#tally, [measure]: withCensored(this.#tally[measure]) }
  }
}

export class QosWatch {
  readonly #pairs = new Map<string, Pair>()
  readonly #down = new Map<NodeId, Micros>()

  observe(seen: Observation): void {
    switch (seen.type) {
      case 'output':
        this.#output(seen.node, seen.event.type, seen.event['peer'] as NodeId | undefined, seen.at)
        break
      case 'down':
        // A trace records every crash event, also of a node that is already down.
        if (this.#down.has(seen.node)) break
        this.#down.set(seen.node, seen.at)
        for (const pair of this.#pairs.values()) {
          if (pair.peer === seen.node) pair.peerDown(seen.at)
          if (pair.monitor === seen.node) pair.end(seen.at)
        }
        break
      case 'up':
        if (!this.#down.delete(seen.node)) break
        for (const pair of this.#pairs.values()) if (pair.peer === seen.node) pair.peerUp(seen.at)
        break
      default:
    }
  }

  /** The measurements of each pair if the run ends at this moment; empty if no node watches another. */
  finish(at: Micros): readonly PairQos[] {
    const pairs = [...this.#pairs.values()].map((pair) => {
      pair.end(at)
      return { monitor: pair.monitor, peer: pair.peer, tally: pair.tally }
    })
    return pairs.sort((a, b) => compareIds(a.monitor, b.monitor) || compareIds(a.peer, b.peer))
  }

  #output(monitor: NodeId, type: string, peer: NodeId | undefined, at: Micros): void {
    if (peer === undefined) return
    if (type === 'suspect') this.#pair(monitor, peer).suspect(at)
    else if (type === 'trust') this.#pair(monitor, peer).trust(at)
    else if (type === 'unwatch') this.#pair(monitor, peer).unwatch(at)
  }

  #pair(monitor: NodeId, peer: NodeId): Pair {
    const key = canonical([monitor, peer])
    const known = this.#pairs.get(key)
    if (known !== undefined) return known
    const made = new Pair(monitor, peer, this.#down.get(peer) ?? null)
    this.#pairs.set(key, made)
    return made
  }
}
