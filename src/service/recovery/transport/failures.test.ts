/** Failing nodes and given-up calls: real sockets on loopback, and real files. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { columnBytes, keyFor, putColumn } from '../../../../test/support/column-conformance.ts'
import {
  createClient,
  GROUP,
  OK,
  outgoing,
  startNode,
  TOKEN,
  unfinished,
  upload,
} from '../../../../test/support/column-transport.ts'
import { silentPort } from '../../../../test/support/ports.ts'
import { until } from '../../../../test/support/wait.ts'
import { type ColumnStore, ColumnStoreFullError } from '../store/index.ts'
import { BlockParser } from './blocks.ts'
import { receiveBlocks } from './receive.ts'
import type { Verdict } from './replies.ts'

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

  it('ends a transfer whose sender is gone before its bytes are read', async () => {
    const stream = new PassThrough()
    stream.destroy()
    await once(stream, 'close')
    const parser = new BlockParser({ key: Buffer.alloc(32), isSecret: false })
    await expect(receiveBlocks(stream, parser, async () => {})).rejects.toThrow('the connection was closed')
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
