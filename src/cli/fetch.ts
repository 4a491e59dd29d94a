/**
 * The little of `fetch` that asking an agent needs, over node:http: loading Node's own fetch takes longer than all the
 * rest of `conclave leader`.
 */
import { type IncomingMessage, request } from 'node:http'
import type { Fetch, FetchResponse } from '../service/client/index.ts'

export const fetchOverHttp: Fetch = async (url, { method = 'GET', headers = {}, body, signal }) => {
  const send = url.protocol === 'https:' ? (await import('node:https')).request : request
  return new Promise<FetchResponse>((resolve, reject) => {
    // Nobody asks twice: without an agent the connection ends with the answer.
    const options = { method, headers, agent: false, ...(signal === undefined ? {} : { signal }) }
    const asking = send(url, options, (answer) => resolve(fetched(answer)))
    asking.once('error', (error) => reject(error))
    asking.end(body)
  })
}

function fetched(answer: IncomingMessage): FetchResponse {
  const status = answer.statusCode ?? 0
  return {
    ok: status >= 200 && status < 300,
    status,
    body: answer,
    async json() {
      const pieces: Buffer[] = []
      for await (const piece of answer) pieces.push(piece as Buffer)
      return JSON.parse(Buffer.concat(pieces).toString('utf8')) as unknown
    },
  }
}
