/**
 * The short form of `npm run stores`: three real nodes on a folder and on PostgreSQL; the leader is killed, the server
 * is killed and restarted, and hangs for longer than a lease. Then one fault of the rig on every kind of server; what a
 * network does to single calls is tried beside each backend (test/support/outages.ts). Constants bear a busy machine.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { describeWith, ownServer, type ServerName } from '../../../test/support/servers.ts'
import { SHORT_RESTART, storeSettings, tryFaults, tryStore } from './index.ts'

const SLACK = { nodes: 3, times: 1, periodMs: 600, accessMs: 60, killBeforeMs: 120, say: () => {} }

it('three nodes in a folder: the leader is killed, never two lead', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'conclave-stores-'))
  try {
    expect(await tryStore(storeSettings(SLACK), `file:${folder}`, null)).toMatchObject({ problems: [] })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}, 120_000)

await describeWith('postgres', 'three nodes in PostgreSQL', () => {
  it('leader killed, server killed, server stopped: never two lead, and leadership returns', async () => {
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
      it('server restarted at once: a leader, no spinning, the next leader, and every process ends', async () => {
        const server = await ownServer(name)
        try {
          const settings = storeSettings({ ...SLACK, say: () => {} })
          const [row] = await tryFaults(settings, server.url, server, [SHORT_RESTART], { isBrief: true })
          expect(row).toMatchObject({ problems: [], overlaps: 0 })
          // The kill of the leader and every order to end were really tried.
          expect([row?.nextMs.length, row?.exitMs.length]).toEqual([1, 2])
        } finally {
          await server.end()
        }
      }, 120_000)
    }),
  ),
)
