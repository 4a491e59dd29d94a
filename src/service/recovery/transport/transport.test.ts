/** Real sockets on loopback, and real files. */
import { randomBytes } from 'node:crypto'
import { request as openRequest } from 'node:http'
import { connect, createServer } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { columnBytes, keyFor, readBytes } from '../../../../test/support/column-conformance.ts'
import {
  CODE,
  createClient,
  download,
  GROUP,
  KEY,
  OK,
  outgoing,
  startNode,
  TOKEN,
  unfinished,
  upload,
} from '../../../../test/support/column-transport.ts'
import { pending, until } from '../../../../test/support/wait.ts'
import { findColumnProblem, openColumnReader } from '../store/index.ts'
import type { Verdict } from './replies.ts'

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
