/** One node that serves columns on loopback, and clients for it. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { type ColumnStore, openDiskStore } from '../../src/service/recovery/store/index.ts'
import {
  ColumnClient,
  type ColumnClientOptions,
  type Outgoing,
} from '../../src/service/recovery/transport/client.ts'
import type { Verdict } from '../../src/service/recovery/transport/replies.ts'
import {
  type ColumnGate,
  ColumnServer,
  type ColumnServerOptions,
} from '../../src/service/recovery/transport/server.ts'
import { keyFor } from './column-conformance.ts'

export const KEY = Buffer.alloc(32, 7)
export const GROUP = 'render farm/1'
export const TOKEN = 10_001
export const CODE = { name: 'evenodd', columns: 5, data: 3 } as const
export const OK: Verdict = { ok: true }

type TransportNode = {
  readonly store: ColumnStore
  readonly server: ColumnServer
  readonly folder: string
  readonly problems: unknown[]
}

export async function startNode(
  options: Partial<ColumnServerOptions> = {},
  gate: Partial<ColumnGate> = {},
): Promise<TransportNode> {
  const folder = mkdtempSync(join(tmpdir(), 'conclave-transport-'))
  const store = await openDiskStore({ folder })
  const problems: unknown[] = []
  const server = await ColumnServer.listen({
    self: 'b',
    host: '127.0.0.1',
    port: 0,
    keys: [KEY],
    onProblem: (error) => problems.push(error),
    ...options,
  })
  const allow = async (): Promise<Verdict> => OK
  server.serve(GROUP, { store, gate: { mayStore: allow, recordStored: allow, mayRead: allow, ...gate } })
  onTestFinished(async () => {
    await server.close()
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return { store, server, folder, problems }
}

export function createClient(port: number, options: Partial<ColumnClientOptions> = {}): ColumnClient {
  const client = new ColumnClient({
    self: 'a',
    keys: [KEY],
    addressOf: (node) => (node === 'b' ? { host: '127.0.0.1', port } : null),
    ...options,
  })
  onTestFinished(() => client.close())
  return client
}

export function outgoing(bytes: Uint8Array, change: Partial<Outgoing> = {}): Outgoing {
  return {
    group: GROUP,
    token: TOKEN,
    key: keyFor(),
    code: CODE,
    bytes: 300_000,
    size: bytes.length,
    ...change,
  }
}

export async function upload(
  client: ColumnClient,
  bytes: Uint8Array,
  change: Partial<Outgoing> = {},
): Promise<number> {
  const writer = await client.put('b', outgoing(bytes, change))
  for (let at = 0; at < bytes.length; at += 40_000)
    // oxlint-disable-next-line no-await-in-loop -- in order
    await writer.write([bytes.subarray(at, at + 8), bytes.subarray(at + 8, at + 40_000)])
  return writer.finish()
}

export async function download(client: ColumnClient, key = keyFor()): Promise<Buffer> {
  const raw = await client.get('b', { group: GROUP, token: TOKEN, key })
  const chunks: Uint8Array[] = []
  for await (const chunk of raw.chunks) chunks.push(chunk)
  await raw.close()
  return Buffer.concat(chunks)
}

export const unfinished = (folder: string): string[] =>
  readdirSync(folder).filter((name) => name.endsWith('.new'))
