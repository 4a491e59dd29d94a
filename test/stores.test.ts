/**
 * The short form of `npm run stores`: three real nodes on a folder and on PostgreSQL; the leader is killed, the server
 * is killed and restarted, and hangs for longer than a lease. Constants bear a busy machine.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { storeSettings, tryStore } from '../src/chaos/index.ts'
import { describeWith, ownServer } from './support/servers.ts'

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
