/**
 * Observes an election in a store for operators: how late its timers are, how long accesses take, what is left of a lease
 * when it is renewed, and why it expired.
 */
import type { Micros, NodeId, Output, RegisterCall } from '../../../core/index.ts'
import type { StoreHosting } from '../../../protocols/index.ts'
import type { StoreElectionSettings } from '../../config/election-settings.ts'
import {
  GroupMonitor,
  type LateEpisode,
  NO_DETAILS,
  ProcessMeasures,
  type SlowEpisode,
} from '../../runtime/index.ts'
import type { EndOfTerm } from './group-observer.ts'
import type { Observed } from './observed.ts'
import { packageVersion } from './version.ts'

export type StoreObserverHooks = {
  now(): Micros
  warn(what: string, detail: string): void
  noted(late: LateEpisode | null, slow: SlowEpisode | null): void
}

const TICK_MS = 1000

export class StoreObserver {
  readonly #self: NodeId
  readonly #hooks: StoreObserverHooks
  readonly #measures: ProcessMeasures
  readonly #monitor: GroupMonitor
  readonly #timer: NodeJS.Timeout
  readonly #startedAt = new WeakMap<RegisterCall, Micros>()
  #isLeading = false
  #until: Micros | null = null
  #page: string | null = null
  #ended: (EndOfTerm & { readonly at: Micros }) | null = null

  constructor(
    { id, options, nodes }: StoreElectionSettings,
    hosting: StoreHosting,
    hooks: StoreObserverHooks,
  ) {
    this.#self = id
    this.#hooks = hooks
    this.#measures = new ProcessMeasures(hooks.now())
    const { assumptions } = hosting
    const { access } = hosting.timing(options)
    this.#monitor = new GroupMonitor({
      assumed: assumptions?.assumed(options, nodes) ?? {
        sigma: access,
        delta: access,
        names: { sigma: 'accessMs', delta: 'accessMs' },
      },
      remedy: (broken) => assumptions?.remedy(options, nodes, broken) ?? {},
      warn: hooks.warn,
      noted: hooks.noted,
    })
    this.#measures.add(this.#monitor)
    this.#timer = setInterval(() => this.#measures.tick(hooks.now()), TICK_MS)
    this.#timer.unref()
  }

  get renewedAt(): Micros | null {
    return this.#monitor.renewedAt
  }

  set page(url: string | null) {
    this.#page = url
  }

  noteLateness(by: Micros, now: Micros): void {
    this.#measures.noteLateness(by, now)
  }

  /** An access to the store begins. */
  noteCall(call: RegisterCall): void {
    this.#startedAt.set(call, this.#hooks.now())
  }

  noteAnswer(call: RegisterCall): void {
    const startedAt = this.#startedAt.get(call)
    if (startedAt === undefined) return
    const now = this.#hooks.now()
    this.#measures.noteDelay(null, now - startedAt, now)
  }

  noteLease(until: Micros | null, now: Micros): void {
    if (!this.#isLeading || until === null || until === this.#until) return
    this.#monitor.noteRenewal(this.#until === null ? null : this.#until - now, now)
    this.#until = until
  }

  noteEnd(end: EndOfTerm): void {
    this.#ended = { ...end, at: this.#hooks.now() }
  }

  /** Within a step: adds to the end of a term why the lease was not renewed. */
  explain(event: Output): Output {
    if (event.type === 'elected') this.#isLeading = true
    if (event.type !== 'demoted') return event
    const why = event['cause'] === 'expired' ? this.explainNow() : null
    this.#isLeading = false
    this.#until = null
    this.#monitor.noteEnd()
    return why === null ? event : { ...event, ...why }
  }

  explainNow() {
    if (!this.#isLeading) return null
    return this.#monitor.explainInStore(this.#hooks.now())
  }

  observed(members: readonly NodeId[]): Observed {
    const now = this.#hooks.now()
    const measured = this.#monitor.measured(this.#measures, now)
    const ended = this.#ended
    const lastTerm =
      ended === null ? null : { token: ended.token, cause: ended.cause, endedMsAgo: (now - ended.at) / 1000 }
    const own = { ...NO_DETAILS, version: packageVersion(), page: this.#page, measured, lastTerm }
    return {
      at: now,
      measured,
      timing: null,
      nodes: members.map((id) => [id, id === this.#self ? own : NO_DETAILS]),
    }
  }

  close(): void {
    clearInterval(this.#timer)
    this.#measures.close()
  }
}
