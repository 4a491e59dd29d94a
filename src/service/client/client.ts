/** HTTP client for an agent: status, events, step-down, and claims on its term. */
import { parseEventStream } from './event-stream.ts'
import { getJson, parseJson, type RequestOptions, sendRequest, toClientError } from './request.ts'
import type {
  AgentEvent,
  ClaimResponse,
  LeaderResponse,
  MembersResponse,
  RemoveResponse,
  StatusResponse,
  StepDownResponse,
} from './responses.ts'

export const getStatus = (options: RequestOptions): Promise<StatusResponse> => getJson(options, '/v1/status')
export const getLeader = (options: RequestOptions): Promise<LeaderResponse> => getJson(options, '/v1/leader')
export const getMembers = (options: RequestOptions): Promise<MembersResponse> =>
  getJson(options, '/v1/members')

export type AdminOptions = RequestOptions & { readonly adminToken: string | null }

/** Asks the agent to end its term. Throws RequestRefusedError with status 409 when the agent does not lead. */
export async function stepDown(options: AdminOptions): Promise<StepDownResponse> {
  const init = { method: 'POST', headers: adminHeaders(options) }
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
  | { readonly type: 'event'; readonly id: string; readonly event: AgentEvent }

/**
 * Yields the events of a group from now on, or since the event with the id `after`. Ends when the agent closes the
 * stream or the signal is aborted.
 */
export async function* watch(
  options: RequestOptions & { readonly after?: string | null },
): AsyncGenerator<WatchEvent, void, void> {
  const headers: Record<string, string> = { accept: 'text/event-stream' }
  if (typeof options.after === 'string') headers['last-event-id'] = options.after
  const { body } = await sendRequest(options, '/v1/events', { headers })
  if (body === null) return
  const events = parseEventStream(body)
  try {
    for (;;) {
      let next: Awaited<ReturnType<typeof events.next>>
      try {
        // oxlint-disable-next-line no-await-in-loop -- events come one after the other
        next = await events.next()
      } catch (error) {
        if (options.signal?.aborted === true) return
        throw toClientError(options, error)
      }
      if (next.done === true) return
      const { event, id, data } = next.value
      if (event === 'snapshot') yield { type: 'snapshot', snapshot: JSON.parse(data) as LeaderResponse }
      else if (event === 'missed') yield { type: 'missed' }
      else yield { type: 'event', id, event: JSON.parse(data) as AgentEvent }
    }
  } finally {
    // Closes the connection when the caller leaves the loop; an open one would keep the process running.
    await events.return()
  }
}
