import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  checkDetector,
  type DetectorOptions,
  detectorLayer,
  detectorOptions,
  estimatorOf,
  noticedWithin,
} from './options.ts'

const schema = z.object(detectorOptions()).superRefine(checkDetector)
const given = (options: object): DetectorOptions => schema.parse(options)
const problem = (options: object): readonly [string, string] | null => {
  const [issue] = schema.safeParse(options).error?.issues ?? []
  return issue === undefined ? null : [issue.path.join('.'), issue.message]
}

describe('options that contradict each other', () => {
  it.each([
    [
      { detector: 'fixed', heartbeatMs: 50, suspectAfterMs: 49 },
      'suspectAfterMs',
      '49 is too small: it must be at least 50 (heartbeatMs), or every pause between heartbeats is a failure',
    ],
    [
      { detector: 'nfd-e', longestSilenceMs: 199 },
      'longestSilenceMs',
      '199 is too small: it must be at least 200 (heartbeatMs + alphaMs, 50 + 150), or it cuts off every estimate',
    ],
    [
      { detector: 'bertier', longestSilenceMs: 74 },
      'longestSilenceMs',
      '74 is too small: it must be at least 75 (heartbeatMs + marginFloorMs, 50 + 25), or it cuts off every estimate',
    ],
    [
      { detector: 'phi', phiThreshold: 8, longestSilenceMs: 190 },
      'longestSilenceMs',
      '190 is too small: it must be at least 190.301 (heartbeatMs + pauseMs + 5.612001 sigmaFloorMs, 50 + 0 + 5.612001 * 25), or it cuts off every estimate',
    ],
    [
      { detector: 'reliable', minDelayMs: 101 },
      'maxDelayMs',
      '100 is too small: it must be at least 101 (minDelayMs), or no message could ever arrive',
    ],
  ])('are refused: %j', (options, field, message) => {
    expect(problem(options)).toEqual([field, message])
  })

  it.each([
    [{ detector: 'none', longestSilenceMs: 1 }],
    [{ detector: 'fixed', heartbeatMs: 50, suspectAfterMs: 50, longestSilenceMs: 1 }],
    [{ detector: 'nfd-e', longestSilenceMs: 200 }],
    [{ detector: 'bertier', longestSilenceMs: 75 }],
    [{ detector: 'phi', phiThreshold: 8, longestSilenceMs: 191 }],
    [{ detector: 'reliable', minDelayMs: 100 }],
  ])('are accepted at the bound: %j', (options) => {
    expect(problem(options)).toBeNull()
  })
})

describe('the detector of the options', () => {
  it('is no layer for none', () => {
    expect(detectorLayer({ self: 1, nodes: [1, 2] }, given({ detector: 'none' }))).toBeNull()
    expect(detectorLayer({ self: 1, nodes: [1, 2] }, given({}))?.name).toBe('detector')
  })

  it.each([
    ['fixed', 100_000 + 200_000],
    ['nfd-e', 100_000 + 50_000 + 150_000],
    ['bertier', 100_000 + 50_000 + 25_000],
    ['phi', 100_000 + 50_000 + 140_300],
    ['reliable', 100_000 + 152_021],
  ] as const)('%s trusts after its first heartbeat until then', (detector, until) => {
    const estimator = estimatorOf(detector, given({ detector }))
    const first = estimator.begin(null, 0)
    expect(estimator.arrival(first.estimate, 0, 100_000).trustedUntil).toBe(until)
  })

  it.each(['nfd-e', 'bertier', 'phi'] as const)('%s never trusts a silent peer for longer', (detector) => {
    const estimator = estimatorOf(detector, given({ detector, longestSilenceMs: 300 }))
    expect(estimator.begin(null, 1000).trustedUntil).toBe(301_000)
  })

  it.each([
    ['none', 0],
    ['fixed', 50_000 + 9000 + 200_000],
    ['nfd-e', 50_000 + 9000 + 500_000],
    ['reliable', 50_000 + 9000 + 253_037],
  ] as const)('%s notices a failure within a bound', (detector, bound) => {
    expect(noticedWithin(given({ detector }), 9000)).toBe(bound)
  })
})
