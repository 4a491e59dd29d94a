/**
 * The failure detectors as options of a protocol: which one, its parameters, the layer that they make and how long it
 * may take to notice. A protocol spreads `detectorOptions()` into its schema, refines it with `checkDetector`, and
 * puts `detectorLayer` underneath itself.
 */
import { z } from 'zod'
import {
  type Identity,
  type Layer,
  LONGEST_MS,
  type Micros,
  microsOf,
  millisecondsOr,
} from '../../core/index.ts'
import { bertier } from './bertier.ts'
import { capSilence } from './capped.ts'
import type { Estimator } from './estimator.ts'
import { fixedTimeout } from './fixed.ts'
import { leaderWatch } from './leader-watch.ts'
import { nfdE } from './nfd-e.ts'
import { normalTailAt } from './normal-tail.ts'
import { phi } from './phi.ts'
import { reliable, reliableTimes, type SynchronousBounds } from './reliable.ts'

const MILLION = 1e6

export function detectorOptions() {
  return {
    detector: z
      .enum(['none', 'fixed', 'nfd-e', 'bertier', 'phi', 'reliable'])
      .default('nfd-e')
      .describe('who watches the leader; none: only `detect` commands (see docs/explanation/detectors.md)'),
    heartbeatMs: millisecondsOr(50, 'time between heartbeats'),
    suspectAfterMs: millisecondsOr(200, 'fixed: silence after which a process is suspected'),
    alphaMs: millisecondsOr(150, 'nfd-e: how long after its expected arrival a heartbeat is waited for'),
    window: z
      .int()
      .min(1)
      .max(1000)
      .default(30)
      .describe('nfd-e, bertier, phi: how many heartbeats to learn from'),
    marginFloorMs: upwardsOf(0, 25, 'bertier: the least margin'),
    phiThreshold: z.number().min(1).max(100).default(8).describe('phi: suspected above this phi'),
    sigmaFloorMs: upwardsOf(0, 25, 'phi: the least deviation that is believed'),
    pauseMs: upwardsOf(0, 0, 'phi: a pause that is always accepted'),
    longestSilenceMs: millisecondsOr(
      500,
      'nfd-e, bertier, phi: suspected after this, regardless of the estimate',
    ),
    maxDelayMs: upwardsOf(0, 100, 'reliable: no message takes longer'),
    minDelayMs: upwardsOf(0, 0, 'reliable: no message is faster'),
    stepMs: upwardsOf(0, 1, 'reliable: no step takes longer'),
    driftPpm: z.number().min(0).max(100_000).default(100).describe('reliable: no clock drifts by more'),
  }
}

function upwardsOf(least: number, byDefault: number, meaning: string) {
  return z.number().min(least).max(LONGEST_MS).default(byDefault).describe(meaning)
}

const schema = z.object(detectorOptions())
export type DetectorOptions = z.infer<typeof schema>
type Kind = Exclude<DetectorOptions['detector'], 'none'>

/** What must hold between options: the least that a field may be, where that comes from, and what else would happen. */
type Demand = {
  readonly field: keyof DetectorOptions
  readonly least: number
  readonly from: string
  readonly orElse: string
}

function demandOf(options: DetectorOptions): Demand | null {
  const { heartbeatMs, alphaMs, marginFloorMs, pauseMs, sigmaFloorMs } = options
  const silence = (least: number, from: string): Demand => {
    return { field: 'longestSilenceMs', least, from, orElse: 'it cuts off every estimate' }
  }
  switch (options.detector) {
    case 'none':
      return null
    case 'fixed': {
      const orElse = 'every pause between heartbeats is a failure'
      return { field: 'suspectAfterMs', least: heartbeatMs, from: 'heartbeatMs', orElse }
    }
    case 'nfd-e':
      return silence(heartbeatMs + alphaMs, `heartbeatMs + alphaMs, ${heartbeatMs} + ${alphaMs}`)
    case 'bertier': {
      const from = `heartbeatMs + marginFloorMs, ${heartbeatMs} + ${marginFloorMs}`
      return silence(heartbeatMs + marginFloorMs, from)
    }
    case 'phi': {
      const deviations = normalTailAt(options.phiThreshold)
      return silence(
        upToMicros(heartbeatMs + pauseMs + deviations * sigmaFloorMs),
        `heartbeatMs + pauseMs + ${deviations} sigmaFloorMs, ${heartbeatMs} + ${pauseMs} + ${deviations} * ${sigmaFloorMs}`,
      )
    }
    case 'reliable': {
      const orElse = 'no message could ever arrive'
      return { field: 'maxDelayMs', least: options.minDelayMs, from: 'minDelayMs', orElse }
    }
    default:
      return options.detector satisfies never
  }
}

/** For `superRefine`: refuses options that contradict each other, with the bound and both sides of it. */
export function checkDetector(options: DetectorOptions, context: z.RefinementCtx): void {
  const demand = demandOf(options)
  if (demand === null || Number(options[demand.field]) >= demand.least) return
  const { field, least, from, orElse } = demand
  const message = `${options[field]} is too small: it must be at least ${least} (${from}), or ${orElse}`
  context.addIssue({ code: 'custom', path: [field], message })
}

/** The layer that watches the leader, or null for `none`. */
export function detectorLayer(identity: Identity, options: DetectorOptions): Layer | null {
  const { detector } = options
  if (detector === 'none') return null
  return leaderWatch(identity, microsOf(options.heartbeatMs), estimatorOf(detector, options))
}

export function estimatorOf(detector: Kind, options: DetectorOptions): Estimator {
  const heartbeatEvery = microsOf(options.heartbeatMs)
  const { window } = options
  const longest = microsOf(options.longestSilenceMs)
  switch (detector) {
    case 'fixed':
      return fixedTimeout(microsOf(options.suspectAfterMs))
    case 'nfd-e':
      return capSilence(
        nfdE({ heartbeatEvery, window, alpha: microsOf(options.alphaMs) }) as Estimator,
        longest,
      )
    case 'bertier': {
      const marginFloor = microsOf(options.marginFloorMs)
      return capSilence(bertier({ heartbeatEvery, window, marginFloor }) as Estimator, longest)
    }
    case 'phi': {
      const sigmaFloor = microsOf(options.sigmaFloorMs)
      const settings = { threshold: options.phiThreshold, sigmaFloor, pause: microsOf(options.pauseMs) }
      return capSilence(phi({ heartbeatEvery, window, ...settings }) as Estimator, longest)
    }
    case 'reliable':
      return reliable(synchronousBounds(options))
    default:
      return detector satisfies never
  }
}

export function synchronousBounds(options: DetectorOptions): SynchronousBounds {
  return {
    heartbeatEvery: microsOf(options.heartbeatMs),
    maxDelay: microsOf(options.maxDelayMs),
    minDelay: microsOf(options.minDelayMs),
    step: microsOf(options.stepMs),
    drift: options.driftPpm / MILLION,
  }
}

/**
 * How long after the last disturbance every follower of a dead leader suspects it, and every follower of another
 * has heard from a living one: a heartbeat's period, its delay, and the longest silence that is borne.
 */
export function noticedWithin(options: DetectorOptions, maxDelay: Micros): Micros {
  if (options.detector === 'none') return 0
  return microsOf(options.heartbeatMs) + maxDelay + longestTrust(options)
}

function longestTrust(options: DetectorOptions): Micros {
  if (options.detector === 'fixed') return microsOf(options.suspectAfterMs)
  if (options.detector !== 'reliable') return microsOf(options.longestSilenceMs)
  const { first, detection } = reliableTimes(synchronousBounds(options))
  return Math.max(first, detection)
}

function upToMicros(ms: number): number {
  return Math.ceil(ms * 1000) / 1000
}
