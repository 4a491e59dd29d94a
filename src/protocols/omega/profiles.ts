/**
 * The timing of the links of Omega+, derived from the assumptions about network and hosts: messages arrive within δ, and
 * processes act at most σ late (the same values as in the profiles of local-leader). Only the ping interval is a choice,
 * because it sets the cost. The other values follow from it. Values that a user sets must satisfy the same bounds.
 *
 * A ping is sent up to σ late, takes up to δ, and is read up to σ late: its jitter is at most J = δ + 2σ.
 *
 *   alphaMs ≥ pingMs + J: the link stays up if one ping is lost and the next has the maximum jitter.
 *   timeoutMs ≥ pingMs + alphaMs + J: the detector suspects a peer before the timeout does.
 *   retransmitMs ≥ 2δ + 2σ: the acknowledgement can arrive before the frame is sent again.
 */
import type { HistoryOptions } from '../../links/index.ts'
import type { NetworkProfile, Problem } from '../hosting.ts'
import { PROFILES } from '../local-leader/profiles.ts'

type Times = Pick<HistoryOptions, 'pingMs' | 'timeoutMs' | 'alphaMs' | 'retransmitMs'>
type ProfileName = NetworkProfile

/** Each link carries two pings per period. The value for `lan` keeps every window of one second below ten datagrams. */
const PING_MS: { readonly [name in ProfileName]: number } = { lan: 205, region: 300, wan: 1000 }

/** The maximum jitter of a ping. */
export function jitterMs(profile: ProfileName): number {
  const { deltaMs, sigmaMs } = PROFILES[profile]
  return deltaMs + 2 * sigmaMs
}

/** The given times, and derived values for the others. */
export function profileOptions(profile: ProfileName, given: Partial<Times> = {}): Times {
  const { deltaMs, sigmaMs } = PROFILES[profile]
  const jitter = jitterMs(profile)
  const { pingMs = PING_MS[profile] } = given
  const { alphaMs = pingMs + jitter } = given
  const { timeoutMs = Math.ceil((pingMs + alphaMs + jitter) / 100) * 100 } = given
  // One σ more, because the receiver persists before it acknowledges.
  const { retransmitMs = 2 * deltaMs + 3 * sigmaMs } = given
  return { pingMs, alphaMs, timeoutMs, retransmitMs }
}

/** The first time that is too short for the network of the profile; null when all are long enough. */
export function brokenBound(
  profile: ProfileName,
  { pingMs, alphaMs, timeoutMs, retransmitMs, detector }: Times & Pick<HistoryOptions, 'detector'>,
): { readonly field: keyof Times; readonly problem: string } | null {
  const { deltaMs, sigmaMs } = PROFILES[profile]
  const jitter = jitterMs(profile)
  const assumed = `profile ${profile}: δ = ${deltaMs}, σ = ${sigmaMs}`
  const bounds: readonly (readonly [keyof Times, number, number, string, string])[] = [
    ...(detector === 'nfd-e'
      ? ([
          ['alphaMs', alphaMs, pingMs + jitter, 'pingMs + δ + 2σ', 'a single lost ping takes a link down'],
          [
            'timeoutMs',
            timeoutMs,
            pingMs + alphaMs + jitter,
            'pingMs + alphaMs + δ + 2σ',
            'links go down before the detector suspects a peer',
          ],
        ] as const)
      : ([
          [
            'timeoutMs',
            timeoutMs,
            2 * pingMs + jitter,
            '2 pingMs + δ + 2σ',
            'a single lost ping takes a link down',
          ],
        ] as const)),
    [
      'retransmitMs',
      retransmitMs,
      2 * (deltaMs + sigmaMs),
      '2δ + 2σ',
      'frames that have arrived are sent again',
    ],
  ]
  const broken = bounds.find(([, value, least]) => value < least)
  if (broken === undefined) return null
  const [field, value, least, from, orElse] = broken
  return {
    field,
    problem: `${value} is too small: it must be at least ${least} (${from}; ${assumed}), or ${orElse}`,
  }
}

/** The result of `brokenBound` as problems of the options. */
export function findBrokenTimes(
  profile: ProfileName,
  times: Parameters<typeof brokenBound>[1],
): readonly Problem[] {
  const broken = brokenBound(profile, times)
  return broken === null ? [] : [{ field: `options.${broken.field}`, message: broken.problem }]
}
