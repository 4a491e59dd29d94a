/** A blocked HTTP thread does not stop the election. */
import { afterEach, expect, it } from 'vitest'
import { until } from '../../../test/support/wait.ts'
import type { AgentEvent } from '../client/index.ts'
import { type Agent, startAgent } from './agent.ts'

let agent: Agent | null = null

afterEach(async () => {
  await agent?.close()
  agent = null
})

/** Long compared with scheduling delays of a loaded machine, short compared with the time that HTTP is blocked. */
const SIGMA_MS = 300
const LEASES = 2.5

/** Events of an agent while its HTTP thread is blocked for more than two leases, and afterwards. */
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
  // Events of the meantime are reported now.
  await new Promise((resolve) => setTimeout(resolve, 10))
  await until(() => node?.status().role === 'leader')
  return log.map(({ event }) => event).filter((event) => event === 'elected' || event === 'revoked')
}

it('keeps its term while the HTTP thread is blocked for more than two leases', async () => {
  expect(await saidWhileBusy()).toEqual(['elected'])
}, 60_000)

it('loses its term if HTTP and election share a thread', async () => {
  expect(await saidWhileBusy('thread')).toContain('revoked')
}, 60_000)
