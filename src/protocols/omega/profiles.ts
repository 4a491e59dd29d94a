/**
 * The times of the links of Omega+, from what is assumed of the network and the hosts: messages take no longer than δ,
 * processes act no later than σ (the same numbers as those of local-leader's profiles). Only how often to ping is chosen:
 * that is what it costs. Everything else follows, and whatever is given instead must keep to the same bounds.
 *
 * A ping is sent up to σ late, takes up to δ, and is read up to σ late: it strays by up to J = δ + 2σ.
 *
 *   alphaMs ≥ pingMs + J: a ping may be lost, and the next be as late as any, before the link goes down.
 *   timeoutMs ≥ pingMs + alphaMs + J: the detector has its say before the longest silence that is borne is over.
 *   retransmitMs ≥ 2δ + 2σ: an acknowledgement has had its time before the frame is sent again.
 */
import type { HistoryOptions } from '../../links/index.ts'
import type { Problem } from '../hosting.ts'
import { PROFILES } from '../local-leader/options.ts'

type Times = Pick<HistoryOptions, 'pingMs' | 'timeoutMs' | 'alphaMs' | 'retransmitMs'>
type ProfileName = keyof typeof PROFILES

/** Two a period go over each link. On a LAN fewer than ten a second, wherever one begins to count. */
const PING_MS: { readonly [name in ProfileName]: number } = { lan: 205, region: 300, wan: 1000 }

/** By how much a ping may stray. */
export function jitterMs(profile: ProfileName): number {
  const { deltaMs, sigmaMs } = PROFILES[profile]
  return deltaMs + 2 * sigmaMs
}

/** What follows for the times that are not given. */
export function profileOptions(profile: ProfileName, given: Partial<Times> = {}): Times {
  const { deltaMs, sigmaMs } = PROFILES[profile]
  const jitter = jitterMs(profile)
  const { pingMs = PING_MS[profile] } = given
  const { alphaMs = pingMs + jitter } = given
  const { timeoutMs = Math.ceil((pingMs + alphaMs + jitter) / 100) * 100 } = given
  // One σ more: what is acknowledged was made safe first.
  const { retransmitMs = 2 * deltaMs + 3 * sigmaMs } = given
  return { pingMs, alphaMs, timeoutMs, retransmitMs }
}

/** The first time that is too short for such a network; null when none is. */
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
          [
            'alphaMs',
            alphaMs,
            pingMs + jitter,
            'pingMs + δ + 2σ',
            'a single ping that is lost takes a link down',
          ],
          [
            'timeoutMs',
            timeoutMs,
            pingMs + alphaMs + jitter,
            'pingMs + alphaMs + δ + 2σ',
            'links go down before the detector says so',
          ],
        ] as const)
      : ([
          [
            'timeoutMs',
            timeoutMs,
            2 * pingMs + jitter,
            '2 pingMs + δ + 2σ',
            'a single ping that is lost takes a link down',
          ],
        ] as const)),
    [
      'retransmitMs',
      retransmitMs,
      2 * (deltaMs + sigmaMs),
      '2δ + 2σ',
      'frames are sent again that have long arrived',
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

/** The same as a problem of the options. */
export function brokenTimes(
  profile: ProfileName,
  times: Parameters<typeof brokenBound>[1],
): readonly Problem[] {
  const broken = brokenBound(profile, times)
  return broken === null ? [] : [{ field: `options.${broken.field}`, message: broken.problem }]
}
