/**
 * Sealed datagrams between processes.
 *
 * The ids inside a datagram identify the sender and the receiver; only holders of the key can write them. Datagrams
 * that cannot be opened or decoded, or that are for another process, are counted and dropped. Cheap checks come first
 * (length, format, key), before any cryptography. A datagram from an unknown address may come from a peer behind a
 * router. A rate limit applies to these, unless a peer was heard from that address lately, so that a flood does not
 * take the time that heartbeats need. (Node lets timers run after every 32 datagrams.)
 */
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { isIP } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import type { Message, NodeId } from '../../core/index.ts'
import type { Bundle } from '../../links/index.ts'
import { InvalidBytesError } from './bytes.ts'
import type { Codec } from './codec.ts'
import { type Address, type Lookup, lookupAll, showAddress } from './directory.ts'
import { FaultyNetwork } from './fault-injection.ts'
import { ANY_NODE } from './introductions.ts'
import { KnownAddresses } from './known-addresses.ts'
import { type DroppedDatagrams, RefusalLog } from './refusal-log.ts'
import type { Refusal, Sealer } from './seal.ts'

export type UdpSettings = {
  readonly self: NodeId
  readonly listen: Address
  readonly sealer: Sealer
  readonly codec: Codec
  readonly lookup?: Lookup
}

/** Why a datagram was dropped: the labels of the counters. */
export type DropReason =
  | Refusal
  | 'too many'
  | 'unreadable'
  | 'another receiver'
  | 'another group'
  | 'unknown sender'
  | 'heard before'
  | 'earlier incarnation'
  | 'too large'
  | 'implausible'
  | 'unusable'

export type UdpHooks = {
  /** Whether a peer is known to be at that address. */
  isPeer(host: string, port: number): boolean
  message(from: NodeId, to: NodeId, body: Message, at: Address): DropReason | null
  dropped(refused: DroppedDatagrams): void
}

/**
 * The requested size of the receive buffer, for datagrams that arrive while the process is busy. The system may grant
 * less. A larger buffer would not help against a flood, because old datagrams are useless.
 */
const RECEIVE_BUFFER = 1024 * 1024

/** The rate limit for datagrams from unknown addresses: how many are opened per interval. */
const MAX_UNKNOWN = 200
const UNKNOWN_INTERVAL_MS = 100

/**
 * Restart tolerance: peers that do not know of a restart yet send some datagrams for the previous incarnation, which
 * need no report.
 */
const RESTART_TOLERANCE = 100
/** Networks duplicate datagrams now and then. */
const DUPLICATE_TOLERANCE = 20

const TOLERATED: { readonly [reason in DropReason]?: number } = {
  'earlier incarnation': RESTART_TOLERANCE,
  'heard before': DUPLICATE_TOLERANCE,
}

export class Udp {
  readonly family: 4 | 6 | 'both'
  readonly #settings: UdpSettings
  readonly #hooks: UdpHooks
  readonly #socket: Socket
  readonly #refusals: RefusalLog
  readonly #known = new KnownAddresses()
  #unknown = { since: 0, count: 0 }
  /** Without faults by default. */
  readonly network = new FaultyNetwork()
  readonly #counts = { sent: 0, received: 0, bytesSent: 0 }

  private constructor(settings: UdpSettings, hooks: UdpHooks, socket: Socket, host: string) {
    this.#settings = settings
    this.#hooks = hooks
    this.#socket = socket
    this.family = isIP(host) === 4 ? 4 : host === '::' ? 'both' : 6
    this.#refusals = new RefusalLog((refused) => hooks.dropped(refused))
    socket.on('message', (bytes, remote) => this.#receive(bytes, remote))
    // A datagram that cannot be sent counts as lost.
    socket.on('error', () => {})
  }

  static async open(settings: UdpSettings, hooks: UdpHooks): Promise<Udp> {
    const { host: name, port } = settings.listen
    const host = isIP(name) === 0 ? ((await (settings.lookup ?? lookupAll)(name))[0] ?? name) : name
    const family = isIP(host) === 6 ? 6 : 4
    const socket = createSocket({
      type: `udp${family}`,
      // Addresses are resolved elsewhere: the host is always an IP address here.
      lookup: (address, _options, done) => done(null, address, family),
    })
    return new Promise((resolve, reject) => {
      socket.once('error', (error) => {
        socket.close()
        reject(error)
      })
      socket.bind(port, host, () => {
        socket.removeAllListeners('error')
        try {
          socket.setRecvBufferSize(RECEIVE_BUFFER)
        } catch {
          // Use the default size of the system.
        }
        resolve(new Udp(settings, hooks, socket, host))
      })
    })
  }

  get port(): number {
    return this.#socket.address().port
  }

  get counts() {
    return { ...this.#counts, dropped: this.#refusals.total }
  }

  send(to: NodeId, address: Address, body: Message): void {
    const { sealer, codec, self } = this.#settings
    let sealed: Buffer
    try {
      sealed = sealer.seal(codec.encode({ from: self, to, body }))
    } catch (error) {
      if (!(error instanceof InvalidBytesError)) throw error
      this.#refusals.add(
        'too large',
        () => showAddress(address),
        () => `to ${to}: ${error.message}`,
      )
      return
    }
    this.#counts.sent += 1
    this.#counts.bytesSent += sealed.length
    this.#socket.send(sealed, address.port, address.host)
  }

  /** Counts and reports a decoded message that cannot be meant, with the id of its sender. */
  refuse(reason: DropReason, from: NodeId, detail: string): void {
    this.#refusals.add(
      reason,
      () => `node ${from}`,
      () => detail,
      { key: `${reason} ${from}` },
    )
  }

  /** Sends everything that is queued first: the last message of a leader is its hand-over. */
  async close(): Promise<void> {
    this.#refusals.close()
    this.network.close()
    while (this.#socket.getSendQueueCount() > 0) {
      // oxlint-disable-next-line no-await-in-loop -- until the system has taken all
      await setImmediate()
    }
    await new Promise<void>((resolve) => this.#socket.close(() => resolve()))
  }

  #receive(bytes: Buffer, remote: RemoteInfo): void {
    this.#counts.received += 1
    const { sealer, codec, self } = this.#settings
    const flaw = sealer.flaw(bytes)
    if (flaw !== null) {
      this.#drop(flaw, remote, () => `${bytes.length} bytes`)
      return
    }
    const isPeer = this.#hooks.isPeer(remote.address, remote.port)
    if (!isPeer && this.#isRateLimited() && !this.#isKnown(remote)) {
      this.#drop('too many', remote, () => 'from unknown addresses')
      return
    }
    const opened = sealer.open(bytes)
    if (typeof opened === 'string') {
      this.#drop(opened, remote, () => `${bytes.length} bytes`)
      return
    }
    const envelope = codec.decode(opened)
    if (envelope instanceof InvalidBytesError) {
      this.#drop('unreadable', remote, () => envelope.message)
      return
    }
    const { from, to, body, foreign } = envelope
    const who = (): string => `from ${from} to ${to === ANY_NODE ? 'any node' : to}`
    if (to !== self && to !== ANY_NODE) {
      this.#drop('another receiver', remote, who)
      return
    }
    if (foreign > 0) {
      this.#drop('another group', remote, who)
      // No part of it is for this process. So the sender is not the peer of the session, even if it has the same id: it
      // may be a group with the same names, or a wrong address.
      if (isEmpty(body)) return
    }
    this.network.pass(from, () => {
      const reason = this.#hooks.message(from, to, body, { host: remote.address, port: remote.port })
      if (reason !== null) this.#drop(reason, remote, who)
      else if (!isPeer && to === self) this.#known.add(remote.address, remote.port, performance.now())
    })
  }

  #isKnown({ address, port }: RemoteInfo): boolean {
    return this.#known.has(address, port, performance.now())
  }

  /** Whether the rate limit for unknown addresses is reached. */
  #isRateLimited(): boolean {
    const now = performance.now()
    const recent = this.#unknown
    if (now - recent.since >= UNKNOWN_INTERVAL_MS) this.#unknown = { since: now, count: 1 }
    else recent.count += 1
    return this.#unknown.count > MAX_UNKNOWN
  }

  #drop(reason: DropReason, { address, port }: RemoteInfo, detail: () => string): void {
    this.#known.delete(address, port)
    const tolerated = TOLERATED[reason] ?? 0
    const from = (): string => showAddress({ host: address, port })
    // Each peer is reported by itself: neither another peer nor a flood hides what is wrong with it.
    const key = this.#hooks.isPeer(address, port) ? `${reason} ${from()}` : reason
    this.#refusals.add(reason, from, detail, { key, tolerated })
  }
}

/** Whether the datagram of a session contains no message. */
function isEmpty({ body }: Message): boolean {
  return (body as unknown as Bundle | null)?.parts.length === 0
}
