/** A status for the tests of the view. */
import { parseStatus } from '../data/parse.ts'
import type { Status } from '../data/types.ts'

export function statusWith(change: object = {}): Status {
  const node = (id: string, more: object = {}): object => ({
    id,
    voter: true,
    leader: id === 'a',
    reachable: true,
    heardMsAgo: 10,
    evidenceMsAgo: 10,
    rttMs: 0.5,
    hears: {
      a: { heardMsAgo: 5, rttMs: 0.4 },
      b: { heardMsAgo: 6, rttMs: 0.5 },
      c: { heardMsAgo: 7, rttMs: 12 },
    },
    ...more,
  })
  const status = parseStatus({
    version: '1.0.0',
    group: 'g',
    leader: { id: 'a', token: 3, expiresInMs: 60 },
    self: { id: 'b', role: 'follower' },
    leaderSince: { msAgo: 5000 },
    banner: 'healthy: a leads g with token 3; all 3 voters are reachable; the group can survive 1 failure',
    level: 'healthy',
    mode: 'majority',
    voters: ['a', 'b', 'c'],
    failureTolerance: 1,
    evidenceTtlMs: 100,
    leaderlessMs: null,
    lease: { lengthMs: 100, marginMs: 40 },
    measured: null,
    warnings: [],
    nodes: [node('a'), node('b'), node('c')],
    at: '2030-01-02T03:04:05.678Z',
    ...change,
  })
  if (status === null) throw new Error('the fixture is not a status')
  return status
}

export const measured = {
  windowMs: 60_000,
  latenessMs: { p50: 1, p99: 4, max: 9 },
  sigmaMs: 30,
  delayMs: null,
  deltaMs: 20,
  renewalMarginMs: { min: 35, p50: 50 },
}
