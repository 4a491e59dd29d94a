/**
 * The part of `fetch` that requests to an agent need, over node:http. Loading Node's own fetch takes longer than
 * everything else that `conclave leader` does.
 */
import { Agent, type IncomingMessage, type RequestOptions, request } from 'node:http'
import type { ConnectionOptions } from 'node:tls'
import type { Fetch, FetchResponse } from '../service/client/index.ts'

/** For HTTPS, in PEM format. */
export type ClientTls = {
  /** The authority that signed the certificate of the agent; by default the authorities that Node trusts. */
  readonly ca?: Buffer
  /** The certificate that the agent demands, and its key. */
  readonly cert?: Buffer
  readonly key?: Buffer
  /** Trust an agent with exactly this certificate. Its authority and its names do not matter. */
  readonly pinned?: Buffer
}

/** With `keepAlive`, requests share connections; a command that sends one request needs none. */
export function createFetch({ pinned, ...tls }: ClientTls = {}, { keepAlive = false } = {}): Fetch {
  let agent: Agent | null = null
  return async (url, { method = 'GET', headers = {}, body, signal }) => {
    const isTls = url.protocol === 'https:'
    const https = isTls ? await import('node:https') : null
    if (keepAlive)
      agent ??= https === null ? new Agent({ keepAlive }) : new https.Agent({ keepAlive, ...tls })
    const pinning = isTls && pinned !== undefined ? await connectTo(pinned) : {}
    return new Promise<FetchResponse>((resolve, reject) => {
      const options = {
        method,
        headers,
        agent: agent ?? (false as const),
        ...(signal === undefined ? {} : { signal }),
        ...(isTls ? tls : {}),
        ...pinning,
      }
      const sent = (https?.request ?? request)(url, options, (response) => resolve(toFetchResponse(response)))
      sent.once('error', (error) => reject(error))
      sent.end(body)
    })
  }
}

/** Sends nothing before the server has shown this certificate. */
async function connectTo(pinned: Buffer): Promise<RequestOptions> {
  const [{ X509Certificate }, { connect }] = await Promise.all([import('node:crypto'), import('node:tls')])
  const { fingerprint256 } = new X509Certificate(pinned)
  return {
    // With an agent, Node ignores createConnection.
    agent: undefined,
    createConnection(options, done) {
      const socket = connect({ ...(options as ConnectionOptions), rejectUnauthorized: false })
      socket.once('error', (error) => done(error, socket))
      socket.once('secureConnect', () => {
        if (socket.getPeerCertificate().fingerprint256 === fingerprint256) done(null, socket)
        else socket.destroy(new Error('its certificate is not the one in the configuration'))
      })
      return null
    },
  }
}

export const fetchOverHttp: Fetch = createFetch()

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
