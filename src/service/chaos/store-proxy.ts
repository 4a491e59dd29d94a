/**
 * A TCP proxy in front of a store's server that injects the faults of a network: delay, a half-open connection, lost
 * replies, connections that are reset in the middle of a request.
 */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/**
 * `delay`: every chunk, in both directions, arrives this much later.
 * `stall`: half-open. Connections are accepted, and nothing that is sent arrives. A connection on which bytes were
 * lost stays dead after the fault has ended, as behind a firewall that forgot it: the client must give it up.
 * `mute`: requests reach the server, which applies them; the replies are lost. Those connections are reset afterwards.
 * `cut`: this share of the requests is cut off in the middle, and the connection is reset.
 * `refuse`: connections are reset as soon as they are made, and those that exist are reset.
 */
export type ProxyFault =
  | { readonly is: 'none' }
  | { readonly is: 'delay'; readonly ms: number }
  | { readonly is: 'stall' }
  | { readonly is: 'mute' }
  | { readonly is: 'cut'; readonly share: number }
  | { readonly is: 'refuse' }

type Pair = { readonly client: Socket; readonly server: Socket; state: 'open' | 'stalled' | 'muted' }

export class StoreProxy {
  readonly #server: Server
  readonly #pairs = new Set<Pair>()
  #fault: ProxyFault = { is: 'none' }

  private constructor(server: Server) {
    this.#server = server
  }

  /** Listens on loopback and forwards to the server that the URL names. */
  static async to(url: string): Promise<StoreProxy> {
    const { hostname, port } = new URL(url)
    const server = createServer({ allowHalfOpen: true })
    const proxy = new StoreProxy(server)
    server.on('connection', (client) => proxy.#accept(client, hostname, Number(port)))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return proxy
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** The same URL, by way of this proxy. */
  through(url: string): string {
    const { host } = new URL(url)
    return url.replace(host, `127.0.0.1:${this.port}`)
  }

  /** Connections that clients hold at this moment. */
  get connections(): number {
    return this.#pairs.size
  }

  inject(fault: ProxyFault): void {
    this.#fault = fault
    for (const pair of this.#pairs) if (fault.is === 'refuse' || pair.state === 'muted') drop(pair)
  }

  heal(): void {
    this.inject({ is: 'none' })
  }

  async close(): Promise<void> {
    for (const pair of this.#pairs) drop(pair)
    this.#server.close()
    await once(this.#server, 'close')
  }

  #accept(client: Socket, host: string, port: number): void {
    if (this.#fault.is === 'refuse') {
      client.on('error', () => {})
      client.resetAndDestroy()
      return
    }
    const server = connect({ host, port, allowHalfOpen: true })
    const pair: Pair = { client, server, state: 'open' }
    this.#pairs.add(pair)
    client.setNoDelay(true)
    server.setNoDelay(true)
    this.#forward(pair, client, server)
    this.#forward(pair, server, client)
    // A client that gives a connection up has released it, whatever becomes of the other side.
    client.on('close', () => {
      this.#pairs.delete(pair)
      server.destroy()
    })
    server.on('close', () => {
      if (pair.state === 'open') client.destroy()
    })
    for (const socket of [client, server]) socket.on('error', () => socket.destroy())
  }

  #forward(pair: Pair, from: Socket, to: Socket): void {
    // One queue per direction keeps the order when the delay changes.
    let ahead: Promise<void> = Promise.resolve()
    const queue = (deliver: () => void): void => {
      const fault = this.#fault
      if (fault.is !== 'delay') {
        ahead = ahead.then(deliver)
        return
      }
      const later = new Promise<void>((resolve) => setTimeout(resolve, fault.ms))
      ahead = Promise.all([ahead, later]).then(deliver)
    }
    from.on('data', (data: Buffer) => {
      const lost = this.#lose(pair, from, data)
      if (lost === 'all') return
      queue(() => {
        if (!to.destroyed) to.write(lost === 'none' ? data : data.subarray(0, lost))
        if (lost !== 'none') drop(pair)
      })
    })
    from.on('end', () => {
      if (pair.state === 'open') queue(() => to.end())
      // Nothing gets through a dead connection, but a client that has ended it holds nothing any more.
      else if (from === pair.client) from.destroy()
    })
  }

  /** What the fault takes away of a chunk: nothing, everything, or all but the first bytes. */
  #lose(pair: Pair, from: Socket, data: Buffer): 'none' | 'all' | number {
    if (pair.state === 'stalled') return 'all'
    if (pair.state === 'muted') return from === pair.server ? 'all' : 'none'
    switch (this.#fault.is) {
      case 'stall':
        pair.state = 'stalled'
        return 'all'
      case 'mute':
        if (from !== pair.server) return 'none'
        pair.state = 'muted'
        return 'all'
      case 'cut':
        return from === pair.client && Math.random() < this.#fault.share
          ? Math.floor(data.length / 2)
          : 'none'
      default:
        return 'none'
    }
  }
}

function drop({ client, server }: Pair): void {
  client.resetAndDestroy()
  server.destroy()
}
