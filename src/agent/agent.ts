/**
 * The long-running process: a node that campaigns for ever, and answers over HTTP who leads. Whatever acts on the lead
 * asks it; the agent itself does nothing with a term but hold it.
 */
import { randomBytes } from 'node:crypto'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import type { AgentEvent } from '../client/index.ts'
import { type JoinOptions, join } from '../member/index.ts'
import type { Address, NetworkFaults } from '../runtime/index.ts'
import { agentApp } from './app.ts'
import { Claims } from './claims.ts'
import { History } from './history.ts'
import { Observer } from './observer.ts'

export type AgentOptions = {
  readonly join: JoinOptions
  readonly http: Address
  readonly adminToken: string | null
  /** For each thing that happens; for whoever keeps the log. */
  readonly log: (event: AgentEvent) => void
}

export type Agent = {
  readonly url: string
  /** Kept when the agent has ended by itself, because its node could not go on; never after `close`. */
  readonly failed: Promise<Error>
  /** Spoils what its node hears of its peers; HTTP has no such order. */
  spoil(faults: NetworkFaults): void
  /** Hands over if it leads, and ends. */
  close(): Promise<void>
}

/** The HTTP address cannot be used. */
export class CannotListen extends Error {
  override readonly name = 'CannotListen'
}

/** Nobody needs longer for a request as small as these. */
const REQUEST_TIMEOUT_MS = 10_000
const MOST_CONNECTIONS = 1024

export async function startAgent({ join: options, http, adminToken, log }: AgentOptions): Promise<Agent> {
  const node = await join(options)
  const history = new History(randomBytes(6).toString('hex'))
  const tell = (event: AgentEvent['event'], about: Partial<AgentEvent>): void => {
    const whole: AgentEvent = {
      at: new Date().toISOString(),
      group: node.group,
      self: node.id,
      event,
      leader: null,
      token: null,
      reason: null,
      ...about,
    }
    history.add(whole)
    log(whole)
  }
  const observer = new Observer((reason) => tell('alarm', { reason }))
  node.on('elected', ({ token, cause }) => {
    observer.elected()
    tell('elected', { leader: node.id, token, reason: cause })
  })
  node.on('revoked', ({ token, reason }) => tell('revoked', { token, reason }))
  node.on('change', ({ leader }) => {
    observer.see(leader)
    tell('change', { leader: leader?.id ?? null, token: leader?.token ?? null })
  })
  node.on('warning', ({ what, detail }) => tell('warning', { reason: `${what}: ${detail}` }))

  const ending = new AbortController()
  const claims = new Claims()
  const app = agentApp({ node, history, observer, claims, adminToken, ending: ending.signal })
  let server: Server
  try {
    server = await listening(app.fetch, http)
  } catch (error) {
    await node.close()
    throw error
  }
  const leading = node.lead(claims.during, { signal: ending.signal })
  const failed = new Promise<Error>((resolve) => {
    leading.then(
      () => {
        if (!ending.signal.aborted)
          resolve(new Error('the node stopped by itself: the warning before says why'))
      },
      (error: Error) => resolve(error),
    )
  })
  const { port } = server.address() as AddressInfo
  const end = async (): Promise<void> => {
    ending.abort()
    // Answers go on while the lead is handed over.
    await node.close()
    await leading.catch(() => {})
    await new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  }
  let ended: Promise<void> | null = null
  return {
    url: `http://${http.host.includes(':') ? `[${http.host}]` : http.host}:${port}`,
    failed,
    spoil: (faults) => node.spoil(faults),
    close() {
      ended ??= end()
      return ended
    },
  }
}

function listening(fetch: (request: Request) => Response | Promise<Response>, at: Address): Promise<Server> {
  const server = createAdaptorServer({
    fetch,
    overrideGlobalObjects: false,
    serverOptions: { requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: REQUEST_TIMEOUT_MS },
  }) as Server
  server.maxConnections = MOST_CONNECTIONS
  return new Promise((resolve, reject) => {
    server.once('error', (error) =>
      reject(new CannotListen(`cannot answer HTTP at ${at.host}:${at.port}: ${error.message}`)),
    )
    server.listen(at.port, at.host, () => resolve(server))
  })
}
