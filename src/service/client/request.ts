/** One HTTP request to an agent. Uses nothing but `fetch`, so that it works in Node, browsers and edge runtimes. */
import { AgentUnreachableError, RequestRefusedError } from './errors.ts'
import type { ErrorResponse } from './responses.ts'

/** The part of a fetch response that the client uses. */
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
  /** URL of the agent, such as http://127.0.0.1:7480. */
  readonly agent: string
  /** Name of the group. Required when the agent serves several groups. */
  readonly group?: string | null
  readonly signal?: AbortSignal
  /** The agent's read token, if it demands one. */
  readonly token?: string | null
  /** Replaces the global `fetch`, for example to trust another certificate authority. */
  readonly fetch?: Fetch
}

export async function getJson<T>(options: RequestOptions, path: string): Promise<T> {
  return parseJson(options, await sendRequest(options, path, {}))
}

/** Reads the body of a response. A server that does not respond with JSON is not an agent. */
export async function parseJson<T>(options: RequestOptions, response: FetchResponse): Promise<T> {
  try {
    return (await response.json()) as T
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw toClientError(options, error)
    throw new AgentUnreachableError(
      `the server at ${options.agent} is not a Conclave agent: its response is not JSON; check the address`,
      { cause: error },
    )
  }
}

export async function sendRequest(
  options: RequestOptions,
  path: string,
  init: Parameters<Fetch>[1],
): Promise<FetchResponse> {
  let response: FetchResponse
  try {
    const url = urlOf(options.agent, path)
    if (typeof options.group === 'string') url.searchParams.set('group', options.group)
    response = await (options.fetch ?? fetch)(url, {
      ...init,
      ...(typeof options.token === 'string'
        ? { headers: { authorization: `Bearer ${options.token}`, ...init.headers } }
        : {}),
      redirect: 'error',
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    })
  } catch (error) {
    throw toClientError(options, error)
  }
  if (response.ok) return response
  const body = (await response.json().catch(() => null)) as ErrorResponse | null
  const { code = 'Unknown', message = `HTTP status ${response.status}`, field = null } = body?.error ?? {}
  throw new RequestRefusedError(
    response.status,
    code,
    `the agent at ${options.agent} refused the request: ${message}`,
    field,
  )
}

/** A path of the agent. A proxy may serve the agent under a path of its own. */
function urlOf(agent: string, path: string): URL {
  const base = new URL(agent).pathname.replace(/\/$/, '')
  return new URL(base + path, agent)
}

/** Converts a failure of `fetch`. A caller that aborts its own signal gets its own reason back. */
export function toClientError({ agent, signal }: RequestOptions, error: unknown): unknown {
  if (signal?.aborted === true && (signal.reason as Error | null)?.name !== 'TimeoutError')
    return signal.reason
  const { cause, message } = error as Error & { cause?: Error }
  const { code = '', reason } = (cause ?? error) as TlsFailure
  const why = reason ?? (cause?.message || message)
  return new AgentUnreachableError(`no agent responds at ${agent}: ${why}; ${remedyFor(agent, code, why)}`, {
    cause: error,
  })
}

/** Node adds these fields to errors of TLS: a name, and for OpenSSL the reason in a few words. */
type TlsFailure = Error & { readonly code?: string; readonly reason?: string }

function remedyFor(agent: string, code: string, why: string): string {
  if (/certificate required/.test(why))
    return 'give this client a certificate that the agent accepts (--client-cert, --client-key)'
  if (/wrong version number|packet length too long/.test(why))
    return 'it does not use TLS: write http:// instead of https://'
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'use a name that its certificate contains'
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID')
    return 'renew its certificate, or correct the clock of this host'
  if (/CERT|UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER/.test(code))
    return 'its certificate is not trusted: give the authority that signed it (--ca-file)'
  // Without TLS, all that a server with TLS does is to close the connection.
  if (/socket hang up|other side closed|ECONNRESET/.test(why) && agent.startsWith('http:'))
    return 'if it serves HTTPS, write https:// instead of http://; otherwise check that the agent is running'
  return 'check that the agent is running and that the address is right'
}
