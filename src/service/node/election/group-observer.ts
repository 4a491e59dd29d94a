/**
 * Observes one group of an endpoint for operators: renewals, broken assumptions, why a lease expired, and what its nodes
 * tell each other. The election does not depend on any of it.
 */
import { type Micros, msOf, type NodeId, type Output, type PlainObject } from '../../../core/index.ts'
import { type Assumed, type GroupSpec, type LeaseInsight, peerHosting } from '../../../protocols/index.ts'
import {
  type Cause,
  type Endpoint,
  type Explanation,
  GroupMonitor,
  type LateEpisode,
  NO_DETAILS,
  type NodeDetails,
  type NodeRole,
  type OwnGroup,
  type SlowEpisode,
  silenceOf,
} from '../../runtime/index.ts'
import type { Observed } from './observed.ts'

export type ObserverHooks = {
  spec(): GroupSpec
  /** Whether this node can store its votes. */
  canStore(): boolean
  warn(what: string, detail: string): void
  /** An assumption was broken just now. */
  noted?(late: LateEpisode | null, slow: SlowEpisode | null): void
}

export type EndOfTerm = { readonly token: number | null; readonly cause: Cause }

/** A protocol that says nothing about its assumptions. */
const NOTHING_ASSUMED = {
  sigma: Number.POSITIVE_INFINITY,
  delta: Number.POSITIVE_INFINITY,
  names: { sigma: 'σ', delta: 'δ' },
}

/** Leases that tune themselves assume more the longer they are. */
export const OF_THIS_LEASE = { sigma: 'σ of this lease', delta: 'δ of this lease' }

export class GroupObserver {
  readonly #group: string
  readonly #endpoint: Endpoint
  readonly #hooks: ObserverHooks
  readonly #monitor: GroupMonitor
  #until: Micros | null = null
  #isLeading = false
  /** Of leases that tune themselves; null where the timing is fixed. */
  #timing: LeaseInsight | null = null
  /** At the longest lease. */
  #assumed: Assumed
  #priority: number | null
  #ended: (EndOfTerm & { readonly at: Micros }) | null = null

  constructor(group: string, endpoint: Endpoint, hooks: ObserverHooks) {
    this.#group = group
    this.#endpoint = endpoint
    this.#hooks = hooks
    const { protocol, options, nodes } = hooks.spec()
    const { assumptions } = peerHosting(protocol)
    const assumed = (): Assumed => this.#assumed
    this.#priority = priorityIn(options, endpoint.self)
    this.#assumed = assumptions?.assumed(options, nodes) ?? NOTHING_ASSUMED
    this.#monitor = new GroupMonitor({
      get assumed() {
        return assumed()
      },
      present: () => (this.#timing === null ? null : { ...this.#timing.assumed, names: OF_THIS_LEASE }),
      remedy: (broken) => assumptions?.remedy(this.#optionsInForce(), hooks.spec().nodes, broken) ?? {},
      noRemedy: assumptions?.noRemedy,
      warn: (what, detail) => hooks.warn(what, detail),
      noted: (late, slow) => {
        if (late !== null) endpoint.abouts.noteChange()
        hooks.noted?.(late, slow)
      },
    })
    endpoint.measures.add(this.#monitor)
    endpoint.abouts.addGroup(group, (now) => this.#own(now))
  }

  close(): void {
    this.#endpoint.measures.delete(this.#monitor)
    this.#endpoint.abouts.deleteGroup(this.#group)
  }

  set priority(priority: number) {
    this.#priority = priority
    this.#endpoint.abouts.noteChange()
  }

  /** Within a step: adds to the end of a term why the lease was not renewed. */
  explain(event: Output): Output {
    if (event.type === 'elected') this.#isLeading = true
    if (event.type === 'level' || event.type === 'elected') queueMicrotask(() => this.noteTiming())
    if (event.type !== 'demoted') return event
    const explained = event['cause'] === 'expired' ? { ...event, ...this.#explainExpiry() } : event
    this.#isLeading = false
    this.#until = null
    this.#monitor.noteEnd()
    return explained
  }

  /** The lease of this node now ends at `until`. */
  noteLease(until: Micros | null, now: Micros): void {
    if (!this.#isLeading || until === null || until === this.#until) return
    this.#monitor.noteRenewal(this.#until === null ? null : this.#until - now, now)
    this.#until = until
  }

  get isLeading(): boolean {
    return this.#isLeading
  }

  get renewedAt(): Micros | null {
    return this.#monitor.renewedAt
  }

  /** How the last term ended, as the node has reported it. Other nodes learn it at once. */
  noteEnd(end: EndOfTerm): void {
    const now = this.#endpoint.now()
    this.#ended = { ...end, at: now }
    this.#endpoint.abouts.announce(now)
  }

  observed(): Observed {
    const endpoint = this.#endpoint
    const now = endpoint.now()
    const { nodes } = this.#hooks.spec()
    this.noteTiming()
    return {
      at: now,
      timing: this.#timing,
      measured: this.#monitor.measured(endpoint.measures, now),
      nodes: nodes.map((id) => [id, id === endpoint.self ? this.#ownDetails(now) : this.#detailsOf(id, now)]),
    }
  }

  /** The level or the bounds of leases may have changed. */
  noteTiming(): void {
    if (!this.#endpoint.has(this.#group)) return
    const before = this.#timing?.bounds
    this.#timing = this.#endpoint.leaseInsight(this.#group)
    const [shortest, longest] = this.#timing?.bounds ?? []
    if (shortest === before?.[0] && longest === before?.[1]) return
    const { protocol, nodes } = this.#hooks.spec()
    const assumed = peerHosting(protocol).assumptions?.assumed(this.#optionsInForce(), nodes)
    this.#assumed = assumed ?? NOTHING_ASSUMED
  }

  /** With the bounds of leases that a command has set. */
  #optionsInForce(): PlainObject {
    const { options } = this.#hooks.spec()
    if (this.#timing === null) return options
    const [shortest, longest] = this.#timing.bounds
    return { ...options, leaseMinMs: msOf(shortest), leaseMaxMs: msOf(longest) }
  }

  #ownDetails(now: Micros): NodeDetails {
    const { role, priority, canStore, measured, last } = this.#own(now)
    const { run, version, page } = this.#endpoint.abouts
    const hears = this.#endpoint.abouts.hearing(now)
    const reported = { role, priority, run, version, page, canStore, hears, measured, lastTerm: last }
    return { ...NO_DETAILS, ...reported }
  }

  #detailsOf(id: NodeId, now: Micros): NodeDetails {
    const report = this.#endpoint.abouts.reportOf(id, this.#group, now)
    return {
      address: this.#endpoint.addressOf(id),
      resolvedAddress: this.#endpoint.resolvedAddressOf(id),
      role: report?.group?.role ?? this.#roleOf(id),
      priority: report?.group?.priority ?? null,
      run: report?.run ?? null,
      version: report?.version ?? null,
      page: report?.page ?? null,
      canStore: report?.group?.canStore ?? null,
      rttMs: this.#endpoint.measures.rttTo(id),
      hears: report?.hears ?? null,
      measured: report?.group?.measured ?? null,
      lastTerm: report?.group?.last ?? null,
    }
  }

  /** What this node tells the others. */
  #own(now: Micros): OwnGroup {
    const ended = this.#ended
    return {
      role: this.#roleOf(this.#endpoint.self),
      priority: this.#priority,
      canStore: this.#hooks.canStore(),
      measured: this.#monitor.measured(this.#endpoint.measures, now),
      last:
        ended === null
          ? null
          : { token: ended.token, cause: ended.cause, endedMsAgo: (now - ended.at) / 1000 },
    }
  }

  #roleOf(id: NodeId): NodeRole {
    const { options } = this.#hooks.spec()
    if (isListed(options['witnesses'], id)) return 'witness'
    const voters = this.#endpoint.votersOf(this.#group)
    return voters.length > 0 && !voters.some((set) => set.includes(id)) ? 'observer' : 'voter'
  }

  /** Why a lease that ends now was not renewed. */
  explainNow(): Explanation | null {
    return this.#isLeading ? this.#explainExpiry() : null
  }

  #explainExpiry(): Explanation {
    const endpoint = this.#endpoint
    const now = endpoint.now()
    const { sigma, delta } = this.#monitor.assumed
    const voters = endpoint.votersOf(this.#group)
    // The answers that renewed the lease last do not count.
    const since = (this.#monitor.renewedAt ?? now) + sigma + 2 * delta
    const silence = silenceOf(voters, endpoint.self, (id) => endpoint.heard.get(id) ?? null, since, now)
    return this.#monitor.explain({ now, ...silence, latePeer: endpoint.abouts.latePeer(voters.flat(), now) })
  }
}

function priorityIn(options: PlainObject, id: NodeId): number | null {
  const { priorities = null } = options
  if (priorities === null || typeof priorities !== 'object' || Array.isArray(priorities)) return null
  return ((priorities as PlainObject)[String(id)] as number | undefined) ?? null
}

function isListed(list: unknown, id: NodeId): boolean {
  return Array.isArray(list) && list.includes(id)
}
