/** A group of five nodes with a past, for the fake agent. */
import type {
  HistoryResponse,
  Measured,
  ObservedNodeResponse,
  StatusResponse,
} from '../../src/service/client/index.ts'

const IDS = ['n1', 'n2', 'n3', 'n4', 'n5']

export const measured = (p99: number): Measured => ({
  windowMs: 300_000,
  latenessMs: { p50: 0.4, p99, max: p99 * 2.1 },
  sigmaMs: 30,
  delayMs: { p50: 0.3, p99: 2.1, max: 4.8 },
  deltaMs: 20,
  renewalMarginMs: { min: 61, p50: 74 },
})

function node(id: string, index: number): ObservedNodeResponse {
  const others = IDS.filter((other) => other !== id)
  return {
    id,
    voter: true,
    leader: id === 'n2',
    reachable: true,
    evidenceMsAgo: 12,
    heardMsAgo: id === 'n1' ? 0 : 8 + 3 * index,
    address: `127.0.0.1:${7400 + index}`,
    resolvedAddress: `127.0.0.1:${7400 + index}`,
    role: 'voter',
    priority: index === 0 ? 10 : 0,
    version: '0.1.0',
    page: `http://127.0.0.1:${7480 + index}/`,
    canStore: true,
    rttMs: id === 'n1' ? null : 0.3 + 0.2 * index,
    hears: Object.fromEntries(
      others.map((other, place) => [other, { heardMsAgo: 10, rttMs: 0.4 + 0.1 * place }]),
    ),
    measured: measured(3 + index),
  }
}

export function exampleStatus(change: Partial<StatusResponse> = {}): StatusResponse {
  return {
    version: '0.1.0',
    group: 'billing',
    leader: { id: 'n2', token: 7, expiresInMs: 81.4 },
    self: { id: 'n1', role: 'follower' },
    leaderSince: { msAgo: 192_000 },
    banner:
      'healthy: n2 leads billing with token 7; all 5 voters are reachable; the group can survive 2 failures',
    level: 'healthy',
    mode: 'majority',
    voters: IDS,
    failureTolerance: 2,
    evidenceTtlMs: 100,
    leaderlessMs: null,
    lease: { lengthMs: 120, marginMs: 58 },
    measured: measured(4),
    warnings: [],
    nodes: IDS.map(node),
    at: new Date().toISOString(),
    ...change,
  }
}

export function exampleHistory(nowMs = Date.now()): HistoryResponse {
  const at = (secondsAgo: number): string => new Date(nowMs - secondsAgo * 1000).toISOString()
  const crashed = { kind: 'crashed', node: 'n1', text: 'n1 crashed: its process ended' } as const
  const late = { kind: 'late', node: 'n3', text: 'n3 was late by 93 ms (σ is 30 ms)' } as const
  const samples = Array.from({ length: 110 }, (_, index) => ({
    at: at(550 - 5 * index),
    rttMs: 0.6 + 0.3 * Math.sin(index / 7) + (index % 23 === 0 ? 0.9 : 0),
    latenessMs: 3 + 1.5 * Math.cos(index / 5) + (index % 31 === 0 ? 14 : 0),
    delayMs: 0.8,
    renewalMarginMs: index < 50 ? null : 66 + 6 * Math.sin(index / 9),
    failoverMs: index === 34 ? 214 : index === 72 ? 181 : null,
  }))
  return {
    group: 'billing',
    self: { id: 'n1', role: 'follower' },
    at: at(0),
    terms: [
      { number: 1, leader: 'n1', token: 5, from: at(560), until: at(380), cause: null, ended: crashed },
      {
        number: 2,
        leader: null,
        token: null,
        from: at(380),
        until: at(379.786),
        cause: crashed,
        ended: null,
      },
      { number: 3, leader: 'n3', token: 6, from: at(379.786), until: at(192.181), cause: null, ended: late },
      { number: 4, leader: null, token: null, from: at(192.181), until: at(192), cause: late, ended: null },
      { number: 5, leader: 'n2', token: 7, from: at(192), until: null, cause: null, ended: null },
    ],
    samples,
  }
}
