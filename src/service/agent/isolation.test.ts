/** Whatever HTTP does to the thread that answers it, the election goes on. */
import { afterEach, expect, it } from 'vitest'
import { until } from '../../../test/support/wait.ts'
import type { AgentEvent } from '../client/index.ts'
import { type Agent, startAgent } from './agent.ts'

let agent: Agent | null = null

afterEach(async () => {
  await agent?.close()
  agent = null
})

/** Long beside the turns that a busy machine takes away, short beside the time for which HTTP is kept busy. */
const SIGMA_MS = 300
const LEASES = 2.5

/** What an agent says of its lead while the thread of HTTP has no turn for longer than two leases, and after it. */
async function saidWhileBusy(isolation?: 'thread'): Promise<readonly string[]> {
  const log: AgentEvent[] = []
  const key = new Uint8Array(32).fill(3)
  agent = await startAgent({
    groups: [
      {
        group: 'g',
        id: 'a',
        listen: '127.0.0.1:0',
        peers: [],
        key,
        options: { sigmaMs: SIGMA_MS },
        ...(isolation === undefined ? {} : { isolation }),
      },
    ],
    version: '0',
    http: { host: '127.0.0.1', port: 0 },
    adminToken: null,
    log: (event) => log.push(event),
  })
  await until(() => log.some(({ event }) => event === 'elected'))
  const [node] = agent.nodes
  const lengthMs = node?.lease.lengthMs ?? Number.NaN
  const end = performance.now() + LEASES * lengthMs
  while (performance.now() < end);
  // What was due meanwhile is said now.
  await new Promise((resolve) => setTimeout(resolve, 10))
  await until(() => node?.status().role === 'leader')
  return log.map(({ event }) => event).filter((event) => event === 'elected' || event === 'revoked')
}

it('an agent keeps the lead while its HTTP has no turn for longer than two leases', async () => {
  expect(await saidWhileBusy()).toEqual(['elected'])
}, 60_000)

it('would lose it if both were done in one thread', async () => {
  expect(await saidWhileBusy('thread')).toContain('revoked')
}, 60_000)
