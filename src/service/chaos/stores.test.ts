/**
 * The short form of `npm run stores`: three real nodes on a folder and on PostgreSQL. The leader is killed; the server is
 * killed, restarted, and hangs for longer than a lease. Then one fault of the rig on every kind of server. Faults of
 * single calls are tested next to each backend (test/support/outages.ts). The constants suit a loaded machine.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, expect, it, vi } from 'vitest'
import { describeWith, ownServer, type ServerName } from '../../../test/support/servers.ts'
import { SHORT_RESTART, storeSettings, tryFaults, tryStore } from './index.ts'

const SLACK = {
  protocol: 'epochs',
  nodes: 3,
  times: 1,
  periodMs: 600,
  accessMs: 60,
  killBeforeMs: 120,
  onProgress: () => {},
}

beforeAll(() => {
  vi.stubEnv('WITNESS_SECONDS', '0.05')
})

it('never shows two leaders on a folder when the leader is killed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'conclave-stores-'))
  try {
    expect(await tryStore(storeSettings(SLACK), `file:${folder}`, null)).toMatchObject({ problems: [] })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}, 120_000)

await describeWith('postgres', 'three nodes on PostgreSQL', () => {
  it('never shows two leaders, and recovers from the kill of the leader and of the server, and from a hung server', async () => {
    const server = await ownServer('postgres')
    try {
      const settings = storeSettings(SLACK)
      expect(await tryStore(settings, server.url, server)).toMatchObject({ problems: [] })
    } finally {
      await server.end()
    }
  }, 120_000)
})

const NAMES: readonly ServerName[] = ['postgres', 'redis', 'etcd', 'nats']
await Promise.all(
  NAMES.map((name) =>
    describeWith(name, `three nodes on ${name}`, () => {
      it('recovers from a server restart without a busy loop, fails over, and exits on SIGTERM', async () => {
        const server = await ownServer(name)
        try {
          const settings = storeSettings({ ...SLACK, onProgress: () => {} })
          const [row] = await tryFaults(settings, server.url, server, [SHORT_RESTART], { isBrief: true })
          expect(row).toMatchObject({ problems: [], overlaps: 0 })
          // The kill of the leader and both terminations happened.
          expect([row?.failoverMs.length, row?.exitMs.length]).toEqual([1, 2])
        } finally {
          await server.end()
        }
      }, 120_000)
    }),
  ),
)
