/**
 * Sealed datagrams between the processes of a group.
 *
 * Whoever sends is known by the name inside, which only holders of the key can write; the address is only where to
 * send to. What cannot be opened or read is counted and dropped, and said once a while for each reason, not a million
 * times.
 */
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { hashPlain, type Message, type NodeId } from '../core/index.ts'
import { BadBytes } from './bytes.ts'
import { decode, encode } from './codec.ts'
import { FaultyNetwork } from './faults.ts'
import type { Sealer } from './seal.ts'

export type Address = { readonly host: string; readonly port: number }

export type UdpSettings = {
  readonly group: string
  readonly self: NodeId
  readonly listen: Address
  readonly peers: readonly { readonly id: NodeId; readonly address: Address }[]
  readonly sealer: Sealer
}

/** Why a datagram was dropped: counted by these words. */
export type DropReason =
  | 'too short'
  | 'unknown format'
  | 'unknown key'
  | 'not authentic'
  | 'unreadable'
  | 'another group'
  | 'unknown sender'

export type UdpHooks = {
  message(from: NodeId, body: Message): void
  /** For whoever keeps the log; at most once in ten seconds for each reason, with how many there were. */
  dropped(reason: DropReason, count: number, from: Address, detail: string): void
}

/** A reason for dropping is said again after this long at the earliest. */
const SAY_AGAIN_MS = 10_000

export class Udp {
  readonly #settings: UdpSettings
  readonly #hooks: UdpHooks
  readonly #socket: Socket
  readonly #group: number
  readonly #addresses: Map<NodeId, Address>
  readonly #dropped = new Map<DropReason, { unsaid: number; saidAt: number }>()
  readonly counts = { sent: 0, received: 0, dropped: 0 }
  /** Datagrams that Node still holds, and what to do when there are none. */
  #leaving = 0
  #onLeft: () => void = () => {}
  /** Faultless unless told otherwise. */
  readonly network = new FaultyNetwork()

  private constructor(settings: UdpSettings, hooks: UdpHooks, socket: Socket) {
    this.#settings = settings
    this.#hooks = hooks
    this.#socket = socket
    this.#group = hashPlain(settings.group)
    this.#addresses = new Map(settings.peers.map(({ id, address }) => [id, address]))
    socket.on('message', (bytes, remote) => this.#receive(bytes, remote))
    // What cannot be sent is lost, like any datagram.
    socket.on('error', () => {})
  }

  static open(settings: UdpSettings, hooks: UdpHooks): Promise<Udp> {
    const socket = createSocket({ type: settings.listen.host.includes(':') ? 'udp6' : 'udp4' })
    return new Promise((resolve, reject) => {
      socket.once('error', reject)
      socket.bind(settings.listen.port, settings.listen.host, () => {
        socket.off('error', reject)
        resolve(new Udp(settings, hooks, socket))
      })
    })
  }

  get port(): number {
    return this.#socket.address().port
  }

  /** Where a peer is; replaces what was known. */
  reach(id: NodeId, address: Address): void {
    this.#addresses.set(id, address)
  }

  send(to: NodeId, body: Message): void {
    const address = this.#addresses.get(to)
    if (address === undefined) return
    const bytes = this.#settings.sealer.seal(encode({ group: this.#group, from: this.#settings.self, body }))
    this.counts.sent += 1
    this.#leaving += 1
    this.#socket.send(bytes, address.port, address.host, () => {
      this.#leaving -= 1
      if (this.#leaving === 0) this.#onLeft()
    })
  }

  /** What was sent before still goes out: the last word of a leader is that it hands over. */
  async close(): Promise<void> {
    this.network.close()
    if (this.#leaving > 0) {
      await new Promise<void>((resolve) => {
        this.#onLeft = resolve
      })
    }
    await new Promise<void>((resolve) => this.#socket.close(() => resolve()))
  }

  #receive(bytes: Buffer, remote: RemoteInfo): void {
    this.counts.received += 1
    const opened = this.#settings.sealer.open(bytes)
    if (typeof opened === 'string') {
      this.#drop(opened, remote, `${bytes.length} bytes`)
      return
    }
    const envelope = decode(opened)
    if (envelope instanceof BadBytes) this.#drop('unreadable', remote, envelope.message)
    else if (envelope.group !== this.#group) this.#drop('another group', remote, `from ${envelope.from}`)
    else if (!this.#addresses.has(envelope.from))
      this.#drop('unknown sender', remote, `from ${envelope.from}`)
    else this.network.pass(envelope.from, () => this.#hooks.message(envelope.from, envelope.body))
  }

  #drop(reason: DropReason, { address, port }: RemoteInfo, detail: string): void {
    this.counts.dropped += 1
    const now = performance.now()
    const said = this.#dropped.get(reason) ?? { unsaid: 0, saidAt: Number.NEGATIVE_INFINITY }
    said.unsaid += 1
    if (now - said.saidAt >= SAY_AGAIN_MS) {
      this.#hooks.dropped(reason, said.unsaid, { host: address, port }, detail)
      said.unsaid = 0
      said.saidAt = now
    }
    this.#dropped.set(reason, said)
  }
}
