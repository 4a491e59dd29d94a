/** The clients in Python and Go, beside an agent whose leases become shorter. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { until } from '../support/wait.ts'
import { describeClients, type Language, serve, startWorker, type Worker } from './support.ts'

const folder = mkdtempSync(join(tmpdir(), 'conclave-lease-lengths-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const LONG = { lease: { lengthMs: 8470, marginMs: 3390 } }
const SHORT = { lease: { lengthMs: 600, marginMs: 240 } }

/** An agent whose status and leases the test decides. Times are those of `performance.now()`. */
class StubAgent {
  status: object = LONG
  /** The rest of the lease; null while the agent does not lead. */
  leftMs: () => number | null = () => null
  /** When the term was claimed. */
  readonly claimedAt: number[] = []
  readonly releasedAt: number[] = []
  readonly renewedAt: number[] = []

  start(): Promise<string> {
    return serve((request, response) => {
      let text = ''
      request.on('data', (data: Buffer) => (text += data.toString()))
      request.on('end', () => {
        if (request.method === 'POST') {
          const [code, body] = this.#claim(text)
          response.writeHead(code).end(JSON.stringify(body))
        } else if (request.url?.includes('/events') === true) response.writeHead(503).end('{}')
        else {
          if (request.method === 'DELETE') this.releasedAt.push(performance.now())
          response.end(JSON.stringify(this.status))
        }
      })
    })
  }

  #claim(text: string): readonly [code: number, body: object] {
    const { claim } = JSON.parse(text) as { readonly claim: string | null }
    const times = claim === null ? this.claimedAt : this.renewedAt
    times.push(performance.now())
    const expiresInMs = this.leftMs()
    if (expiresInMs === null) return [409, { error: { code: 'NotLeader' } }]
    return [200, { group: 'g', id: 'a', claim: 'c', token: 1, expiresInMs, ending: false }]
  }
}

async function lead(language: Language, agent: StubAgent): Promise<Worker> {
  return startWorker(language, 'lead', '--agent', await agent.start(), '--admin-token', 'secret')
}

const hasEnded = ({ lines }: Worker): boolean => lines.some(({ event }) => event === 'ended')

function describeLeaseLengths(language: Language): void {
  it('leads although leases became shorter while it waited', async () => {
    const agent = new StubAgent()
    const worker = await lead(language, agent)
    await until(() => agent.claimedAt.length > 0)
    agent.status = SHORT
    agent.leftMs = () => 500
    await worker.said(({ event }) => event === 'acted')
    expect(worker.errors).toBe('')
  })

  it('waits between claims of leases that are too short, and can be stopped meanwhile', async () => {
    const agent = new StubAgent()
    agent.leftMs = () => 500
    const worker = await lead(language, agent)
    await until(() => agent.claimedAt.length > 2)
    worker.signal('SIGTERM')
    expect(await worker.ended).toBe(0)
    expect([worker.lines, worker.errors]).toEqual([[{ event: 'stopped' }], ''])
    const pauses = agent.claimedAt.slice(1).map((at, index) => at - (agent.claimedAt[index] ?? 0))
    expect(Math.min(...pauses)).toBeGreaterThan(100)
  })

  it.each<[string, object, object]>([
    ['that tune themselves', { ...LONG, timing: { leaseMinMs: 600 } }, LONG],
    ['with new bounds', LONG, SHORT],
  ])('keeps its term when leases %s become shorter', async (_what, before, after) => {
    const agent = new StubAgent()
    agent.status = before
    agent.leftMs = () => 8000
    const worker = await lead(language, agent)
    await worker.said(({ event }) => event === 'acted')
    agent.status = { ...before, ...after }
    // Shorter than the margin that the client had until now, 1483 ms, and longer than a busy machine stalls.
    agent.leftMs = () => 1200
    const renewals = agent.renewedAt.length
    await until(() => agent.renewedAt.length > renewals + 10 || hasEnded(worker))
    expect(hasEnded(worker)).toBe(false)
  })

  it('stops early as before when the agent does not renew its lease', async () => {
    const agent = new StubAgent()
    agent.status = { lease: { lengthMs: 4235, marginMs: 1695 } }
    const end = performance.now() + 4000
    agent.leftMs = () => Math.max(0, end - performance.now())
    const worker = await lead(language, agent)
    await worker.said(({ event }) => event === 'ended')
    await until(() => agent.releasedAt.length > 0)
    // Half of seven eighths of the margin are 741 ms.
    expect(end - (agent.releasedAt[0] ?? end)).toBeGreaterThan(400)
  })
}

await describeClients(folder, describeLeaseLengths)
