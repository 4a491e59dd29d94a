/** Links with a consistent history as options of a protocol. */
import { z } from 'zod'
import { type Identity, type Layer, type Micros, microsOf, millisecondsOr } from '../../core/index.ts'
import { detectorOptions, estimatorOf } from '../detectors/options.ts'
import { consistentHistory } from './consistent-history.ts'

export function historyOptions() {
  return {
    pingMs: millisecondsOr(200, 'time between pings of an end'),
    timeoutMs: millisecondsOr(500, 'silence after which a link is down, regardless of the estimate'),
    detector: z
      .enum(['fixed', 'nfd-e', 'bertier', 'phi'])
      .default('nfd-e')
      .describe('who says that a link has been silent for too long (see docs/explanation/detectors.md)'),
    alphaMs: millisecondsOr(230, 'nfd-e: how long after its expected arrival a ping is waited for'),
    retransmitMs: millisecondsOr(40, 'time until a frame that is not acknowledged is sent again'),
    slack: z
      .int()
      .min(1)
      .max(8)
      .default(2)
      .describe('how many transitions an end may lead; with 1 an end may stay up through an outage'),
  }
}

const schema = z.object(historyOptions())
export type HistoryOptions = z.infer<typeof schema>

const detectors = z.object(detectorOptions())

/** For `superRefine`: a timeout must bear at least one ping that is lost. */
export function checkHistory(
  { pingMs, timeoutMs, detector, alphaMs }: HistoryOptions,
  context: z.RefinementCtx,
): void {
  const least = detector === 'nfd-e' ? pingMs + alphaMs : 2 * pingMs
  if (timeoutMs >= least) return
  const why = detector === 'nfd-e' ? `pingMs + alphaMs, ${pingMs} + ${alphaMs}` : `2 pingMs, 2 * ${pingMs}`
  context.addIssue({
    code: 'custom',
    path: ['timeoutMs'],
    message: `${timeoutMs} is too small: it must be at least ${least} (${why}), or ordinary pauses take links down`,
  })
}

export function historyLayer(identity: Identity, options: HistoryOptions): Layer {
  const { detector, pingMs, timeoutMs, alphaMs, retransmitMs, slack } = options
  const estimator = estimatorOf(
    detector,
    detectors.parse({
      detector,
      heartbeatMs: pingMs,
      suspectAfterMs: timeoutMs,
      longestSilenceMs: timeoutMs,
      alphaMs,
    }),
  )
  const timing = {
    pingEvery: microsOf(pingMs),
    timeout: microsOf(timeoutMs),
    retransmitAfter: microsOf(retransmitMs),
    slack,
  }
  return consistentHistory(identity, timing, estimator)
}

/** How long after the last disturbance every link is up or down at both ends, as the network is. */
export function historySettlesWithin({ pingMs, timeoutMs }: HistoryOptions, maxDelay: Micros): Micros {
  return microsOf(2 * timeoutMs + 4 * pingMs) + 8 * maxDelay
}
