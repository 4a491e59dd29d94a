/**
 * HTTP requests whose abort closes their connection, even while it is being opened. With `fetch` the next request
 * would wait for that connection.
 */
import {
  Agent as HttpAgent,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as overHttp,
} from 'node:http'
import { Agent as HttpsAgent, request as overHttps } from 'node:https'

export type HttpRequest = {
  readonly method: string
  readonly url: URL
  readonly headers: { readonly [name: string]: string }
  readonly body: string
}

export type HttpReply = {
  readonly status: number
  /** Names in lower case. */
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** Arrival time on this process's clock, and the server's Date header if there is one. */
  readonly at: { readonly nowMs: number; readonly serverMs: number | null }
}

/** Idle connections are closed before the server closes them. */
const IDLE_MS = 30_000
/** Larger than any reply of a store. */
const MAX_REPLY_BYTES = 16 * 1024 * 1024

export class HttpClient {
  readonly #http = new HttpAgent({ keepAlive: true, timeout: IDLE_MS })
  readonly #https = new HttpsAgent({ keepAlive: true, timeout: IDLE_MS })
  #isClosed = false

  async send({ method, url, headers, body }: HttpRequest, signal: AbortSignal): Promise<HttpReply> {
    signal.throwIfAborted()
    if (this.#isClosed) throw new Error('the store has been closed')
    const [open, agent] =
      url.protocol === 'https:' ? ([overHttps, this.#https] as const) : ([overHttp, this.#http] as const)
    const all = { ...headers, 'content-length': Buffer.byteLength(body) }
    return new Promise((resolve, reject) => {
      // The reason of the abort is more useful than the abort error.
      const fail = (error: unknown): void => reject(signal.aborted ? (signal.reason as Error) : error)
      const request = open(url, { method, agent, headers: all, signal }, (response) => {
        readAll(response).then(resolve, fail)
      })
      request.on('error', fail)
      request.end(body)
    })
  }

  /** Requests that wait for an answer fail. */
  close(): void {
    this.#isClosed = true
    this.#http.destroy()
    this.#https.destroy()
  }
}

/** Whether no connection was made, so that the server cannot have received the request. */
export function wasNeverSent(error: unknown): boolean {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error
  const { syscall } = first as { readonly syscall?: unknown }
  return syscall === 'connect' || syscall === 'getaddrinfo'
}

async function readAll(response: IncomingMessage): Promise<HttpReply> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MAX_REPLY_BYTES) throw new Error(`the reply exceeds the limit of ${MAX_REPLY_BYTES} bytes`)
    chunks.push(chunk)
  }
  const date = Date.parse(response.headers.date ?? '')
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    body: Buffer.concat(chunks).toString(),
    at: { nowMs: performance.now(), serverMs: Number.isNaN(date) ? null : date },
  }
}
