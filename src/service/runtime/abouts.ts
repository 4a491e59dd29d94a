/**
 * Exchanges `About` datagrams with all peers: every five seconds, and soon after a change. A node that sends a peer nothing
 * else sends them every second, so that the peer does not take its silence for a broken link: an observer, and a node that
 * waits after a restart until the locks that it may have granted are over. An `About` is not part of a session. A replayed one is recognized by the incarnation and
 * the number in it.
 */
import { canonical, type Message, type Micros, type NodeId } from '../../core/index.ts'
import {
  ABOUT,
  type About,
  type AboutGroup,
  clipPage,
  encodeGroup,
  groupIn,
  MOST_ABOUT_BYTES,
  MOST_HEARD,
  type OwnGroup,
  parseAbout,
  spreadOut,
} from './about.ts'
import { groupDigest } from './codec.ts'
import type { Hearing } from './measured.ts'
import type { ProcessMeasures } from './process-measures.ts'
import { WINDOW_MS } from './rolling-histogram.ts'
import type { DropReason } from './udp.ts'

const INTERVAL: Micros = 5_000_000
const SOON: Micros = 1_000_000
/** A peer to which nothing was sent for this time hears nothing else. */
const QUIET: Micros = 2_000_000
/** More frequent reports of a peer are ignored. */
const MIN_INTERVAL: Micros = 100_000
/** A process that was stopped finds the reports of the time in between at once, and needs the last one. */
const MOST_AT_ONCE = 100
/** The shortest time between two reports: a peer that receives them in a burst refuses none. */
const SPACING: Micros = 2 * MIN_INTERVAL
/** How long ago another node may have been late to be the cause of an expired lease. */
const RECENT_MS = 2_000

export type AboutHooks = {
  now(): Micros
  send(to: NodeId, body: Message): void
  peers(): readonly NodeId[]
  incarnation(): number
  /** Null before a session with it began. */
  incarnationOf(peer: NodeId): number | null
  heardAt(peer: NodeId): Micros | null
  /** A fresh report of a peer arrived. */
  noteHeard(peer: NodeId, now: Micros): void
  /** When a datagram of a session was last sent to a peer; null if none was. */
  sentAt(peer: NodeId): Micros | null
}

/** Names this run of the process, and the version of Conclave. */
export type ProcessName = { readonly run: string; readonly version: string | null }

/** `since`: when the first report of this incarnation arrived. `room`: how many more are accepted at this moment. */
type Received = { readonly about: About; readonly at: Micros; readonly since: Micros; readonly room: number }

/** Whom a peer hears: how old its last report is, and the first of this run of its process. */
export type HearingReport = {
  readonly hears: { readonly [id: string]: Hearing }
  readonly ageMs: number
  readonly sinceMs: number
}

/** What a peer reported about a group. */
export type PeerReport = {
  readonly group: OwnGroup | null
  readonly run: string | null
  readonly version: string | null
  readonly page: string | null
  readonly hears: { readonly [id: string]: Hearing } | null
}

export class Abouts {
  readonly #name: ProcessName
  readonly #measures: ProcessMeasures
  readonly #hooks: AboutHooks
  readonly #groups = new Map<string, (now: Micros) => OwnGroup>()
  readonly #received = new Map<NodeId, Received>()
  #page: string | null = null
  #number = 0
  #sentAt: Micros = Number.NEGATIVE_INFINITY
  #isDirty = false
  /** Whether this process observes a group. */
  #isObserver = false
  #delayed: NodeJS.Timeout | null = null
  /** Where the next datagram begins, if not all groups fit into one. */
  #first = 0

  constructor(name: ProcessName, measures: ProcessMeasures, hooks: AboutHooks) {
    this.#name = name
    this.#measures = measures
    this.#hooks = hooks
  }

  /** `read` describes the group now. */
  addGroup(name: string, read: (now: Micros) => OwnGroup): void {
    this.#groups.set(name, read)
    this.#isDirty = true
  }

  deleteGroup(name: string): void {
    this.#groups.delete(name)
  }

  set page(url: string | null) {
    this.#page = clipPage(url)
    this.#isDirty = true
  }

  get page(): string | null {
    return this.#page
  }

  get run(): string {
    return this.#name.run
  }

  get version(): string | null {
    return this.#name.version
  }

  /** Something changed: report it soon. */
  noteChange(): void {
    this.#isDirty = true
  }

  forget(peer: NodeId): void {
    this.#received.delete(peer)
  }

  /** Called about twice a second. */
  tick(now: Micros): void {
    const isSoon = this.#isDirty || this.#isObserver || this.#isQuiet(now)
    if (now - this.#sentAt >= (isSoon ? SOON : INTERVAL)) this.send(now)
  }

  #isQuiet(now: Micros): boolean {
    return this.#hooks.peers().some((peer) => now - (this.#hooks.sentAt(peer) ?? 0) >= QUIET)
  }

  /** Reports a change that peers wait for: at once, or as soon as they accept another report. */
  announce(now: Micros): void {
    const left = this.#sentAt + SPACING - now
    if (left <= 0) this.send(now)
    else this.#delayed ??= setTimeout(() => this.send(this.#hooks.now()), Math.ceil(left / 1000)).unref()
  }

  close(): void {
    if (this.#delayed !== null) clearTimeout(this.#delayed)
    this.#delayed = null
  }

  send(now: Micros): void {
    this.close()
    if (this.#groups.size === 0) return
    const peers = this.#hooks.peers()
    this.#sentAt = now
    this.#isDirty = false
    if (peers.length === 0) return
    const body = this.#compose(peers, now)
    for (const peer of peers) this.#hooks.send(peer, body)
  }

  receive(from: NodeId, message: Message, now: Micros): DropReason | null {
    const about = parseAbout(message)
    if (typeof about === 'string') return 'unreadable'
    const incarnation = this.#hooks.incarnationOf(from)
    if (incarnation === null) return null
    const last = this.#received.get(from)
    if (about.by !== incarnation) return 'earlier incarnation'
    if (last !== undefined && last.about.by === about.by && about.number <= last.about.number)
      return 'heard before'
    const room =
      last === undefined ? MOST_AT_ONCE : Math.min(MOST_AT_ONCE, last.room + (now - last.at) / MIN_INTERVAL)
    if (room < 1) return 'too many'
    const since = last?.about.by === about.by ? last.since : now
    this.#received.set(from, { about, at: now, since, room: room - 1 })
    this.#hooks.noteHeard(from, now)
    return null
  }

  /** What a peer reported last; null if it reported nothing. */
  reportOf(peer: NodeId, group: string, now: Micros): PeerReport | null {
    const last = this.#received.get(peer)
    if (last === undefined) return null
    const { about, at } = last
    const agoMs = Math.round((now - at) / 1000)
    const hears = about.hears?.map(([id, heard, rttMs]): [string, Hearing] => [
      String(id),
      { heardMsAgo: heard === null ? null : heard + agoMs, rttMs },
    ])
    return {
      group: groupIn(about, groupDigest(group), agoMs),
      run: about.run,
      version: about.version,
      page: about.page,
      hears: hears === undefined ? null : Object.fromEntries(hears),
    }
  }

  /** Whom a peer hears, as it last reported. */
  hearingOf(peer: NodeId, now: Micros): HearingReport | null {
    const last = this.#received.get(peer)
    if (last === undefined || last.about.hears === null) return null
    const hears = last.about.hears.map(([id, heardMsAgo, rttMs]): [string, Hearing] => [
      String(id),
      { heardMsAgo, rttMs },
    ])
    return {
      hears: Object.fromEntries(hears),
      ageMs: (now - last.at) / 1000,
      sinceMs: (now - last.since) / 1000,
    }
  }

  /** Whom this process hears. */
  hearing(now: Micros): { readonly [id: string]: Hearing } {
    return Object.fromEntries(
      this.#hooks
        .peers()
        .map((id) => [String(id), this.#measures.hearingOf(id, this.#hooks.heardAt(id), now)]),
    )
  }

  /** Of these nodes, which one was later than assumed just now, by its own report. */
  latePeer(among: readonly NodeId[], now: Micros): { readonly id: NodeId; readonly by: Micros } | null {
    let worst: { readonly id: NodeId; readonly by: Micros } | null = null
    for (const id of among) {
      const last = this.#received.get(id)
      if (last === undefined || last.about.late === null) continue
      const [byMs, agoMs] = last.about.late
      if (agoMs + (now - last.at) / 1000 > RECENT_MS) continue
      if (worst === null || byMs * 1000 > worst.by) worst = { id, by: byMs * 1000 }
    }
    return worst
  }

  #compose(peers: readonly NodeId[], now: Micros): About {
    const { run, version } = this.#name
    const { lastLate, lateness, delays } = this.#measures
    this.#number += 1
    const hears =
      peers.length > MOST_HEARD
        ? null
        : peers.map((id): [NodeId, number | null, number | null] => {
            const { heardMsAgo, rttMs } = this.#measures.hearingOf(id, this.#hooks.heardAt(id), now)
            return [id, heardMsAgo, rttMs]
          })
    const base: About = {
      kind: ABOUT,
      by: this.#hooks.incarnation(),
      number: this.#number,
      run,
      version,
      page: this.#page,
      windowMs: WINDOW_MS,
      lateness: spreadOut(lateness.spread(now)),
      delay: spreadOut(delays.spread(now)),
      late:
        lastLate === null ? null : [Math.round(lastLate.by / 1000), Math.round((now - lastLate.at) / 1000)],
      hears,
      groups: [],
    }
    const fits = sizeOf(base) <= MOST_ABOUT_BYTES / 2 ? base : { ...base, hears: null }
    return { ...fits, groups: this.#groupsWithin(MOST_ABOUT_BYTES - sizeOf(fits), now) }
  }

  /** As many groups as fit; the next datagram begins with the others. */
  #groupsWithin(room: number, now: Micros): AboutGroup[] {
    const names = [...this.#groups.keys()]
    const chosen: AboutGroup[] = []
    let left = room
    for (let each = 0; each < names.length; each++) {
      const name = names[(this.#first + each) % names.length] as string
      const read = this.#groups.get(name)
      if (read === undefined) continue
      const own = read(now)
      if (own.role === 'observer') this.#isObserver = true
      const entry = encodeGroup(groupDigest(name), own)
      left -= sizeOf(entry) + 1
      if (left < 0) {
        this.#first = (this.#first + each) % names.length
        return chosen
      }
      chosen.push(entry)
    }
    this.#first = 0
    return chosen
  }
}

function sizeOf(value: unknown): number {
  return Buffer.byteLength(canonical(value as Message))
}
