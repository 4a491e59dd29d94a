/**
 * Finds misconfigured links: a peer that never answers, a peer that sends from another address than the configured one,
 * two processes with the same id, and links that work one way only. Each is reported once, and again if it goes away and
 * comes back.
 */
import type { Micros, NodeId } from '../../core/index.ts'
import type { HearingReport } from './abouts.ts'
import { type Address, showAddress } from './directory.ts'
import { listIds } from './explain.ts'

export type LinkWatchHooks = {
  /** `peer`: the node that it is about; null if it is about this process. */
  warn(what: 'peers' | 'conflict' | 'address' | 'link', detail: string, peer: NodeId | null): void
  /** The peers and their configured addresses; null where a name is not resolved yet. */
  peers(): readonly { readonly id: NodeId; readonly address: Address; readonly isResolved: boolean }[]
  heardAt(peer: NodeId): Micros | null
  /** Whom a peer hears, by its own report. */
  reportOf(peer: NodeId): HearingReport | null
}

/** A peer that was never heard is reported after this time: the other nodes may be starting, too. */
const PATIENCE: Micros = 5_000_000
/** A peer that was heard within this time is heard. */
const RECENT: Micros = 2_000_000
/** A peer that was not heard for this time is silent. */
const SILENT: Micros = 4_000_000
/** A peer that others hear is reported if it is still not heard here after this time. */
const ELSEWHERE: Micros = 2_000_000
/** An address is reported after this many datagrams: one may be a remnant of a move. */
const LEAST_SENT = 3
const MOST_REMEMBERED = 1000
/** A report of a peer that is older says nothing about now. */
const MAX_REPORT_MS = 7_000

type Elsewhere = { readonly at: string; count: number; lastAt: Micros }

export class LinkWatch {
  readonly #self: NodeId
  readonly #hooks: LinkWatchHooks
  readonly #startedAt: Micros
  readonly #reported = new Set<string>()
  /** The last address of each peer that is not the configured one. */
  readonly #elsewhere = new Map<NodeId, Elsewhere>()
  /** Since when datagrams of a peer do not name this process, and when the last one came. */
  readonly #outOfSession = new Map<NodeId, { readonly since: Micros; lastAt: Micros }>()
  /** The peers whose datagrams were dropped. */
  readonly #dropped = new Set<NodeId>()
  /** Where processes send from that were reported: as what they are, not once more for each of their datagrams. */
  readonly #reportedAt = new Set<string>()
  /** Since when other nodes hear a peer that is not heard here. */
  readonly #heardElsewhere = new Map<NodeId, Micros>()
  /** Since when a peer is heard without a break, and when it was last heard. */
  readonly #heard = new Map<NodeId, { readonly since: Micros; lastAt: Micros }>()
  /** When a peer was last heard from its configured address. */
  readonly #atHomeAt = new Map<NodeId, Micros>()

  constructor(self: NodeId, now: Micros, hooks: LinkWatchHooks) {
    this.#self = self
    this.#startedAt = now
    this.#hooks = hooks
  }

  /** A sealed datagram of a peer arrived. `configured`: its configured address, if it came from elsewhere. */
  noteSender(peer: NodeId, at: Address, configured: Address | null, now: Micros): void {
    if (configured === null) {
      this.#atHomeAt.set(peer, now)
      return
    }
    const where = showAddress(at)
    const known = this.#elsewhere.get(peer)
    const seen = known?.at === where ? known : { at: where, count: 0, lastAt: now }
    seen.count = now - seen.lastAt > RECENT ? 1 : seen.count + 1
    seen.lastAt = now
    this.#elsewhere.set(peer, seen)
    if (seen.count < LEAST_SENT) return
    this.#noteReported(where)
    const homeAt = this.#atHomeAt.get(peer) ?? null
    const home = showAddress(configured)
    if (homeAt !== null && now - homeAt < RECENT)
      this.#report(
        'conflict',
        `the processes at ${home} and ${where} both have the id ${JSON.stringify(peer)}: give each its own id`,
        peer,
      )
    else
      this.#report(
        'address',
        `${peer} sends from ${where}, but its configured address is ${home}: correct the address of ${peer} here, or its \`listen\``,
        peer,
      )
  }

  /** Whether datagrams of a peer came from another address than the configured one. */
  isElsewhere(peer: NodeId): boolean {
    return this.#elsewhere.has(peer)
  }

  /** Whether a report has explained why datagrams from there do not fit: they come from a second or a moved process. */
  explains(from: string): boolean {
    return this.#reportedAt.has(from)
  }

  #noteReported(where: string): void {
    if (this.#reportedAt.size < MOST_REMEMBERED) this.#reportedAt.add(where)
  }

  /** A process at another address has the id of this one. */
  noteOwnId(at: Address): void {
    this.#noteReported(showAddress(at))
    this.#report(
      'conflict',
      `the process at ${showAddress(at)} has the id of this process, ${JSON.stringify(this.#self)}: give each its own id`,
      null,
    )
  }

  /**
   * A datagram arrived that does not name the incarnation of this process: its sender has not heard this process yet. Soon
   * it does, unless the other direction is cut.
   */
  noteOutOfSession(peer: NodeId, now: Micros): void {
    const known = this.#outOfSession.get(peer)
    if (known === undefined || now - known.lastAt > RECENT)
      this.#outOfSession.set(peer, { since: now, lastAt: now })
    else known.lastAt = now
  }

  noteInSession(peer: NodeId): void {
    this.#outOfSession.delete(peer)
  }

  /** Datagrams from the address of a peer are dropped, which was reported. */
  noteDropped(peer: NodeId): void {
    this.#dropped.add(peer)
  }

  /** Called about twice a second. */
  tick(now: Micros): void {
    const isStarting = now - this.#startedAt < PATIENCE
    // How long each peer is heard without a break: 0 if it is not heard.
    const heardFor = new Map<NodeId, Micros>()
    for (const { id } of this.#hooks.peers()) {
      const heardAt = this.#hooks.heardAt(id)
      const isHeard = heardAt !== null && now - heardAt < RECENT
      heardFor.set(id, isHeard ? now - this.#heardSince(id, now) : 0)
      if (isHeard) this.#heardElsewhere.delete(id)
    }
    if (isStarting) return
    for (const { id, address, isResolved } of this.#hooks.peers()) {
      const heardAt = this.#hooks.heardAt(id)
      const isHeard = heardAt !== null && now - heardAt < RECENT
      const isAnswering = this.#elsewhere.has(id) || this.#dropped.has(id) || this.#outOfSession.has(id)
      if (heardAt === null && isResolved && !isAnswering) this.#reportSilence(id, address, now)
      // Its address is wrong, which was reported: what is sent to the configured one does not reach it.
      if (now - (this.#elsewhere.get(id)?.lastAt ?? Number.NEGATIVE_INFINITY) < RECENT) continue
      const stranger = this.#outOfSession.get(id)
      if (stranger !== undefined && now - stranger.lastAt < RECENT) {
        if (now - stranger.since >= SILENT) this.#reportUnheardBy(id)
      } else if (isHeard) this.#checkHeardBy(id, heardFor.get(id) ?? 0)
      else this.#checkHeardElsewhere(id, heardAt, now, heardFor)
    }
  }

  forget(peer: NodeId): void {
    this.#elsewhere.delete(peer)
    this.#dropped.delete(peer)
    this.#outOfSession.delete(peer)
    this.#heard.delete(peer)
    this.#heardElsewhere.delete(peer)
    this.#atHomeAt.delete(peer)
  }

  /** The peer is heard now. */
  #heardSince(peer: NodeId, now: Micros): Micros {
    const known = this.#heard.get(peer)
    if (known !== undefined && now - known.lastAt < RECENT) {
      known.lastAt = now
      return known.since
    }
    this.#heard.set(peer, { since: now, lastAt: now })
    return now
  }

  #reportSilence(id: NodeId, address: Address, now: Micros): void {
    if (this.#hearersOf(id, now - this.#startedAt).length > 0) return
    this.#report(
      'peers',
      `${id} has not answered at ${showAddress(address)} since this node started: check that it runs, its address, and that UDP gets through`,
      id,
      `silent ${id}`,
    )
  }

  /** This node hears the peer, for this long without a break. Does the peer hear this node? */
  #checkHeardBy(id: NodeId, heardFor: Micros): void {
    const key = `unheard by ${id}`
    const report = this.#hooks.reportOf(id)
    if (report === null || report.ageMs > MAX_REPORT_MS) return
    // After a pause of either node, the first report is about the time before. A peer that has just started has heard
    // no node yet, even if it was away for so short a time that it seems never to have been silent.
    if (Math.min(heardFor, report.sinceMs * 1000) - report.ageMs * 1000 < SILENT) return
    const own = report.hears[String(this.#self)]
    if (own === undefined) return
    if (own.heardMsAgo !== null && own.heardMsAgo * 1000 < SILENT) this.#reported.delete(key)
    else this.#reportUnheardBy(id)
  }

  #reportUnheardBy(id: NodeId): void {
    this.#report(
      'link',
      `${id} is heard here but does not hear this node: UDP from here to ${id} is lost; check the firewall, and the address of this node at ${id}`,
      id,
      `unheard by ${id}`,
    )
  }

  /** This node does not hear the peer. Do others? `heardFor`: for how long this node hears them without a break. */
  #checkHeardElsewhere(
    id: NodeId,
    heardAt: Micros | null,
    now: Micros,
    heardFor: ReadonlyMap<NodeId, Micros>,
  ): void {
    const key = `unheard ${id}`
    if (heardAt !== null && now - heardAt < SILENT) {
      this.#reported.delete(key)
      return
    }
    const hearers = this.#hearersOf(id, now - (heardAt ?? this.#startedAt))
    if (hearers.length === 0) {
      this.#heardElsewhere.delete(id)
      return
    }
    const since = this.#heardElsewhere.get(id) ?? now
    this.#heardElsewhere.set(id, since)
    // A node that starts is not heard by all at the same moment.
    if (now - since < ELSEWHERE) return
    // After a pause of either node, the first report may be about the time before.
    const current = hearers.filter((peer) => {
      const ageMs = this.#hooks.reportOf(peer)?.ageMs ?? Number.POSITIVE_INFINITY
      return (heardFor.get(peer) ?? 0) - ageMs * 1000 >= RECENT
    })
    if (current.length === 0) return
    this.#report(
      'link',
      `${id} is not heard here, but ${listIds(current)} ${current.length === 1 ? 'hears' : 'hear'} it: UDP from ${id} to here is lost; check the firewall, and the address of this node at ${id}`,
      id,
      key,
    )
  }

  /** The peers that have heard a node clearly later than this one, which has not heard it for `silence`. */
  #hearersOf(id: NodeId, silence: Micros): readonly NodeId[] {
    return this.#hooks.peers().flatMap((peer) => {
      const report = this.#hooks.reportOf(peer.id)
      if (peer.id === id || report === null || report.ageMs > MAX_REPORT_MS) return []
      const heardMsAgo = report.hears[String(id)]?.heardMsAgo ?? null
      // A node that died was last heard by all at about the same time.
      return heardMsAgo !== null && (heardMsAgo + report.ageMs) * 1000 < silence - RECENT ? [peer.id] : []
    })
  }

  #report(
    what: 'peers' | 'conflict' | 'address' | 'link',
    detail: string,
    peer: NodeId | null,
    key = detail,
  ): void {
    if (this.#reported.has(key) || this.#reported.size >= MOST_REMEMBERED) return
    this.#reported.add(key)
    this.#hooks.warn(what, detail, peer)
  }
}
