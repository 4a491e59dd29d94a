/**
 * Sends metrics and traces to an OpenTelemetry collector: OTLP over HTTP in its JSON encoding, which needs nothing but
 * `fetch`. The metrics are those of /metrics. Each term and each gap of the history is a span.
 */
import { createHash } from 'node:crypto'
import type { TermResponse } from '../client/index.ts'
import { type GroupMetrics, METRICS } from './metrics.ts'

const EXPORT_INTERVAL_MS = 15_000
const TIMEOUT_MS = 5000
/** A span is sent this long after its end: until then its cause may be refined. */
const SETTLE_MS = 10_000

export type ExportedGroup = {
  readonly measure: () => GroupMetrics
  readonly terms: () => readonly TermResponse[]
}

export type OtlpOptions = {
  /** URL of the collector, without /v1/metrics and /v1/traces. */
  readonly url: string
  readonly version: string
  readonly groups: readonly ExportedGroup[]
  /** Called when sending begins to fail. */
  readonly onFailure: (reason: string) => void
  readonly fetch?: typeof fetch
  readonly now?: () => number
}

type Attribute = {
  readonly key: string
  readonly value: { readonly stringValue: string } | { readonly intValue: string }
}

export class OtlpExporter {
  readonly #options: Required<OtlpOptions>
  readonly #startedAt: number
  /** By group: the number of the last entry that was sent. */
  readonly #sent = new Map<string, number>()
  #timer: NodeJS.Timeout | null = null
  #isFailing = false

  constructor(options: OtlpOptions) {
    this.#options = { fetch: globalThis.fetch, now: () => Date.now(), ...options }
    this.#startedAt = this.#options.now()
  }

  start(): void {
    this.#timer = setInterval(() => void this.export(), EXPORT_INTERVAL_MS)
    this.#timer.unref()
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
  }

  /** Sends the metrics of now, and the spans that have ended since the last time. Never rejects. */
  async export(): Promise<void> {
    const { groups } = this.#options
    const measured = groups.map(({ measure }) => measure())
    const spans = groups.flatMap(({ terms }, index) => this.#newSpans(measured[index], terms()))
    try {
      await this.#post('/v1/metrics', { resourceMetrics: [this.#metrics(measured)] })
      if (spans.length > 0) await this.#post('/v1/traces', { resourceSpans: [this.#spans(spans)] })
      for (const { group, number } of spans) this.#sent.set(group, number)
      this.#isFailing = false
    } catch (error) {
      // Spans that were not sent are sent the next time.
      if (!this.#isFailing) this.#options.onFailure(describeFailure(this.#options.url, error))
      this.#isFailing = true
    }
  }

  async #post(path: string, body: object): Promise<void> {
    const { url } = this.#options
    // As for OTEL_EXPORTER_OTLP_ENDPOINT, the path of the URL stays.
    const base = new URL(url).pathname.replace(/\/$/, '')
    const response = await this.#options.fetch(new URL(base + path, url), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    await response.body?.cancel()
    if (!response.ok) throw new Error(`HTTP status ${response.status} for ${path}`)
  }

  #resource(): object {
    return {
      attributes: attributesOf({ 'service.name': 'conclave', 'service.version': this.#options.version }),
    }
  }

  #scope(): object {
    return { name: 'conclave', version: this.#options.version }
  }

  #metrics(measured: readonly GroupMetrics[]): object {
    const timeUnixNano = toNanos(this.#options.now())
    const startTimeUnixNano = toNanos(this.#startedAt)
    const metrics = METRICS.flatMap(({ name, type, help, of }) => {
      const dataPoints = measured.flatMap(of).map(({ labels, value }) => ({
        attributes: attributesOf(labels),
        timeUnixNano,
        ...(type === 'counter' ? { startTimeUnixNano } : {}),
        asDouble: value,
      }))
      if (dataPoints.length === 0) return []
      const data =
        type === 'gauge'
          ? { gauge: { dataPoints } }
          : // Cumulative.
            { sum: { dataPoints, aggregationTemporality: 2, isMonotonic: true } }
      return [{ name, description: help, ...data }]
    })
    return { resource: this.#resource(), scopeMetrics: [{ scope: this.#scope(), metrics }] }
  }

  #newSpans(measured: GroupMetrics | undefined, terms: readonly TermResponse[]): readonly NewSpan[] {
    if (measured === undefined) return []
    const { group, id } = measured
    const settledBefore = this.#options.now() - SETTLE_MS
    const last = this.#sent.get(group) ?? 0
    return terms.flatMap((term) => {
      const { number, until } = term
      if (until === null || number <= last || Date.parse(until) > settledBefore) return []
      return [{ group, number, span: this.#spanOf(group, id, { ...term, until }) }]
    })
  }

  #spanOf(group: string, id: string, term: TermResponse & { readonly until: string }): object {
    const { leader, token, from, until, cause, ended, number } = term
    const why = cause ?? ended
    // The same term has the same trace on every node; each node that observed it adds a span.
    const traced = token === null ? `${id} ${from}` : `token ${token}`
    return {
      traceId: digest(`${group} ${leader === null ? `gap ${id} ${number}` : traced}`, 16),
      spanId: digest(`${group} ${id} ${this.#startedAt} ${number}`, 8),
      name: leader === null ? 'no leader' : 'term',
      // Internal.
      kind: 1,
      startTimeUnixNano: toNanos(Date.parse(from)),
      endTimeUnixNano: toNanos(Date.parse(until)),
      attributes: attributesOf({
        'conclave.group': group,
        'conclave.observer': id,
        ...(leader === null ? {} : { 'conclave.leader': String(leader) }),
        ...(token === null ? {} : { 'conclave.token': token }),
        ...(why === null ? {} : { 'conclave.cause': why.kind, 'conclave.cause.text': why.text }),
      }),
    }
  }

  #spans(spans: readonly NewSpan[]): object {
    return {
      resource: this.#resource(),
      scopeSpans: [{ scope: this.#scope(), spans: spans.map(({ span }) => span) }],
    }
  }
}

type NewSpan = { readonly group: string; readonly number: number; readonly span: object }

const attributesOf = (values: { readonly [key: string]: string | number }): readonly Attribute[] =>
  Object.entries(values).map(([key, value]) => ({
    key,
    value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value },
  }))

/** 64-bit integers are strings in JSON. */
const toNanos = (ms: number): string => `${Math.round(ms)}000000`

const digest = (text: string, bytes: number): string =>
  createHash('sha256')
    .update(text)
    .digest('hex')
    .slice(0, 2 * bytes)

function describeFailure(url: string, error: unknown): string {
  const { cause, message } = error as Error & { readonly cause?: Error }
  return `cannot send to ${url}: ${cause?.message || message}; trying again every ${EXPORT_INTERVAL_MS / 1000} s`
}
