/**
 * An agent without a node: it serves the page as agents do, and its tests decide what it says. For what real agents
 * cannot be made to do quickly: 10,000 events, junk, tokens that expire, other versions.
 */
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname } from 'node:path'
import type {
  AgentEvent,
  HistoryResponse,
  LocalResponse,
  StatusResponse,
} from '../../src/service/client/index.ts'
import { exampleHistory, exampleStatus } from './example.ts'

const ROOT = new URL('../../dist/web/', import.meta.url)
const TYPES: { readonly [extension: string]: string } = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
}
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

type Answer = { readonly status: number; readonly body: unknown }

export class FakeAgent {
  /** By group; the first is the default. */
  readonly statuses = new Map<string, StatusResponse>()
  history: HistoryResponse | null
  local: LocalResponse | null = null
  /** Required for every request that begins with /v1; null: none. */
  readToken: string | null = null
  adminToken = 'right'
  /** Bodies of POST requests, by path. */
  readonly posted: { readonly path: string; readonly body: unknown }[] = []
  readonly #streams = new Map<ServerResponse, string>()
  #server: Server | null = null
  #timer: ReturnType<typeof setInterval> | null = null
  #port = 0
  #events = 0

  constructor(status: StatusResponse = exampleStatus(), history: HistoryResponse | null = exampleHistory()) {
    this.statuses.set(status.group, status)
    this.history = history
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/`
  }

  /** `Last-Event-ID` of each stream that was opened. */
  readonly resumed: string[] = []

  /** Starts to listen, the second time at the same port. */
  async start(): Promise<void> {
    const server = createServer((request, response) => void this.#serve(request, response))
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve))
    this.#port = (server.address() as AddressInfo).port
    this.#server = server
    this.#timer = setInterval(() => this.sendStatus(), 1000)
  }

  async stop(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer)
    const server = this.#server
    this.#server = null
    const closed = new Promise((resolve) => server?.close(resolve))
    server?.closeAllConnections()
    this.#streams.clear()
    if (server !== null) await closed
  }

  /** Changes the status of the default group, and sends it. */
  change(change: Partial<StatusResponse>): void {
    const [first] = this.statuses.values()
    if (first !== undefined) this.statuses.set(first.group, { ...first, ...change })
    this.sendStatus()
  }

  sendStatus(): void {
    for (const [stream, group] of this.#streams) {
      const status = { ...this.statuses.get(group), at: new Date().toISOString() }
      stream.write(`event: status\ndata: ${JSON.stringify(status)}\n\n`)
    }
  }

  closeStreams(): void {
    for (const stream of this.#streams.keys()) stream.destroy()
  }

  /** Events of the log have an id. */
  sendEvents(events: readonly Partial<AgentEvent>[]): void {
    const [status] = this.statuses.values()
    const text = events.map((event) => {
      this.#events += 1
      const whole = {
        at: new Date().toISOString(),
        group: status?.group,
        self: status?.self.id,
        event: 'change',
        leader: null,
        token: null,
        term: null,
        reason: null,
        ...event,
      }
      return `id: fake-${this.#events}\nevent: ${whole.event}\ndata: ${JSON.stringify(whole)}\n\n`
    })
    this.sendRaw(text.join(''))
  }

  send(name: string, value: unknown): void {
    this.sendRaw(`event: ${name}\ndata: ${JSON.stringify(value)}\n\n`)
  }

  sendRaw(text: string): void {
    for (const stream of this.#streams.keys()) stream.write(text)
  }

  get streams(): number {
    return this.#streams.size
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.url)
    if (!url.pathname.startsWith('/v1')) {
      this.#serveFile(url.pathname, response)
      return
    }
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const isAllowed = [this.readToken, this.adminToken].includes(
      (request.headers.authorization ?? '').replace('Bearer ', ''),
    )
    if (this.readToken !== null && !isAllowed) {
      reply(response, refusal(401, 'InvalidToken', 'the token is missing, wrong or expired'))
      return
    }
    const group = url.searchParams.get('group') ?? this.statuses.keys().next().value ?? ''
    if (url.pathname === '/v1/events' && this.statuses.has(group)) this.#stream(request, response, group)
    else reply(response, this.#answer(request, url, Buffer.concat(chunks).toString()))
  }

  #answer(request: IncomingMessage, url: URL, body: string): Answer {
    if (request.method === 'POST') {
      this.posted.push({ path: url.pathname, body: body === '' ? null : (JSON.parse(body) as unknown) })
      if (
        !url.pathname.startsWith('/v1/local') &&
        request.headers.authorization !== `Bearer ${this.adminToken}`
      )
        return refusal(401, 'InvalidAdminToken', 'the admin token is missing or wrong')
      return { status: 200, body: {} }
    }
    const names = [...this.statuses.keys()]
    const name = url.searchParams.get('group') ?? names[0] ?? ''
    const status = this.statuses.get(name)
    switch (url.pathname) {
      case '/v1/groups':
        return { status: 200, body: { version: '0.1.0', groups: names } }
      case '/v1/status':
        if (status === undefined)
          return refusal(
            404,
            'UnknownGroup',
            `this agent does not serve the group ${name}; it serves ${names.join(', ')}`,
          )
        return { status: 200, body: { ...status, at: new Date().toISOString() } }
      case '/v1/history':
        if (this.history !== null) return { status: 200, body: this.history }
        break
      case '/v1/trace':
        if (request.headers.authorization !== `Bearer ${this.adminToken}`)
          return refusal(401, 'InvalidAdminToken', 'the admin token is missing or wrong')
        return { status: 200, body: { trace: 1 } }
      case '/v1/local':
        if (this.local !== null) return { status: 200, body: { ...this.local, url: this.url } }
        break
      default:
    }
    return refusal(404, 'NotFound', `unknown path: GET ${url.pathname}`)
  }

  #stream(request: IncomingMessage, response: ServerResponse, group: string): void {
    this.resumed.push(String(request.headers['last-event-id'] ?? ''))
    response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    response.write(': keep-alive\n\n')
    this.#streams.set(response, group)
    response.on('close', () => this.#streams.delete(response))
  }

  #serveFile(path: string, response: ServerResponse): void {
    const name = path === '/' ? 'index.html' : path.slice(1)
    try {
      const content = readFileSync(new URL(name, ROOT))
      response.writeHead(200, {
        'Content-Type': TYPES[extname(name)] ?? 'application/octet-stream',
        'Content-Security-Policy': POLICY,
      })
      response.end(content)
    } catch {
      response.writeHead(404).end()
    }
  }
}

function refusal(status: number, code: string, message: string): Answer {
  return { status, body: { error: { code, message, field: null } } }
}

function reply(response: ServerResponse, { status, body }: Answer): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
}
