/** Everything that an endpoint observes for operators and that no election uses. */
import type { Message, Micros, NodeId } from '../../core/index.ts'
import { Abouts, type ProcessName } from './abouts.ts'
import type { Address, Directory, Entry } from './directory.ts'
import { LinkWatch } from './link-watch.ts'
import { ProcessMeasures } from './process-measures.ts'
import type { DroppedDatagrams } from './refusal-log.ts'
import { WallClockWatch } from './wall-clock-watch.ts'

export type ObserverSettings = {
  readonly self: NodeId
  readonly name: ProcessName
  readonly directory: Directory
  now(): Micros
  send(to: NodeId, body: Message): void
  warn(what: string, detail: string, peer: NodeId | null): void
  /** The incarnation of this process, and of a peer; null before a session with it began. */
  incarnation(): number
  incarnationOf(peer: NodeId): number | null
}

export class EndpointObserver {
  /** When the last datagram came from each peer. */
  readonly heard = new Map<NodeId, Micros>()
  /** When the last datagram of a session was sent to each peer. */
  readonly #sent = new Map<NodeId, Micros>()
  readonly measures: ProcessMeasures
  readonly abouts: Abouts
  readonly #settings: ObserverSettings
  readonly #links: LinkWatch
  readonly #wallClock: WallClockWatch
  /** How long the host was suspended since the last report. */
  #slept: Micros = 0
  #lastHeard = ''
  #tickedAt: Micros = Number.NEGATIVE_INFINITY

  constructor(settings: ObserverSettings) {
    const { self, name, directory, send, warn, incarnation, incarnationOf } = settings
    const now = settings.now()
    this.#settings = settings
    this.measures = new ProcessMeasures(now)
    const heardAt = (peer: NodeId): Micros | null => this.heard.get(peer) ?? null
    this.abouts = new Abouts(name, this.measures, {
      now: () => settings.now(),
      send,
      peers: () => directory.named().map(({ id }) => id),
      incarnation,
      incarnationOf,
      heardAt,
      noteHeard: (peer, at) => void this.heard.set(peer, at),
      sentAt: (peer) => this.#sent.get(peer) ?? null,
    })
    this.#wallClock = new WallClockWatch(now)
    this.#links = new LinkWatch(self, now, {
      warn,
      peers: () => directory.named(),
      heardAt,
      reportOf: (peer) => this.abouts.hearingOf(peer, settings.now()),
    })
  }

  noteSleep(by: Micros): void {
    this.#slept += by
  }

  /** A sealed datagram of a peer, from this address. */
  noteSender({ id, address, found }: Entry, at: Address): void {
    const isAtHome = address.port === at.port && found.includes(at.host)
    if (id === null || (isAtHome && !this.#links.isElsewhere(id))) return
    this.#links.noteSender(id, at, isAtHome ? null : address, this.#settings.now())
  }

  /** A datagram of a peer arrived: for this incarnation of this process, or not. */
  noteDatagram(peer: NodeId, isInSession: boolean, now: Micros): void {
    if (!isInSession) this.#links.noteOutOfSession(peer, now)
    else {
      this.heard.set(peer, now)
      this.#links.noteInSession(peer)
    }
  }

  /** A datagram of a session is sent to a peer. */
  noteSent(peer: NodeId): void {
    this.#sent.set(peer, this.#settings.now())
  }

  /** Datagrams of a peer were dropped, and that is reported. */
  noteDropped(peer: NodeId): void {
    this.#links.noteDropped(peer)
  }

  /** Whether another warning has said why such datagrams are dropped. */
  isExplained({ reason, from }: DroppedDatagrams): boolean {
    return EXPLAINED.has(reason) && this.#links.explains(from)
  }

  /** A sealed datagram with the id of this process. */
  noteOwnId(at: Address): void {
    this.#links.noteOwnId(at)
  }

  /** May be called more often than once a second, which is enough. */
  tick(): void {
    const now = this.#settings.now()
    if (now - this.#tickedAt < TICK_INTERVAL) return
    this.#tickedAt = now
    this.measures.tick(now)
    this.#noteSilence(now)
    this.abouts.tick(now)
    this.#links.tick(now)
    const problem = this.#wallClock.check(now, this.#slept)
    this.#slept = 0
    if (problem !== null) this.#settings.warn('clock', problem, null)
  }

  forget(peer: NodeId): void {
    this.heard.delete(peer)
    this.#sent.delete(peer)
    this.measures.forget(peer)
    this.abouts.forget(peer)
    this.#links.forget(peer)
  }

  close(): void {
    this.abouts.close()
    this.measures.close()
  }

  /** Other nodes learn soon which peers are heard here. */
  #noteSilence(now: Micros): void {
    const heard = [...this.heard].flatMap(([id, at]) => (now - at < SILENT ? [id] : [])).join(' ')
    if (heard !== this.#lastHeard) this.abouts.noteChange()
    this.#lastHeard = heard
  }
}

/** A little less than two calls, which are half a second apart. */
const TICK_INTERVAL: Micros = 900_000
/** Long enough that a peer which follows a leader quietly is not silent. */
const SILENT: Micros = 4_000_000
/** Why datagrams of a second process with an id, and of a peer at another address, are dropped. */
const EXPLAINED = new Set(['heard before', 'earlier incarnation', 'unknown sender'])
