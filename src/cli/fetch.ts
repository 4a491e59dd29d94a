/**
 * The part of `fetch` that requests to an agent need, over node:http. Loading Node's own fetch takes longer than
 * everything else that `conclave leader` does.
 */
import { type IncomingMessage, request } from 'node:http'
import type { Fetch, FetchResponse } from '../service/client/index.ts'

export const fetchOverHttp: Fetch = async (url, { method = 'GET', headers = {}, body, signal }) => {
  const send = url.protocol === 'https:' ? (await import('node:https')).request : request
  return new Promise<FetchResponse>((resolve, reject) => {
    // No connection pool: every command sends one request.
    const options = { method, headers, agent: false, ...(signal === undefined ? {} : { signal }) }
    const sent = send(url, options, (response) => resolve(toFetchResponse(response)))
    sent.once('error', (error) => reject(error))
    sent.end(body)
  })
}

function toFetchResponse(response: IncomingMessage): FetchResponse {
  const status = response.statusCode ?? 0
  return {
    ok: status >= 200 && status < 300,
    status,
    body: response,
    async json() {
      const chunks: Buffer[] = []
      for await (const chunk of response) chunks.push(chunk as Buffer)
      return JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown
    },
  }
}
