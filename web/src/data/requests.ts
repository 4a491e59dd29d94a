/** Requests to the agent that served the page, and the words for what goes wrong with them. */
import { fieldsOf, parseJson, textOf } from './read.ts'

/** A refusal, or no answer at all. The page shows the message as it is. */
export class AgentError extends Error {
  /** Null: no agent answered. */
  readonly status: number | null
  readonly code: string

  constructor(status: number | null, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

export type RequestContext = { readonly group: string | null; readonly token: string | null }

/** A path of this agent, with the group that it is about. */
export function pathFor(path: string, group: string | null): string {
  const at = path.startsWith('/') ? `.${path}` : path
  return group === null ? at : `${at}${at.includes('?') ? '&' : '?'}group=${encodeURIComponent(group)}`
}

export async function request(
  path: string,
  { group, token }: RequestContext,
  init: RequestInit = {},
): Promise<Response> {
  const headers = new Headers(init.headers)
  if (token !== null && !headers.has('authorization')) setToken(headers, token)
  let response: Response
  try {
    response = await fetch(pathFor(path, group), { ...init, headers, cache: 'no-store' })
  } catch (error) {
    if (init.signal?.aborted === true) throw error
    throw new AgentError(null, 'Unreachable', 'the agent does not answer')
  }
  if (response.ok) return response
  throw await errorOf(response)
}

function setToken(headers: Headers, token: string): void {
  try {
    headers.set('authorization', `Bearer ${token}`)
  } catch {
    // No agent has such a token.
    throw new AgentError(401, 'InvalidToken', 'the token contains characters that HTTP cannot send')
  }
}

export async function errorOf(response: Response): Promise<AgentError> {
  const body = await response.text().catch(() => '')
  const { code, message } = fieldsOf(fieldsOf(parseJson(body))['error'])
  const words = textOf(message) ?? `the agent answered with HTTP status ${response.status}`
  return new AgentError(response.status, textOf(code) ?? 'Unknown', words)
}

export async function getJson(path: string, context: RequestContext, signal?: AbortSignal): Promise<unknown> {
  const response = await request(path, context, signal === undefined ? {} : { signal })
  const value = parseJson(await response.text())
  if (value === undefined) throw new AgentError(response.status, 'NotJson', notAnAgent)
  return value
}

export const notAnAgent = 'the server that answers is not a Conclave agent of this version'
