/**
 * A TCP proxy in front of a store's server that injects network faults: delay, half-open connections, lost replies, and
 * connections that are reset in the middle of a request.
 */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/**
 * `delay`: delays every chunk in both directions.
 * `stall`: half-open. Connections are accepted, but no bytes arrive. A connection that lost bytes stays dead after the
 * fault, as behind a firewall that dropped its state: the client must abandon it.
 * `mute`: requests reach the server, which applies them, but the replies are lost. The connections are reset afterwards.
 * `cut`: truncates this share of the requests and resets the connection.
 * `refuse`: resets existing connections, and new ones as soon as they are made.
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
  static async start(url: string): Promise<StoreProxy> {
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

  /** Replaces host and port of the URL with those of this proxy. */
  rewrite(url: string): string {
    const { host } = new URL(url)
    return url.replace(host, `127.0.0.1:${this.port}`)
  }

  /** Number of open client connections. */
  get connections(): number {
    return this.#pairs.size
  }

  /** Number of open client connections that have lost bytes. */
  get deadConnections(): number {
    return [...this.#pairs].filter(({ state }) => state !== 'open').length
  }

  inject(fault: ProxyFault): void {
    this.#fault = fault
    for (const pair of this.#pairs) if (fault.is === 'refuse' || pair.state === 'muted') resetPair(pair)
  }

  heal(): void {
    this.inject({ is: 'none' })
  }

  async close(): Promise<void> {
    for (const pair of this.#pairs) resetPair(pair)
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
    // The client has closed its side, so the connection is over.
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
        if (lost !== 'none') resetPair(pair)
      })
    })
    from.on('end', () => {
      if (pair.state === 'open') queue(() => to.end())
      // Nothing passes a dead connection, but the client's end releases it.
      else if (from === pair.client) from.destroy()
    })
  }

  /** How much of a chunk is lost: nothing, everything, or all but the first bytes. */
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

function resetPair({ client, server }: Pair): void {
  client.resetAndDestroy()
  server.destroy()
}
