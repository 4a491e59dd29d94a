/** Real sockets on loopback, and real files. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { request as openRequest } from 'node:http'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { columnBytes, keyFor, putColumn, readBytes } from '../../../../test/support/column-conformance.ts'
import { silentPort } from '../../../../test/support/ports.ts'
import { pending, until } from '../../../../test/support/wait.ts'
import {
  type ColumnStore,
  ColumnStoreFullError,
  findColumnProblem,
  openColumnReader,
  openDiskStore,
} from '../store/index.ts'
import { ColumnClient, type ColumnClientOptions, type Outgoing } from './client.ts'
import { type ColumnGate, ColumnServer, type ColumnServerOptions, type Verdict } from './server.ts'

const KEY = Buffer.alloc(32, 7)
const GROUP = 'render farm/1'
const TOKEN = 10_001
const CODE = { name: 'evenodd', columns: 5, data: 3 } as const
const OK: Verdict = { ok: true }

type Node = {
  readonly store: ColumnStore
  readonly server: ColumnServer
  readonly folder: string
  readonly problems: unknown[]
}

async function startNode(
  options: Partial<ColumnServerOptions> = {},
  gate: Partial<ColumnGate> = {},
): Promise<Node> {
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

function createClient(port: number, options: Partial<ColumnClientOptions> = {}): ColumnClient {
  const client = new ColumnClient({
    self: 'a',
    keys: [KEY],
    addressOf: (node) => (node === 'b' ? { host: '127.0.0.1', port } : null),
    ...options,
  })
  onTestFinished(() => client.close())
  return client
}

function outgoing(bytes: Uint8Array, change: Partial<Outgoing> = {}): Outgoing {
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

async function upload(
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

async function download(client: ColumnClient, key = keyFor()): Promise<Buffer> {
  const raw = await client.get('b', { group: GROUP, token: TOKEN, key })
  const chunks: Uint8Array[] = []
  for await (const chunk of raw.chunks) chunks.push(chunk)
  await raw.close()
  return Buffer.concat(chunks)
}

const unfinished = (folder: string): string[] => readdirSync(folder).filter((name) => name.endsWith('.new'))

describe('the transport of columns', () => {
  it.each([false, true])('stores and fetches a column (secret: %s)', async (isSecret) => {
    const { server, store } = await startNode({ isSecret })
    const client = createClient(server.address.port, { isSecret })
    const bytes = columnBytes(keyFor(), randomBytes(9_000_000))
    expect(await upload(client, bytes)).toBe(bytes.length)
    expect((await readBytes(store, keyFor())).equals(bytes)).toBe(true)
    expect((await download(client)).equals(bytes)).toBe(true)
    const raw = await client.get('b', { group: GROUP, token: TOKEN, key: keyFor() })
    const reader = await openColumnReader(keyFor(), raw, 'node b')
    expect(reader.header.payloadLength).toBe(9_000_000)
    await reader.close()
  })

  it('tells the protocol what is stored, and acknowledges only after it', async () => {
    const recorded = pending<Verdict>()
    const asked: unknown[] = []
    let isAcknowledged = false
    const { server, store } = await startNode(
      {},
      {
        async recordStored(announced) {
          asked.push(announced)
          return recorded.promise
        },
      },
    )
    const bytes = columnBytes(keyFor())
    const done = upload(createClient(server.address.port), bytes).then(() => {
      isAcknowledged = true
    })
    await until(() => asked.length === 1)
    expect(await findColumnProblem(store, keyFor())).toBeNull()
    expect(isAcknowledged).toBe(false)
    recorded.resolve(OK)
    await done
    const size = bytes.length
    expect(asked).toEqual([
      { group: GROUP, from: 'a', token: TOKEN, key: keyFor(), code: CODE, bytes: 300_000, size },
    ])
  })

  it('refuses an old token before the bytes are sent, and on reading', async () => {
    const refuse = async ({ token }: { readonly token: number }): Promise<Verdict> =>
      token < 20_001 ? { ok: false, reason: `token ${token} is older than the fence 20001` } : OK
    const { server, store, folder } = await startNode({}, { mayStore: refuse, mayRead: refuse })
    const client = createClient(server.address.port)
    const stale = {
      name: 'StaleTokenError',
      status: 409,
      message: expect.stringContaining('the fence 20001'),
    }
    const bytes = columnBytes(keyFor())
    await expect(client.put('b', outgoing(bytes))).rejects.toMatchObject(stale)
    await upload(client, bytes, { token: 20_001 })
    await expect(download(client)).rejects.toMatchObject(stale)
    expect(await store.list()).toHaveLength(1)
    expect(unfinished(folder)).toEqual([])
  })

  it('drops a column when the fence has passed while it was written', async () => {
    const { server, store } = await startNode(
      {},
      { recordStored: async () => ({ ok: false, reason: 'the fence is 20001' }) },
    )
    const done = upload(createClient(server.address.port), columnBytes(keyFor()))
    await expect(done).rejects.toMatchObject({ name: 'StaleTokenError' })
    expect(await store.list()).toEqual([])
  })

  it('reports a column that is not there, and a group that is not served', async () => {
    const { server } = await startNode()
    const client = createClient(server.address.port)
    await expect(download(client)).rejects.toMatchObject({
      name: 'ColumnMissingError',
      message: expect.stringContaining('column 0 of job "render"'),
    })
    await expect(client.get('b', { group: 'another', token: TOKEN, key: keyFor() })).rejects.toMatchObject({
      name: 'TransferRefusedError',
      message: expect.stringContaining('does not serve the group "another"'),
    })
    await expect(client.get('c', { group: GROUP, token: TOKEN, key: keyFor() })).rejects.toThrow(
      'node "c" failed: its address is unknown',
    )
  })

  it('uses a connection again', async () => {
    const { server } = await startNode()
    let connections = 0
    const { port } = server.address
    // A proxy that counts connections.
    const proxy = createServer((socket) => {
      connections += 1
      const onward = connect(port, '127.0.0.1')
      socket.pipe(onward).pipe(socket)
      socket.on('error', () => onward.destroy())
      onward.on('error', () => socket.destroy())
    }).listen(0, '127.0.0.1')
    onTestFinished(() => void proxy.close())
    await until(() => proxy.listening)
    const through = createClient((proxy.address() as { port: number }).port)
    for (const epoch of [1, 2, 3]) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await upload(through, columnBytes(keyFor({ epoch })), { key: keyFor({ epoch }) })
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await download(through, keyFor({ epoch }))
    }
    expect(connections).toBe(1)
  })
})

describe('the transport refuses', () => {
  it('another key, another receiver, and another setting for secrecy', async () => {
    const { server } = await startNode()
    const { port } = server.address
    const other = createClient(port, { keys: [Buffer.alloc(32, 8)] })
    await expect(other.put('b', outgoing(columnBytes(keyFor())))).rejects.toMatchObject({
      name: 'TransferRefusedError',
      status: 401,
      message: expect.stringContaining('signed with another key'),
    })
    const toAnother = createClient(port, { addressOf: () => ({ host: '127.0.0.1', port }) })
    await expect(toAnother.get('c', { group: GROUP, token: TOKEN, key: keyFor() })).rejects.toMatchObject({
      status: 401,
      message: expect.stringContaining('the signature does not match'),
    })
    const secret = createClient(port, { isSecret: true })
    await expect(secret.get('b', { group: GROUP, token: TOKEN, key: keyFor() })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('same setting for secrecy'),
    })
  })

  it('nothing while keys are rotated', async () => {
    const next = Buffer.alloc(32, 9)
    const { server } = await startNode({ keys: [KEY, next] })
    const bytes = columnBytes(keyFor())
    await upload(createClient(server.address.port, { keys: [next, KEY] }), bytes)
    expect(await download(createClient(server.address.port))).toHaveLength(bytes.length)
  })

  it('requests that are malformed or not signed', async () => {
    const { server, problems } = await startNode()
    const { port } = server.address
    const ask = (method: string, path: string, headers: { [name: string]: string } = {}): Promise<number> =>
      new Promise((resolve, reject) => {
        openRequest({ host: '127.0.0.1', port, method, path, headers }, (response) => {
          response.resume()
          resolve(response.statusCode ?? 0)
        })
          .on('error', reject)
          .end()
      })
    const good = '/recovery/1/g/columns/render~1~0~1~1~0~aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'
    expect(await ask('POST', good)).toBe(405)
    expect(await ask('GET', '/')).toBe(400)
    expect(await ask('GET', '/recovery/1/g/columns/..%2f..%2fetc')).toBe(400)
    expect(
      await ask('GET', '/recovery/1/%zz/columns/render~1~0~1~1~0~aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'),
    ).toBe(400)
    expect(await ask('GET', good)).toBe(400)
    expect(await ask('GET', good, { 'conclave-from': '1', 'conclave-token': '-1' })).toBe(400)
    expect(await ask('GET', good, { 'conclave-from': '1', 'conclave-token': '1' })).toBe(401)
    expect(
      await ask('PUT', good, { 'conclave-from': '1', 'conclave-token': '1', authorization: 'Conclave-1 x' }),
    ).toBe(401)
    expect(problems).toEqual([])
  })

  it('a column that is too large, or not as large as announced', async () => {
    const { server, store, folder } = await startNode({ maxColumnBytes: 200_000 })
    const client = createClient(server.address.port)
    const bytes = columnBytes(keyFor())
    await expect(client.put('b', outgoing(bytes, { size: 200_001 }))).rejects.toMatchObject({ status: 413 })
    await expect(upload(client, bytes, { size: bytes.length - 1 })).rejects.toMatchObject({ status: 413 })
    await expect(upload(client, bytes, { size: bytes.length + 1 })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining(`has ${bytes.length} bytes; ${bytes.length + 1} were announced`),
    })
    expect(await store.list()).toEqual([])
    await until(() => unfinished(folder).length === 0)
  })

  it('a request that is sent again, and a body that is changed on the way', async () => {
    const { server, store, folder } = await startNode()
    const { port } = server.address
    const bytes = columnBytes(keyFor())
    const recorded: Buffer[] = []
    let flipAt = -1
    const proxy = createServer((socket) => {
      let passed = 0
      const onward = connect(port, '127.0.0.1')
      socket.on('data', (chunk) => {
        recorded.push(Buffer.from(chunk))
        const at = flipAt - passed
        if (at >= 0 && at < chunk.length) chunk[at] = (chunk[at] as number) ^ 1
        passed += chunk.length
        onward.write(chunk)
      })
      onward.pipe(socket)
      socket.on('error', () => {}).on('close', () => onward.destroy())
      onward.on('error', () => {}).on('close', () => socket.destroy())
    }).listen(0, '127.0.0.1')
    onTestFinished(() => void proxy.close())
    await until(() => proxy.listening)
    const proxied = (proxy.address() as { port: number }).port
    await upload(createClient(proxied), bytes)
    await store.drop(keyFor())
    // The same bytes once more, from someone without the key.
    const replies = await new Promise<string>((resolve) => {
      let text = ''
      const socket = connect(port, '127.0.0.1', () => socket.write(Buffer.concat(recorded)))
      socket
        .on('data', (chunk) => (text += chunk))
        .on('close', () => resolve(text))
        .on('error', () => {})
      void until(() => text.includes('sent before')).then(() => socket.destroy())
    })
    expect(replies).toMatch(/^HTTP\/1.1 401 [\s\S]*the request was sent before/)
    flipAt = 50_000
    await expect(upload(createClient(proxied), bytes)).rejects.toMatchObject({
      status: 400,
      message: expect.stringMatching(/block \d+ is not authentic/),
    })
    expect(await store.list()).toEqual([])
    await until(() => unfinished(folder).length === 0)
  })
})

describe('the transport under failures', () => {
  it('reports a full disk of the other node', async () => {
    const { store, server, problems } = await startNode()
    const full = Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })
    const failing: ColumnStore = {
      ...store,
      place: 'a full disk',
      async create(key) {
        const writer = await store.create(key)
        return {
          write: async () => {
            await writer.abort()
            throw new ColumnStoreFullError('column 0', 'a full disk', full)
          },
          finish: () => writer.finish(),
          abort: () => writer.abort(),
        }
      },
    }
    const allow = async (): Promise<Verdict> => OK
    server.serve(GROUP, { store: failing, gate: { mayStore: allow, recordStored: allow, mayRead: allow } })
    const bytes = columnBytes(keyFor(), randomBytes(20_000_000))
    await expect(upload(createClient(server.address.port), bytes)).rejects.toMatchObject({
      name: 'TransferRefusedError',
      status: 507,
      message: expect.stringContaining('no space left'),
    })
    expect(problems).toHaveLength(1)
  })

  it('releases everything when a call is given up', async () => {
    const { server, folder, problems } = await startNode()
    const client = createClient(server.address.port)
    const bytes = columnBytes(keyFor())
    const controller = new AbortController()
    const writer = await client.put('b', outgoing(bytes), controller.signal)
    await writer.write([bytes.subarray(0, 50_000)])
    await until(() => unfinished(folder).length === 1)
    controller.abort(new Error('no longer needed'))
    await expect(writer.finish()).rejects.toThrow('no longer needed')
    await until(() => unfinished(folder).length === 0)
    const second = await client.put('b', outgoing(bytes))
    await second.write([bytes.subarray(0, 50_000)])
    await second.abort()
    await until(() => unfinished(folder).length === 0)
    expect(problems).toEqual([])
  })

  it('lets a few transfers run, a few wait, and refuses the rest', async () => {
    const { server } = await startNode({ maxTransfers: 2, maxWaiting: 1 })
    const client = createClient(server.address.port)
    const bytes = columnBytes(keyFor())
    const keys = [1, 2, 3, 4].map((epoch) => keyFor({ epoch }))
    const running = await Promise.all(
      keys.slice(0, 2).map((key) => client.put('b', outgoing(columnBytes(key), { key }))),
    )
    let isReady = false
    const waiting = client.put('b', outgoing(bytes, { key: keys[2] as never })).then((writer) => {
      isReady = true
      return writer
    })
    await until(() => server.load.waiting === 1)
    await expect(async () => {
      const outcome = client.put('b', outgoing(bytes, { key: keys[3] as never }))
      await outcome.then((writer) => writer.abort())
    }).rejects.toMatchObject({ status: 503, message: expect.stringContaining('try again') })
    expect(isReady).toBe(false)
    await running[0]?.abort()
    await (await waiting).abort()
    await running[1]?.abort()
    await until(() => server.load.running === 0)
  })

  it('does not wait for the protocol when it is closed', async () => {
    let asked = 0
    const never = (): Promise<Verdict> => {
      asked += 1
      return new Promise(() => {})
    }
    const { server } = await startNode({}, { mayStore: never, mayRead: never })
    const client = createClient(server.address.port)
    const calls = [
      client.put('b', outgoing(columnBytes(keyFor()))),
      client.get('b', { group: GROUP, token: TOKEN, key: keyFor() }),
    ].map((call) => expect(call).rejects.toMatchObject({ name: 'TransferFailedError' }))
    await until(() => asked === 2)
    await server.close()
    await Promise.all(calls)
    expect(server.load.running).toBe(0)
  })

  it('gives up a node that does not answer', async () => {
    const client = createClient(await silentPort(), { idleMs: 50 })
    await expect(client.put('b', outgoing(columnBytes(keyFor())))).rejects.toMatchObject({
      name: 'TransferFailedError',
      message: expect.stringContaining('nothing moved for 50 ms'),
    })
    await expect(client.get('b', { group: GROUP, token: TOKEN, key: keyFor() })).rejects.toMatchObject({
      name: 'TransferFailedError',
    })
  })

  it('gives up a sender that stops in the middle', async () => {
    const { server, folder } = await startNode({ idleMs: 100 })
    const client = createClient(server.address.port)
    const bytes = columnBytes(keyFor())
    const writer = await client.put('b', outgoing(bytes))
    await writer.write([bytes.subarray(0, 50_000)])
    await until(() => unfinished(folder).length === 0)
    await expect(writer.finish()).rejects.toMatchObject({ name: 'TransferFailedError' })
  })

  it('reports a server that ends in the middle of a column', async () => {
    const { server, store } = await startNode()
    const client = createClient(server.address.port)
    await putColumn(store, keyFor(), columnBytes(keyFor(), randomBytes(30_000_000)))
    const raw = await client.get('b', { group: GROUP, token: TOKEN, key: keyFor() })
    const iterator = raw.chunks[Symbol.asyncIterator]()
    await iterator.next()
    await server.close()
    await expect(async () => {
      // oxlint-disable-next-line no-await-in-loop -- until it fails
      while ((await iterator.next()).done !== true);
    }).rejects.toMatchObject({ name: 'TransferFailedError' })
    await raw.close()
    await expect(client.put('b', outgoing(columnBytes(keyFor())))).rejects.toMatchObject({
      name: 'TransferFailedError',
      message: expect.stringContaining('ECONNREFUSED'),
    })
  })
})
