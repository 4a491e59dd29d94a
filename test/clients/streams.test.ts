/** The clients in Python and Go, against servers that interrupt, send junk, ask for TLS, or are not an agent. */
import { mkdtempSync, rmSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { Workplace } from '../support/agents.ts'
import { type Certificates, makeCertificates } from '../support/certificates.ts'
import { findTool } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { ADMIN, describeClients, type Language, type Line, serve, startWorker as start } from './support.ts'

const folder = mkdtempSync(join(tmpdir(), 'conclave-clients-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const LEADER = { group: 'g', leader: null, self: { id: 'a', role: 'follower' } }

/** An agent whose first answer to a claim is late, and that never answers a renewal. */
async function startSilentAgent(): Promise<{ readonly url: string; readonly released: readonly string[] }> {
  let claims = 0
  const released: string[] = []
  const url = await serve((request, response) => {
    if (request.method === 'DELETE') released.push(request.url ?? '')
    if (request.method !== 'POST') {
      response.end('{"lease": {"marginMs": 320}}')
      return
    }
    let text = ''
    request.on('data', (data: Buffer) => (text += data.toString()))
    request.on('end', () => {
      // A renewal that is never answered must not delay the end of the term.
      if (!text.includes('null')) return
      claims += 1
      const body = {
        group: 'g',
        id: 'a',
        claim: `c${claims}`,
        token: claims,
        expiresInMs: 400,
        ending: false,
      }
      // The first answer is late: its 400 ms are counted from before the request.
      setTimeout(() => response.end(JSON.stringify(body)), claims === 1 ? 600 : 0)
    })
  })
  return { url, released }
}

function describeStreams(language: Language): void {
  it('continues a stream after interruptions and junk, from the last event', async () => {
    const asked: (string | undefined)[] = []
    const urls = new Set<string | undefined>()
    const parts = [
      `: hello\n\nevent: snapshot\ndata: ${JSON.stringify(LEADER)}\n\nid: r-1\nevent: elected\ndata: {}\n\n`,
      // An event without its end does not count.
      'id: r-9\nevent: elected\ndata: {',
      'id: r-9\nevent: elected\ndata: this is not JSON\n\n',
      'id: r-2\r\nevent:elected\r\ndata: {\r\ndata: }\r\n\r\n',
    ]
    const agent = await serve((request, response) => {
      const part = parts[asked.length] ?? ''
      asked.push(request.headers['last-event-id'] as string | undefined)
      urls.add(request.url)
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(part, () => setTimeout(() => response.destroy(), 20))
    })
    // Behind a proxy that serves the agent under a path of its own.
    const worker = start(language, 'watch', '--agent', `${agent}/ops/`)
    await worker.said(({ id }) => id === 'r-2')
    expect(worker.lines).toEqual([
      { event: 'snapshot', id: null },
      { event: 'elected', id: 'r-1' },
      { event: 'elected', id: 'r-2' },
    ])
    expect(asked.slice(0, 4)).toEqual([undefined, 'r-1', 'r-1', 'r-1'])
    // Events, and not the status every second.
    expect([...urls]).toEqual(['/ops/v1/events?only=events'])
  })

  it('waits for an agent that has too many watchers, or answers with a page', async () => {
    let requests = 0
    const agent = await serve((_request, response) => {
      requests += 1
      if (requests === 1) response.writeHead(503).end('{"error": {"code": "TooManyWatchers"}}')
      else if (requests === 2) response.writeHead(200, { 'content-type': 'text/html' }).end('<html>\n\n')
      else response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: {}\n\n')
    })
    const worker = start(language, 'watch', '--agent', agent)
    expect(await worker.said(() => true)).toEqual({ event: 'message', id: null })
  })

  it.each<[string, RequestListener]>([
    ['a page', (_request, response) => response.end('<html>')],
    ['JSON of another form', (_request, response) => response.end('[1]')],
    ['a broken connection', (_request, response) => response.destroy()],
  ])('reports %s in place of an answer', async (_what, respond) => {
    const worker = start(language, 'leader', '--agent', await serve(respond))
    expect(await worker.ended).toBe(1)
    expect(worker.lines.at(-1)).toMatchObject({ error: 'unreachable' })
    expect(worker.errors).toBe('')
  })

  it('follows no redirect, so that a token reaches no other server', async () => {
    const asked: string[] = []
    const elsewhere = await serve((request, response) => {
      asked.push(request.url ?? '')
      response.end(JSON.stringify(LEADER))
    })
    const agent = await serve((_request, response) => response.writeHead(307, { location: elsewhere }).end())
    const worker = start(language, 'leader', '--agent', agent, '--admin-token', 'secret')
    expect(await worker.ended).toBe(1)
    expect([worker.lines.at(-1), asked]).toEqual([{ error: 'Unknown', status: 307 }, []])
  })

  it('never acts on an answer that comes after the claim has expired', async () => {
    const { url: agent, released } = await startSilentAgent()
    const worker = start(language, 'lead', '--agent', agent, '--admin-token', 'secret')
    const end = await worker.said(({ event }) => event === 'ended')
    expect(end).toMatchObject({ reason: 'lost', held: false })
    expect(end.token).toBeGreaterThan(1)
    expect(worker.lines.some(({ token }) => token === 1)).toBe(false)
    await until(() => released.includes(`/v1/claim?claim=c${end.token}`))
    expect(released[0]).toBe('/v1/claim?claim=c1')
  })

  it('ends the process with code 7 if its work does not end with the term', async () => {
    const { url } = await startSilentAgent()
    const worker = start(language, 'lead', '--agent', url, '--admin-token', 'secret', '--stubborn')
    expect(await worker.ended).toBe(7)
    expect(worker.lines.at(-1)).toMatchObject({ event: 'began' })
  })
}

const READ_TOKEN = 'a read token of some length'
const openssl = await findTool('openssl')
const place = new Workplace()
afterAll(() => place.close())
let secure: { readonly url: string; readonly certificates: Certificates } | null = null

/** One agent for both clients. It asks for a certificate of the client and for a read token. */
async function startSecureAgent(): Promise<NonNullable<typeof secure>> {
  const certificates = makeCertificates(place.folder)
  const { ca, serverCert, serverKey } = certificates
  const tls = ['--http-cert', serverCert, '--http-key', serverKey, '--http-client-ca', ca]
  const readToken = ['--read-token-file', place.write('read', READ_TOKEN)]
  const agent = place.start(place.alone(...tls, ...readToken, '--admin-token-file', place.path('admin')))
  await agent.logged('elected')
  return { url: await agent.url(), certificates }
}

function describeTls(language: Language): void {
  it.skipIf(openssl.missing !== undefined)(
    `trusts the given authority, and shows certificate and token over https${openssl.missing ?? ''}`,
    async () => {
      secure ??= await startSecureAgent()
      const { url, certificates: known } = secure
      const run = async (...words: readonly string[]): Promise<Line> => {
        const worker = start(language, 'leader', '--agent', url, ...words)
        await worker.ended
        expect(worker.errors).toBe('')
        return worker.lines.at(-1) ?? {}
      }
      const ca = ['--ca-file', known.ca]
      const own = ['--cert-file', known.clientCert, '--key-file', known.clientKey]
      const [complete, asAdmin, untrusted, unknown, without] = await Promise.all([
        run(...ca, ...own, '--read-token', READ_TOKEN),
        run(...ca, ...own, '--admin-token', ADMIN),
        run(...own, '--read-token', READ_TOKEN),
        run(...ca, '--read-token', READ_TOKEN),
        run(...ca, ...own),
      ])
      expect(complete).toHaveProperty('role')
      expect(asAdmin).toHaveProperty('role')
      expect(untrusted).toMatchObject({ error: 'unreachable', message: expect.stringMatching(/certificate/) })
      expect(unknown).toMatchObject({ error: 'unreachable' })
      expect(without).toEqual({ error: 'InvalidReadToken', status: 401 })
    },
    60_000,
  )
}

function describeAsync(language: Language): void {
  it('cancels a task of asyncio when the term ends, and when its own task is cancelled', async () => {
    const { url, released } = await startSilentAgent()
    const words = ['lead', '--agent', url, '--admin-token', 'secret', '--asynchronous']
    const worker = start(language, ...words)
    const end = await worker.said(({ event }) => event === 'ended')
    expect(end).toMatchObject({ reason: 'lost', held: false })
    await until(() => released.includes(`/v1/claim?claim=c${end.token}`))
    // It waits for the next term, and has it.
    const next = await worker.said(({ event, token = 0 }) => event === 'began' && token > (end.token ?? 0))
    worker.signal('SIGTERM')
    await worker.said(({ event, token }) => event === 'ended' && token === next.token)
    expect(await worker.ended).toBe(0)
    expect([worker.lines.at(-1), worker.errors]).toEqual([{ event: 'stopped' }, ''])
  })
}

await describeClients(folder, (language) => {
  describeStreams(language)
  describeTls(language)
  if (language.name === 'Python') describeAsync(language)
})
