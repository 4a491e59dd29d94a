/** The HTTP server: bounded in everything that a stranger could use up. */
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import type { Address } from '../runtime/index.ts'

/** The HTTP address cannot be used. */
export class CannotListenError extends Error {
  override readonly name = 'CannotListenError'
  readonly code = 'ERR_CONCLAVE_CANNOT_LISTEN'
}

export type HttpLimits = {
  /** By when a request must be complete, its headers too: nobody needs longer for one as small as these. */
  readonly requestMs: number
  /** How long a connection may stay without a request. */
  readonly idleMs: number
  readonly connections: number
}

const LIMITS: HttpLimits = { requestMs: 10_000, idleMs: 5000, connections: 1024 }

export type HttpServer = { readonly url: string; close(): Promise<void> }

export function listen(
  fetch: (request: Request) => Response | Promise<Response>,
  at: Address,
  limits: Partial<HttpLimits> = {},
): Promise<HttpServer> {
  const { requestMs, idleMs, connections } = { ...LIMITS, ...limits }
  const server = createAdaptorServer({
    fetch,
    // For HTTP/1.0 without a Host header, as load balancers send their checks.
    hostname: 'localhost',
    overrideGlobalObjects: false,
    serverOptions: {
      requestTimeout: requestMs,
      headersTimeout: requestMs,
      keepAliveTimeout: idleMs,
      // Node looks for those that are late only as often as this.
      connectionsCheckingInterval: Math.min(1000, requestMs),
    },
  }) as Server
  server.maxConnections = connections
  const host = at.host.includes(':') ? `[${at.host}]` : at.host
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const why =
        error.code === 'EADDRINUSE' ? 'another process answers there: choose another port' : error.message
      reject(new CannotListenError(`cannot answer HTTP at ${host}:${at.port}: ${why}`))
    })
    server.listen(at.port, at.host, () => {
      const { port } = server.address() as AddressInfo
      resolve({ url: `http://${host}:${port}`, close: () => closing(server) })
    })
  })
}

function closing(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}
