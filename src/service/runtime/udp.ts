/**
 * Sealed datagrams between processes.
 *
 * The id inside identifies the sender and the receiver; only holders of the key can write it.
 * What cannot be opened or read, or is for somebody else, is counted and dropped. The cheap questions come first: how
 * long it is, how it is sealed and with which key; only then is anything computed. A datagram from an address that is
 * no peer's may be a peer's all the same, behind a router; but only so many of those are looked into, so that a flood
 * does not take the time that heartbeats need, unless a peer was heard from there of late. (Between two bunches of 32 datagrams Node lets timers have their turn.)
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
import { ANYBODY } from './introductions.ts'
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

/** Why a datagram was dropped: counted by these words. */
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
 * What the system is asked to hold for this process while it is busy; it may give less. More would not help against a
 * flood: what waits too long is worth nothing.
 */
const RECEIVE_BUFFER = 1024 * 1024

/** The rate limit for datagrams from unknown addresses: how many are opened per interval. */
const STRANGERS = 200
const STRANGERS_PER_MS = 100

/** After a restart, peers that do not know of it yet send some for the incarnation before: those are not worth a word. */
const RESTART_TOLERANCE = 100

export class Udp {
  readonly family: 4 | 6 | 'both'
  readonly #settings: UdpSettings
  readonly #hooks: UdpHooks
  readonly #socket: Socket
  readonly #refusals: RefusalLog
  readonly #known = new KnownAddresses()
  #strangers = { since: 0, count: 0 }
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
    // What cannot be sent is lost, like any datagram.
    socket.on('error', () => {})
  }

  static async open(settings: UdpSettings, hooks: UdpHooks): Promise<Udp> {
    const { host: name, port } = settings.listen
    const host = isIP(name) === 0 ? ((await (settings.lookup ?? lookupAll)(name))[0] ?? name) : name
    const socket = createSocket({
      type: isIP(host) === 6 ? 'udp6' : 'udp4',
      // Addresses are resolved elsewhere: what is sent to is always a number.
      lookup: (address, _options, done) => done(null, address, isIP(address)),
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
          // What the system gives by itself must do.
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

  /** Something that was read, and that its sender cannot mean: counted with the rest, and told with the sender's name. */
  refuse(reason: DropReason, from: NodeId, detail: string): void {
    this.#refusals.add(
      reason,
      () => `node ${from}`,
      () => detail,
      { key: `${reason} ${from}` },
    )
  }

  /** What was sent before still goes out: the last word of a leader is that it hands over. */
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
    if (!isPeer && this.#isFlood() && !this.#isKnown(remote)) {
      this.#drop('too many', remote, () => 'from addresses that are no peer’s')
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
    const who = (): string => `from ${from} to ${to === ANYBODY ? 'anybody' : to}`
    if (to !== self && to !== ANYBODY) {
      this.#drop('another receiver', remote, who)
      return
    }
    if (foreign > 0) {
      this.#drop('another group', remote, who)
      // Nothing in it is for this process, so whoever sent it is not the peer that it has a session with, though it may
      // have that peer's id: a group of the same names, or an address mixed up.
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

  /** Whether one more stranger is one too many. */
  #isFlood(): boolean {
    const now = performance.now()
    const recent = this.#strangers
    if (now - recent.since >= STRANGERS_PER_MS) this.#strangers = { since: now, count: 1 }
    else recent.count += 1
    return this.#strangers.count > STRANGERS
  }

  #drop(reason: DropReason, { address, port }: RemoteInfo, detail: () => string): void {
    this.#known.delete(address, port)
    const tolerated = reason === 'earlier incarnation' ? RESTART_TOLERANCE : 0
    this.#refusals.add(reason, () => showAddress({ host: address, port }), detail, { tolerated })
  }
}

/** Whether no message is left of what came in a session. */
function isEmpty({ body }: Message): boolean {
  return (body as unknown as Bundle | null)?.parts.length === 0
}
