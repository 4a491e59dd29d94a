/**
 * The quality of service of failure detectors, in the terms of W. Chen, S. Toueg, M. K. Aguilera, On the Quality of
 * Service of Failure Detectors, IEEE Transactions on Computers 51(5), 2002, folded over what can be seen of a run:
 * who is up, and the `suspect`, `trust` and `unwatch` that monitors put out.
 *
 *   T_D   from a crash to the last S-transition before the peer comes back; 0 if it was suspected already
 *   T_MR  from one S-transition to the next while the peer is up
 *   T_M   from an S-transition to the T-transition that takes it back, while the peer is up
 *   T_G   from such a T-transition to the next S-transition: T_MR - T_M
 *
 * All but T_D are measured on the pair's own watching time, which runs while the monitor has an opinion about a peer
 * that is up: in an election a leader goes unwatched for a while, and such gaps belong to no interval. An interval
 * that a crash of either or the end of the run cuts is counted as censored and not measured. A crash of the peer ends
 * its incarnation: nothing is carried over to the next. The suspicion of a dead peer is no mistake.
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

/** What was measured; of one pair, or of many: it adds up. */
export type QosTally = {
  /** Time during which a peer that was up was watched, and the part of it during which it was suspected. */
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

/** One monitor and the peer that it watches. */
class Pair {
  readonly monitor: NodeId
  readonly peer: NodeId
  #tally: QosTally = EMPTY_QOS
  #opinion: 'none' | 'trust' | 'suspect' = 'none'
  /** Up to when the watching time has been counted. */
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

  /** The peer's next incarnation: nobody has an opinion of it yet. */
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

  /** What the crash came to, as far as this monitor is concerned. */
  #conclude(): void {
    if (this.#downSince === null) return
    if (this.#detectedAt !== null) this.#sample('detection', this.#detectedAt - this.#downSince)
    else if (this.#opinion === 'trust') this.#censor('detection')
    this.#detectedAt = null
  }

  /** The intervals that are under way will not be seen to end. */
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
        // A trace tells of every crash that was ordered, also of one that is down already.
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

  /** What was measured of each pair, when the run ends at this moment; empty where nobody watches anybody. */
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
