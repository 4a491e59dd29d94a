/**
 * Compares what a process measures with what one of its groups assumes: warns, at a limited rate, when an assumption is
 * broken, and explains why a lease was not renewed.
 */
import type { Micros, NodeId } from '../../core/index.ts'
import type { Assumed, Broken } from '../../protocols/index.ts'
import {
  type Evidence,
  type Explanation,
  explainExpiry,
  explainStoreExpiry,
  isPause,
  type LateEpisode,
  type SlowEpisode,
  showLimit,
  showMs,
} from './explain.ts'
import type { Measured } from './measured.ts'
import type { ProcessMeasures } from './process-measures.ts'
import { RollingHistogram, WINDOW_MS } from './rolling-histogram.ts'

/** Settings that would have tolerated what was measured: the least values, by name. */
type Remedy = { readonly [option: string]: number }

export type MonitorSettings = {
  /** At most, at any level: what exceeds it is a reason for a warning. It may change. */
  readonly assumed: Assumed
  /** Where leases tune themselves: at the level in force. What exceeds it explains why a lease expired. */
  present?(): Assumed | null
  /** The settings that would have tolerated this lateness or this delay. */
  remedy(broken: Broken): Remedy
  /** What to do when there are none. */
  readonly noRemedy?: string | undefined
  warn(what: string, detail: string): void
  /** An assumption was broken just now. */
  noted?(late: LateEpisode | null, slow: SlowEpisode | null): void
}

/** A warning comes shortly after the first broken assumption, so that it can name the worst of several. */
const GATHERING: Micros = 1_000_000
const WARNING_INTERVAL: Micros = 30_000_000
/** It is repeated sooner if it has become worse by this factor: the settings that it named would not do. */
const WORSE = 1.5
const WORSE_INTERVAL: Micros = 3_000_000

/** The broken assumptions since the last warning of their kind. */
type Pending = {
  count: number
  worst: Micros
  since: Micros
  /** What is known about the worst: after its length, and why it happened. */
  detail: string
  why: string
  /** The last warning: when, and the worst that it named. */
  warnedAt: Micros
  warnedWorst: Micros
}

const LATE_REASONS = {
  busy: ': its own thread was busy',
  starved: ': other processes used the CPU',
  stopped: ': the process was stopped',
  unknown: '',
}

/** Proposed settings tolerate half as much again as the worst that was measured: worse may follow. */
const AMPLE = 1.5

const NO_SETTING = 'meanwhile its lease expires, and no setting should prevent that'

export class GroupMonitor {
  readonly #settings: MonitorSettings
  #renewals = new RollingHistogram()
  /** σ of the leases whose renewals were measured: it grows with their length. */
  #renewedSigma: Micros | null = null
  #renewedAt: Micros | null = null
  #late: LateEpisode | null = null
  #slow: SlowEpisode | null = null
  readonly #pendingLate: Pending = noPending()
  readonly #pendingPause: Pending = noPending()
  readonly #pendingSlow: Pending = noPending()

  constructor(settings: MonitorSettings) {
    this.#settings = settings
  }

  /** What the level in force assumes. */
  get assumed(): Assumed {
    const { assumed } = this.#settings
    return this.#settings.present?.() ?? assumed
  }

  /** When the lease was last renewed; null when this node does not lead. */
  get renewedAt(): Micros | null {
    return this.#renewedAt
  }

  /** The last lateness beyond σ since the last renewal. */
  get late(): LateEpisode | null {
    return this.#late
  }

  noteLateness(episode: LateEpisode): void {
    if (episode.by <= this.assumed.sigma) return
    if (this.#late === null || episode.by >= this.#late.by) this.#late = episode
    if (episode.by > this.#settings.assumed.sigma) this.#countLateness(episode)
    this.#settings.noted?.(this.#late, null)
  }

  #countLateness(episode: LateEpisode): void {
    if (isPause(episode)) count(this.#pendingPause, episode.by, episode.at, '', '')
    else count(this.#pendingLate, episode.by, episode.at, '', LATE_REASONS[episode.why])
  }

  noteDelay(episode: SlowEpisode): void {
    if (episode.by <= this.assumed.delta) return
    if (this.#slow === null || episode.by >= this.#slow.by) this.#slow = episode
    const from = episode.from === null ? '' : `, from ${episode.from}`
    const why = episode.isStarved ? LATE_REASONS.starved : ''
    if (episode.by > this.#settings.assumed.delta) count(this.#pendingSlow, episode.by, episode.at, from, why)
    this.#settings.noted?.(null, this.#slow)
  }

  /** The lease was renewed when `left` of it was left. Null: it was granted for the first time. */
  noteRenewal(left: Micros | null, now: Micros): void {
    const { sigma } = this.assumed
    if (sigma !== this.#renewedSigma) {
      // Leases have another length from now on. What was left of the one before says nothing about them.
      this.#renewals = new RollingHistogram()
      this.#renewedSigma = sigma
    } else if (left !== null) {
      // A lease that was over when its renewal was noticed left nothing.
      this.#renewals.add(Math.max(0, left), now)
    }
    this.#renewedAt = now
    this.#late = null
    this.#slow = null
  }

  /** The term is over. */
  noteEnd(): void {
    this.#renewedAt = null
  }

  /** Why a lease that ends now was not renewed. */
  explain(seen: Omit<Evidence, 'late' | 'slow'>): Explanation {
    return explainExpiry({ ...seen, late: this.#late, slow: this.#slow }, this.assumed)
  }

  /** The same where nodes share a store. */
  explainInStore(now: Micros): Explanation {
    return explainStoreExpiry({ now, late: this.#late, slow: this.#slow }, this.assumed)
  }

  measured(process: ProcessMeasures, now: Micros): Measured {
    // Leases that tune themselves tolerate more at a higher level: only the highest is a limit.
    const { sigma, delta } = this.#settings.assumed
    return {
      windowMs: WINDOW_MS,
      latenessMs: process.lateness.spread(now),
      sigmaMs: sigma / 1000,
      delayMs: process.delays.spread(now),
      deltaMs: delta / 1000,
      renewalMarginMs: this.#renewals.low(now),
    }
  }

  /** Gives the warnings that are due. Called about once a second. */
  tick(now: Micros): void {
    const { sigma, delta, names } = this.#settings.assumed
    this.#warn(this.#pendingLate, now, (worst, times, { why }) => {
      const remedy = showRemedy({ sigma: AMPLE * worst }, this.#settings)
      const seen = `this node was up to ${showMs(worst)} late${times} (${showLimit(names.sigma, sigma)})${why}`
      return ['late', `${seen}; ${remedy}`]
    })
    this.#warn(this.#pendingPause, now, (worst, times) => [
      'paused',
      `this node was stopped for up to ${showMs(worst)}${times}: by SIGSTOP, a frozen container or a paused machine; ${NO_SETTING}`,
    ])
    this.#warn(this.#pendingSlow, now, (worst, times, { detail, why }) => {
      const remedy = showRemedy({ delta: AMPLE * worst }, this.#settings)
      const seen = `messages took up to ${showMs(worst)}${detail}${times} (${showLimit(names.delta, delta)})${why}`
      return ['slow', `${seen}; ${remedy}`]
    })
  }

  #warn(
    pending: Pending,
    now: Micros,
    text: (worst: Micros, times: string, pending: Pending) => [what: string, detail: string],
  ): void {
    if (!isDue(pending, now)) return
    const times = pending.count === 1 ? '' : `, ${pending.count} times in ${showSeconds(now - pending.since)}`
    const [what, detail] = text(pending.worst, times, pending)
    pending.count = 0
    pending.warnedWorst = pending.worst
    pending.worst = 0
    pending.warnedAt = now
    this.#settings.warn(what, detail)
  }
}

function noPending(): Pending {
  return {
    count: 0,
    worst: 0,
    since: 0,
    detail: '',
    why: '',
    warnedAt: Number.NEGATIVE_INFINITY,
    warnedWorst: 0,
  }
}

function isDue({ count: times, since, worst, warnedAt, warnedWorst }: Pending, now: Micros): boolean {
  if (times === 0 || now - since < GATHERING) return false
  return now - warnedAt >= (worst >= WORSE * warnedWorst ? WORSE_INTERVAL : WARNING_INTERVAL)
}

function count(pending: Pending, by: Micros, at: Micros, detail: string, why: string): void {
  if (pending.count === 0) pending.since = at
  pending.count += 1
  if (by <= pending.worst) return
  pending.worst = by
  pending.detail = detail
  pending.why = why
}

function showSeconds(micros: Micros): string {
  return `${Math.max(1, Math.round(micros / 1_000_000))} s`
}

/** `sigmaMs >= 100 would have held`. */
function showRemedy(
  broken: Broken,
  { remedy, noRemedy = 'choose a slower profile' }: MonitorSettings,
): string {
  const settings = Object.entries(remedy(broken)).map(([option, least]) => `${option} >= ${least}`)
  return settings.length === 0 ? noRemedy : `${settings.join(' with ')} would have held`
}

/** The silence of voters since the last renewal, as evidence. */
export function silenceOf(
  voters: readonly (readonly NodeId[])[],
  self: NodeId,
  heardAt: (id: NodeId) => Micros | null,
  since: Micros,
  now: Micros,
): Pick<Evidence, 'silent' | 'isMinority' | 'silentFor'> {
  const all = [...new Set(voters.flat())].filter((id) => id !== self)
  const silent = all.filter((id) => (heardAt(id) ?? 0) < since)
  const isMinority = voters.some(
    (set) => 2 * set.filter((id) => !silent.includes(id)).length <= set.length && set.length > 0,
  )
  // For this time none of them was heard: some may have been silent for longer.
  const lastHeard = silent.map(heardAt).filter((at) => at !== null)
  return { silent, isMinority, silentFor: lastHeard.length === 0 ? null : now - Math.max(...lastHeard) }
}
