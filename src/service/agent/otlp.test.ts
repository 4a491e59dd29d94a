import { describe, expect, it } from 'vitest'
import type { TermResponse } from '../client/index.ts'
import type { GroupStatus } from '../node/index.ts'
import { NO_DETAILS, NOTHING_MEASURED } from '../runtime/index.ts'
import { METRICS } from './metrics.ts'
import { OtlpExporter } from './otlp.ts'

const STATUS: GroupStatus = {
  role: 'leader',
  leader: { id: 'a', token: 12 },
  members: null,
  mode: 'majority',
  leaseMs: 83,
  voters: [['a', 'b']],
  nodes: ['a', 'b'].map((id) => ({ id, reachable: true, evidenceMsAgo: 0, heardMsAgo: 0, ...NO_DETAILS })),
  evidenceForMs: 100,
  idle: null,
  membership: null,
  primary: null,
  datagrams: { sent: 5, received: 4, dropped: 1 },
  timing: null,
  measured: NOTHING_MEASURED,
  warnings: [],
}
const CAUSE = { kind: 'late', node: 'a', text: 'a was late by 93 ms (σ is 30 ms)' } as const
const at = (seconds: number): string => new Date(seconds * 1000).toISOString()
const TERMS: readonly TermResponse[] = [
  { number: 1, leader: 'a', token: 12, from: at(1), until: at(5), cause: null, ended: CAUSE },
  { number: 2, leader: null, token: null, from: at(5), until: at(6), cause: CAUSE, ended: null },
  { number: 3, leader: 'b', token: 13, from: at(6), until: null, cause: null, ended: null },
]

type Sent = { readonly path: string; readonly body: Record<string, readonly Record<string, unknown>[]> }

function lab(collector = 'http://127.0.0.1:4318') {
  const sent: Sent[] = []
  const failures: string[] = []
  const state = { now: 30_000, status: 200, error: null as Error | null }
  const exporter = new OtlpExporter({
    url: collector,
    version: '1.2.3',
    groups: [
      {
        measure: () => ({
          group: 'g',
          id: 'a',
          status: STATUS,
          terms: 3,
          views: 0,
          warnings: 0,
          levelChanges: new Map(),
          alarm: false,
          failureTolerance: 0,
        }),
        terms: () => TERMS,
      },
    ],
    onFailure: (reason) => failures.push(reason),
    now: () => state.now,
    fetch: async (url, init) => {
      if (state.error !== null) throw state.error
      const body = JSON.parse(init?.body as string) as Sent['body']
      sent.push({ path: (url as URL).pathname, body })
      return new Response(null, { status: state.status })
    },
  })
  return { exporter, sent, failures, state }
}

const paths = (sent: readonly Sent[]): readonly string[] => sent.map(({ path }) => path)
const inside = (value: unknown, ...keys: readonly (string | number)[]): unknown =>
  keys.reduce<unknown>((around, key) => (around as Record<string | number, unknown>)[key], value)

describe('the export to an OpenTelemetry collector', () => {
  it('sends the metrics of /metrics: gauges, and counters as cumulative sums', async () => {
    const { exporter, sent } = lab()
    await exporter.export()
    const metrics = inside(sent[0]?.body, 'resourceMetrics', 0, 'scopeMetrics', 0, 'metrics') as readonly {
      readonly name: string
      readonly sum?: object
      readonly gauge?: object
    }[]
    const names = METRICS.map(({ name }) => name)
    expect(metrics.map(({ name }) => name).filter((name) => !names.includes(name))).toEqual([])
    const point = {
      attributes: [
        { key: 'group', value: { stringValue: 'g' } },
        { key: 'id', value: { stringValue: 'a' } },
      ],
      timeUnixNano: '30000000000',
    }
    expect(metrics.find(({ name }) => name === 'conclave_token')).toMatchObject({
      gauge: { dataPoints: [{ ...point, asDouble: 12 }] },
    })
    expect(metrics.find(({ name }) => name === 'conclave_terms_total')).toMatchObject({
      sum: {
        aggregationTemporality: 2,
        isMonotonic: true,
        dataPoints: [{ ...point, startTimeUnixNano: '30000000000', asDouble: 3 }],
      },
    })
    expect(inside(sent[0]?.body, 'resourceMetrics', 0, 'resource', 'attributes')).toEqual([
      { key: 'service.name', value: { stringValue: 'conclave' } },
      { key: 'service.version', value: { stringValue: '1.2.3' } },
    ])
  })

  it('sends each term and each gap once, as a span with its cause, after it has settled', async () => {
    const { exporter, sent, state } = lab()
    state.now = 15_500
    await exporter.export()
    state.now = 30_000
    await exporter.export()
    await exporter.export()
    expect(paths(sent)).toEqual(['/v1/metrics', '/v1/traces', '/v1/metrics', '/v1/traces', '/v1/metrics'])
    const spans = sent.flatMap(({ body }) =>
      body['resourceSpans'] === undefined
        ? []
        : (inside(body, 'resourceSpans', 0, 'scopeSpans', 0, 'spans') as readonly Record<string, unknown>[]),
    )
    expect(
      spans.map(({ name, startTimeUnixNano, endTimeUnixNano }) => [name, startTimeUnixNano, endTimeUnixNano]),
    ).toEqual([
      ['term', '1000000000', '5000000000'],
      ['no leader', '5000000000', '6000000000'],
    ])
    expect(spans.map(({ traceId, spanId }) => [String(traceId).length, String(spanId).length])).toEqual([
      [32, 16],
      [32, 16],
    ])
    expect(spans[0]?.['attributes']).toContainEqual({ key: 'conclave.token', value: { intValue: '12' } })
    expect(spans[1]?.['attributes']).toContainEqual({
      key: 'conclave.cause.text',
      value: { stringValue: 'a was late by 93 ms (σ is 30 ms)' },
    })
  })

  it('keeps the path of the collector', async () => {
    const { exporter, sent } = lab('http://127.0.0.1:4318/team/otlp/')
    await exporter.export()
    expect(paths(sent)).toEqual(['/team/otlp/v1/metrics', '/team/otlp/v1/traces'])
  })

  it('reports a failure once, and sends the same spans when the collector is back', async () => {
    const { exporter, sent, failures, state } = lab()
    state.error = new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED 127.0.0.1:4318') })
    await exporter.export()
    await exporter.export()
    state.error = null
    state.status = 503
    await exporter.export()
    state.status = 200
    await exporter.export()
    expect(failures).toEqual([
      'cannot send to http://127.0.0.1:4318: connect ECONNREFUSED 127.0.0.1:4318; trying again every 15 s',
    ])
    expect(paths(sent)).toEqual(['/v1/metrics', '/v1/metrics', '/v1/traces'])
  })
})
