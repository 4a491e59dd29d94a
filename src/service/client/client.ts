/** HTTP client for an agent: status, events, step-down, and claims on its term. */
import { AgentUnreachableError } from './errors.ts'
import { parseEventStream, type ServerSentEvent } from './event-stream.ts'
import { getJson, parseJson, type RequestOptions, sendRequest, toClientError } from './request.ts'
import type {
  AgentEvent,
  ClaimResponse,
  HistoryResponse,
  LeaderResponse,
  LeaseBoundsResponse,
  MembersResponse,
  RemoveResponse,
  StatusResponse,
  StepDownResponse,
  TermResponse,
} from './responses.ts'

export const getStatus = (options: RequestOptions): Promise<StatusResponse> => getJson(options, '/v1/status')
/** Terms, gaps with their causes, and samples of measurements. */
export const getHistory = (options: RequestOptions): Promise<HistoryResponse> =>
  getJson(options, '/v1/history')
export const getLeader = (options: RequestOptions): Promise<LeaderResponse> => getJson(options, '/v1/leader')
export const getMembers = (options: RequestOptions): Promise<MembersResponse> =>
  getJson(options, '/v1/members')

export type AdminOptions = RequestOptions & { readonly adminToken: string | null }

/**
 * Asks the agent to end its term, and with `to` to hand it over to that node. Throws RequestRefusedError with status 409
 * when the agent does not lead, or cannot hand over to that node.
 */
export async function stepDown(
  options: AdminOptions & { readonly to?: string | null },
): Promise<StepDownResponse> {
  const { to = null } = options
  const body = to === null ? {} : { body: JSON.stringify({ to }) }
  const init = { method: 'POST', headers: adminHeaders(options), ...body }
  return parseJson(options, await sendRequest(options, '/v1/step-down', init))
}

/** Asks the agent to remove a node from the group. Throws RequestRefusedError with status 409 when the protocol refuses. */
export async function removeNode(options: AdminOptions & { readonly id: string }): Promise<RemoveResponse> {
  const init = {
    method: 'POST',
    headers: adminHeaders(options),
    body: JSON.stringify({ id: options.id }),
  }
  return parseJson(options, await sendRequest(options, '/v1/remove', init))
}

/**
 * Changes the bounds of leases of the agent's node, until it is restarted. A bound that is not given stays. Throws
 * RequestRefusedError with status 400 for bounds that cannot work, and 409 where the timing is fixed.
 */
export async function setLeaseBounds(
  options: AdminOptions & { readonly leaseMinMs?: number; readonly leaseMaxMs?: number },
): Promise<LeaseBoundsResponse> {
  const { leaseMinMs, leaseMaxMs } = options
  const init = {
    method: 'POST',
    headers: adminHeaders(options),
    body: JSON.stringify({ leaseMinMs, leaseMaxMs }),
  }
  return parseJson(options, await sendRequest(options, '/v1/lease-bounds', init))
}

/**
 * Claims the term of the agent, or renews a claim. Throws RequestRefusedError with status 409 when the agent does not
 * lead, or when the claim has expired.
 */
export async function claim(
  options: AdminOptions & { readonly claim: string | null },
): Promise<ClaimResponse> {
  const init = {
    method: 'POST',
    headers: adminHeaders(options),
    body: JSON.stringify({ claim: options.claim }),
  }
  return parseJson(options, await sendRequest(options, '/v1/claim', init))
}

/** Releases a claim. The caller must have stopped acting on the term. */
export async function release(options: AdminOptions & { readonly claim: string }): Promise<void> {
  const path = `/v1/claim?${new URLSearchParams({ claim: options.claim }).toString()}`
  await sendRequest(options, path, { method: 'DELETE', headers: adminHeaders(options) })
}

function adminHeaders({ adminToken }: AdminOptions): Record<string, string> {
  return adminToken === null ? {} : { authorization: `Bearer ${adminToken}` }
}

/** `snapshot` comes first. `missed` follows when the agent no longer has all events since `after`. */
export type WatchEvent =
  | { readonly type: 'snapshot'; readonly snapshot: LeaderResponse }
  | { readonly type: 'missed' }
  /** Only with `status: true`: once a second, and when the condition of the group changes. */
  | { readonly type: 'status'; readonly status: StatusResponse }
  /** Only with `status: true`: an entry of the history is new or has changed. */
  | { readonly type: 'history'; readonly term: TermResponse }
  | { readonly type: 'event'; readonly id: string; readonly event: AgentEvent }

/** The agent sends something at least every 10 s. */
const SILENCE_MS = 30_000

/**
 * Yields the events of a group from now on, or since the event with the id `after`. Ends when the agent closes the
 * stream or the signal is aborted. Throws AgentUnreachableError when the connection breaks, also when it just becomes
 * silent.
 */
export async function* watch(
  options: RequestOptions & {
    readonly after?: string | null
    /** Whether to yield the status of the group and changes of its history, too. */
    readonly status?: boolean
  },
): AsyncGenerator<WatchEvent, void, void> {
  const headers: Record<string, string> = { accept: 'text/event-stream' }
  if (typeof options.after === 'string') headers['last-event-id'] = options.after
  const path = options.status === true ? '/v1/events' : '/v1/events?only=events'
  const silence = new SilenceLimit(options.agent)
  const signals = options.signal === undefined ? [silence.signal] : [options.signal, silence.signal]
  const limited = { ...options, signal: AbortSignal.any(signals) }
  const { body } = await silence.limit(sendRequest(limited, path, { headers }))
  if (body === null) return
  const events = parseEventStream(silence.observe(body))
  try {
    for (;;) {
      let next: Awaited<ReturnType<typeof events.next>>
      try {
        // oxlint-disable-next-line no-await-in-loop -- events come one after the other
        next = await silence.limit(events.next())
      } catch (error) {
        if (options.signal?.aborted === true) return
        throw toClientError(limited, error)
      }
      if (next.done === true) return
      const event = parseWatchEvent(next.value)
      if (event !== null) yield event
    }
  } finally {
    // Closes the connection when the caller leaves the loop; an open one would keep the process running.
    await events.return()
  }
}

/** Aborts its signal when nothing arrives for a while: a host that vanished closes no connection. */
class SilenceLimit {
  readonly #agent: string
  readonly #aborting = new AbortController()
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(agent: string) {
    this.#agent = agent
  }

  get signal(): AbortSignal {
    return this.#aborting.signal
  }

  /** Limits the silence while the caller waits, and only then. */
  async limit<T>(waiting: Promise<T>): Promise<T> {
    this.#start()
    try {
      return await waiting
    } finally {
      clearTimeout(this.#timer)
    }
  }

  async *observe(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
    for await (const chunk of chunks) {
      // Keep-alive comments are no events, so the caller may still wait.
      this.#start()
      yield chunk
    }
  }

  #start(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      const message = `the agent at ${this.#agent} has sent nothing for ${SILENCE_MS / 1000} s; check that it is running and that the network lets its answers through`
      this.#aborting.abort(new AgentUnreachableError(message))
    }, SILENCE_MS)
  }
}

/** The kinds of events that this version knows. An agent of a newer version can send others. */
const EVENTS: ReadonlySet<string> = new Set<AgentEvent['event']>([
  'elected',
  'revoked',
  'change',
  'view',
  'level',
  'warning',
  'alarm',
])

/** Null for an event that this version does not know, and for data that is not a JSON object. */
function parseWatchEvent({ event, id, data }: ServerSentEvent): WatchEvent | null {
  let body: unknown
  try {
    body = JSON.parse(data)
  } catch {
    return null
  }
  if (typeof body !== 'object' || body === null) return null
  if (event === 'snapshot') return { type: 'snapshot', snapshot: body as LeaderResponse }
  if (event === 'missed') return { type: 'missed' }
  if (event === 'status') return { type: 'status', status: body as StatusResponse }
  if (event === 'history') return { type: 'history', term: body as TermResponse }
  return EVENTS.has(event) ? { type: 'event', id, event: body as AgentEvent } : null
}
