/** The HTTP server, with limits on every resource that a client could exhaust. */
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import type { HttpTls } from '../config/index.ts'
import type { Address } from '../runtime/index.ts'
import { inTimeSlices } from './time-slices.ts'

/** The agent cannot listen on its HTTP address. */
export class CannotListenError extends Error {
  override readonly name = 'CannotListenError'
  readonly code = 'ERR_CONCLAVE_CANNOT_LISTEN'
}

export type HttpLimits = {
  /** Time limit for a complete request, headers included. Requests to an agent are small. */
  readonly requestMs: number
  /** Time limit for a connection without a request. */
  readonly idleMs: number
  readonly connections: number
  /** Requests of one connection that wait for their responses (pipelining). A connection with more is closed. */
  readonly pipelined: number
}

const LIMITS: HttpLimits = { requestMs: 10_000, idleMs: 5000, connections: 4096, pipelined: 128 }

export type HttpServer = { readonly url: string; close(): Promise<void> }

export function listen(
  fetch: (request: Request) => Response | Promise<Response>,
  at: Address,
  options: Partial<HttpLimits> & { readonly tls?: HttpTls | null } = {},
): Promise<HttpServer> {
  const { requestMs, idleMs, connections, pipelined, tls = null } = { ...LIMITS, ...options }
  const scheme = tls === null ? 'http' : 'https'
  const respond = getRequestListener(inTimeSlices(fetch), {
    // For HTTP/1.0 requests without a Host header, which load balancers send as health checks.
    hostname: 'localhost',
    overrideGlobalObjects: false,
  })
  const listener = limitPipelining((...exchange) => void respond(...exchange), pipelined)
  const settings = {
    requestTimeout: requestMs,
    headersTimeout: requestMs,
    keepAliveTimeout: idleMs,
    // Node enforces the timeouts only at this interval.
    connectionsCheckingInterval: Math.min(1000, requestMs),
  }
  const server: Server =
    tls === null
      ? createServer(settings, listener)
      : createTlsServer({ ...settings, ...tlsOptions(tls) }, listener)
  server.maxConnections = connections
  const host = at.host.includes(':') ? `[${at.host}]` : at.host
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const why =
        error.code === 'EADDRINUSE' ? 'another process uses the port; choose another port' : error.message
      reject(new CannotListenError(`cannot listen on ${scheme}://${host}:${at.port}: ${why}`))
    })
    server.listen(at.port, at.host, () => {
      const { port } = server.address() as AddressInfo
      resolve({ url: `${scheme}://${host}:${port}`, close: () => closeServer(server) })
    })
  })
}

/** Node hands over all requests that have arrived on a connection at once, before the first of them has its response. */
function limitPipelining(respond: RequestListener, most: number): RequestListener {
  const pending = new WeakMap<Socket, number>()
  return (request, response) => {
    const { socket } = request
    // Node goes on reading requests that arrived before the connection was closed.
    if (socket.destroyed) return
    const count = (pending.get(socket) ?? 0) + 1
    pending.set(socket, count)
    if (count > most) {
      socket.destroy()
      return
    }
    response.once('close', () => pending.set(socket, (pending.get(socket) ?? 1) - 1))
    respond(request, response)
  }
}

function tlsOptions({ cert, key, clientCa }: HttpTls): object {
  const clients = clientCa === null ? {} : { ca: clientCa, requestCert: true, rejectUnauthorized: true }
  return { cert, key, minVersion: 'TLSv1.2', ...clients }
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}
