/** The HTTP server, with limits on every resource that a client could exhaust. */
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import type { Address } from '../runtime/index.ts'

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
}

const LIMITS: HttpLimits = { requestMs: 10_000, idleMs: 5000, connections: 4096 }

export type HttpServer = { readonly url: string; close(): Promise<void> }

export function listen(
  fetch: (request: Request) => Response | Promise<Response>,
  at: Address,
  limits: Partial<HttpLimits> = {},
): Promise<HttpServer> {
  const { requestMs, idleMs, connections } = { ...LIMITS, ...limits }
  const server = createAdaptorServer({
    fetch,
    // For HTTP/1.0 requests without a Host header, which load balancers send as health checks.
    hostname: 'localhost',
    overrideGlobalObjects: false,
    serverOptions: {
      requestTimeout: requestMs,
      headersTimeout: requestMs,
      keepAliveTimeout: idleMs,
      // Node enforces the timeouts only at this interval.
      connectionsCheckingInterval: Math.min(1000, requestMs),
    },
  }) as Server
  server.maxConnections = connections
  const host = at.host.includes(':') ? `[${at.host}]` : at.host
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const why =
        error.code === 'EADDRINUSE' ? 'another process uses the port; choose another port' : error.message
      reject(new CannotListenError(`cannot listen on http://${host}:${at.port}: ${why}`))
    })
    server.listen(at.port, at.host, () => {
      const { port } = server.address() as AddressInfo
      resolve({ url: `http://${host}:${port}`, close: () => closeServer(server) })
    })
  })
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}
