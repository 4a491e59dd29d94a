/** Questions to an agent, over HTTP, with nothing but fetch: for Node, browsers and whatever else has it. */
import type { AgentEvent, ErrorResponse, Id, LeaderResponse, MembersResponse, StatusResponse } from './responses.ts'

/** Nobody answers there. */
export class AgentUnreachableError extends Error {
  override readonly name = 'AgentUnreachableError'
  readonly code = 'ERR_CONCLAVE_AGENT_UNREACHABLE'
}

/**
 * The agent answered with an error: `status` is the HTTP status, `kind` the name of the agent's error, `field` the field
 * of the request that is wrong, if any.
 */
export class RequestRefusedError extends Error {
  override readonly name = 'RequestRefusedError'
  readonly code = 'ERR_CONCLAVE_REQUEST_REFUSED'
  readonly status: number
  readonly kind: string
  readonly field: string | null

  constructor(status: number, kind: string, message: string, field: string | null = null) {
    super(message)
    this.status = status
    this.kind = kind
    this.field = field
  }
}

/** What is used of `fetch`, and of what it answers. */
export type FetchResponse = {
  readonly ok: boolean
  readonly status: number
  readonly body: AsyncIterable<Uint8Array> | null
  json(): Promise<unknown>
}
export type Fetch = (
  url: URL,
  init: {
    readonly method?: string
    readonly headers?: { readonly [name: string]: string }
    readonly body?: string
    readonly redirect?: 'error'
    readonly signal?: AbortSignal
  },
) => Promise<FetchResponse>

export type RequestOptions = {
  /** Where the agent is, such as http://127.0.0.1:7480. */
  readonly agent: string
  /** Which group, where the agent is in several. */
  readonly group?: string | null
  readonly signal?: AbortSignal
  /** Instead of the global one. */
  readonly fetch?: Fetch
}

export const getStatus = (ask: RequestOptions): Promise<StatusResponse> => get(ask, '/v1/status')
export const getLeader = (ask: RequestOptions): Promise<LeaderResponse> => get(ask, '/v1/leader')
export const getMembers = (ask: RequestOptions): Promise<MembersResponse> => get(ask, '/v1/members')

export type StepDownResponse = {
  readonly group: string
  readonly steppedDown: { readonly id: Id; readonly token: number | null }
}

/** Asks the agent to hand the lead over; fails with RequestRefusedError, status 409, when it does not lead. */
export async function stepDown(ask: RequestOptions & { readonly adminToken: string | null }): Promise<StepDownResponse> {
  const response = await request(ask, '/v1/step-down', { method: 'POST', headers: ordering(ask) })
  return told(ask, response)
}

export type RemoveResponse = { readonly group: string; readonly removing: Id }

/** Asks the agent to take a node out of the group for good; fails with RequestRefusedError, status 409, when the protocol does not. */
export async function removeNode(
  ask: RequestOptions & { readonly adminToken: string | null; readonly id: string },
): Promise<RemoveResponse> {
  const body = JSON.stringify({ id: ask.id })
  const response = await request(ask, '/v1/remove', { method: 'POST', headers: ordering(ask), body })
  return told(ask, response)
}

/** The lead of an agent, for whoever acts on it. */
export type ClaimResponse = {
  readonly group: string
  /** Whose lead it is. */
  readonly id: Id
  /** By which name it is renewed and given back. */
  readonly claim: string
  readonly token: number | null
  /** How long it may be acted on, counted from before it was asked for. */
  readonly expiresInMs: number
  /** Whether the agent waits for it to be given back, to hand the lead over. */
  readonly ending: boolean
}

type Claiming = RequestOptions & { readonly adminToken: string | null }

/** Claims the lead, or renews a claim; fails with RequestRefusedError, status 409, when the agent does not lead or the claim is gone. */
export async function claim(ask: Claiming & { readonly claim: string | null }): Promise<ClaimResponse> {
  const body = JSON.stringify({ claim: ask.claim })
  const response = await request(ask, '/v1/claim', { method: 'POST', headers: ordering(ask), body })
  return told(ask, response)
}

/** Gives a claim back: nobody acts on the lead any more. */
export async function release(ask: Claiming & { readonly claim: string }): Promise<void> {
  const path = `/v1/claim?${new URLSearchParams({ claim: ask.claim }).toString()}`
  await request(ask, path, { method: 'DELETE', headers: ordering(ask) })
}

function ordering({ adminToken }: Claiming): Record<string, string> {
  return adminToken === null ? {} : { authorization: `Bearer ${adminToken}` }
}

/** `now` comes first, and `missed` when the agent no longer knows all that has happened since. */
export type WatchEvent =
  | { readonly type: 'now'; readonly now: LeaderResponse }
  | { readonly type: 'missed' }
  | { readonly type: 'event'; readonly id: string; readonly event: AgentEvent }

/** What happens, from now on, or since the event with the id `after`, until the agent or the signal ends it. */
export async function* watch(
  ask: RequestOptions & { readonly after?: string | null },
): AsyncGenerator<WatchEvent, void, void> {
  const headers: Record<string, string> = { accept: 'text/event-stream' }
  if (typeof ask.after === 'string') headers['last-event-id'] = ask.after
  const response = await request(ask, '/v1/events', { headers })
  for await (const { event, id, data } of messages(response, ask)) {
    if (event === 'now') yield { type: 'now', now: JSON.parse(data) as LeaderResponse }
    else if (event === 'missed') yield { type: 'missed' }
    else yield { type: 'event', id, event: JSON.parse(data) as AgentEvent }
  }
}

type Sent = { readonly event: string; readonly id: string; readonly data: string }

/** Server-sent events out of a body that comes in pieces. */
async function* messages({ body }: FetchResponse, ask: RequestOptions): AsyncGenerator<Sent, void, void> {
  if (body === null) return
  const decoder = new TextDecoder()
  let text = ''
  try {
    for await (const piece of body) {
      text += decoder.decode(piece, { stream: true })
      const blocks = text.split('\n\n')
      text = blocks.pop() ?? ''
      for (const block of blocks) {
        const sent = read(block)
        if (sent !== null) yield sent
      }
    }
  } catch (error) {
    if (ask.signal?.aborted !== true) throw lost(ask, error)
  }
}

function read(block: string): Sent | null {
  const fields = { event: '', id: '', data: '' }
  for (const line of block.split('\n')) {
    const at = line.indexOf(': ')
    const name = line.slice(0, at)
    if (name === 'event' || name === 'id' || name === 'data') fields[name] = line.slice(at + 2)
  }
  return fields.data === '' ? null : fields
}

async function get<T>(ask: RequestOptions, path: string): Promise<T> {
  return told(ask, await request(ask, path, {}))
}

/** What it answered; something that answers otherwise than in JSON is no agent. */
async function told<T>(ask: RequestOptions, response: FetchResponse): Promise<T> {
  try {
    return (await response.json()) as T
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw lost(ask, error)
    throw new AgentUnreachableError(`what answers at ${ask.agent} is no agent: is that its address?`, { cause: error })
  }
}

async function request(ask: RequestOptions, path: string, init: Parameters<Fetch>[1]): Promise<FetchResponse> {
  let response: FetchResponse
  try {
    const url = new URL(path, ask.agent)
    if (typeof ask.group === 'string') url.searchParams.set('group', ask.group)
    response = await (ask.fetch ?? fetch)(url, {
      ...init,
      redirect: 'error',
      ...(ask.signal === undefined ? {} : { signal: ask.signal }),
    })
  } catch (error) {
    throw lost(ask, error)
  }
  if (response.ok) return response
  const said = (await response.json().catch(() => null)) as ErrorResponse | null
  const { name = 'RequestRefusedError', message = `it answered ${response.status}`, field = null } = said?.error ?? {}
  throw new RequestRefusedError(response.status, name, `the agent at ${ask.agent} refused: ${message}`, field)
}

/** What is to be thrown: whoever gave up by their own signal hears their own reason. */
function lost({ agent, signal }: RequestOptions, error: unknown): unknown {
  if (signal?.aborted === true && (signal.reason as Error | null)?.name !== 'TimeoutError')
    return signal.reason
  const { cause, message } = error as Error & { cause?: Error }
  return new AgentUnreachableError(
    `no agent answers at ${agent}: ${cause?.message || message}; is it running, and is that its address?`,
    { cause: error },
  )
}
