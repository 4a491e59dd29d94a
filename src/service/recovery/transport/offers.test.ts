/** Columns that their holder fetches: two nodes with real sockets on loopback, and real files. */
import { randomBytes } from 'node:crypto'
import { connect, createServer } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { columnBytes, keyFor, readBytes } from '../../../../test/support/column-conformance.ts'
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
import type { ColumnClient, ColumnClientOptions } from './client.ts'
import { ColumnOffers } from './offers.ts'
import type { Verdict } from './replies.ts'
import type { ColumnServerOptions } from './server.ts'

const WRITE_BYTES = 40_000
const writesOf = (bytes: Uint8Array): number => Math.ceil(bytes.length / WRITE_BYTES)

type Pair = {
  /** Of node a, which sends. */
  readonly client: ColumnClient
  readonly offers: ColumnOffers
  /** Of node b, which stores. */
  readonly holder: Awaited<ReturnType<typeof startNode>>
  /** Whether node b fetched the column, per upload. */
  readonly fetched: boolean[]
}

type PairOptions = {
  readonly both?: Pick<ColumnServerOptions, 'isSecret'>
  /** For node b, which fetches. */
  readonly fetching?: Partial<ColumnClientOptions>
  /** The port of node a, as node b sees it. */
  readonly through?: (port: number) => Promise<number>
  readonly minOfferBytes?: number
}

async function startPair({
  both = {},
  fetching = {},
  through,
  minOfferBytes = 0,
}: PairOptions = {}): Promise<Pair> {
  const offers = new ColumnOffers()
  const sender = await startNode({ self: 'a', offers, ...both })
  const { port } = sender.server.address
  const seen = (await through?.(port)) ?? port
  const fetcher = createClient(seen, {
    self: 'b',
    addressOf: (node) => (node === 'a' ? { host: '127.0.0.1', port: seen } : null),
    ...both,
    ...fetching,
  })
  const fetched: boolean[] = []
  const holder = await startNode({
    ...both,
    async fetch(...request) {
      const isFetched = await fetcher.fetchOffered(...request)
      fetched.push(isFetched)
      return isFetched
    },
  })
  const client = createClient(holder.server.address.port, { offers, minOfferBytes, ...both })
  return { client, offers, holder, fetched }
}

/** A proxy that changes one byte of what node a sends. */
async function flipByteAt(flipAt: number, port: number): Promise<number> {
  const proxy = createServer((socket) => {
    let passed = 0
    const onward = connect(port, '127.0.0.1')
    onward.on('data', (chunk) => {
      const at = flipAt - passed
      if (at >= 0 && at < chunk.length) chunk[at] = (chunk[at] as number) ^ 1
      passed += chunk.length
      socket.write(chunk)
    })
    socket.pipe(onward)
    socket.on('error', () => {}).on('close', () => onward.destroy())
    onward.on('error', () => {}).on('close', () => socket.destroy())
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void proxy.close())
  await until(() => proxy.listening)
  return (proxy.address() as { port: number }).port
}

describe('an offered column', () => {
  it.each([false, true])('is fetched by its holder (secret: %s)', async (isSecret) => {
    const { client, holder, fetched } = await startPair({ both: { isSecret } })
    for (const epoch of [1, 2, 3]) {
      const key = keyFor({ epoch })
      const bytes = columnBytes(key, randomBytes(9_000_000))
      // oxlint-disable-next-line no-await-in-loop -- later ones use the memory of the first
      expect(await upload(client, bytes, { key, writes: writesOf(bytes) })).toBe(bytes.length)
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect((await readBytes(holder.store, key)).equals(bytes)).toBe(true)
    }
    expect(fetched).toEqual([true, true, true])
  })

  it('waits for a slow disk', async () => {
    const { client, holder, fetched } = await startPair()
    const { store, server } = holder
    let waiting = 0
    let most = 0
    const slow: ColumnStore = {
      ...store,
      place: 'a slow disk',
      list: () => store.list(),
      openRaw: (...request) => store.openRaw(...request),
      async create(key) {
        const writer = await store.create(key)
        return {
          async write(chunks) {
            waiting += 1
            most = Math.max(most, waiting)
            await new Promise((resolve) => setTimeout(resolve, 5))
            await writer.write(chunks)
            waiting -= 1
          },
          finish: () => writer.finish(),
          abort: () => writer.abort(),
        }
      },
    }
    const allow = async (): Promise<Verdict> => OK
    server.serve(GROUP, { store: slow, gate: { mayStore: allow, recordStored: allow, mayRead: allow } })
    const bytes = columnBytes(keyFor(), randomBytes(30_000_000))
    await upload(client, bytes, { writes: writesOf(bytes) })
    expect((await readBytes(store, keyFor())).equals(bytes)).toBe(true)
    expect(fetched).toEqual([true])
    expect(most).toBe(1)
  })

  it('is sent as the body of the request when it cannot be fetched', async () => {
    const silent = await silentPort()
    const bytes = columnBytes(keyFor())
    for (const options of [
      { fetching: { addressOf: () => null } },
      { fetching: { addressOf: () => ({ host: '127.0.0.1', port: 1 }) } },
      { fetching: { idleMs: 50 }, through: async () => silent },
      { fetching: { keys: [Buffer.alloc(32, 8)] } },
    ]) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const { client, holder, fetched } = await startPair(options)
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await upload(client, bytes, { writes: writesOf(bytes) })
      expect(fetched).toEqual([false])
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect((await readBytes(holder.store, keyFor())).equals(bytes)).toBe(true)
      expect(holder.problems).toEqual([])
    }
  })

  it('is not made of a small column', async () => {
    const bytes = columnBytes(keyFor())
    const { client, fetched } = await startPair({ minOfferBytes: bytes.length + 1 })
    await upload(client, bytes, { writes: writesOf(bytes) })
    expect(fetched).toEqual([])
  })

  it('is not asked for again soon at a node that could not be reached', async () => {
    let connections = 0
    const closing = createServer((socket) => {
      connections += 1
      socket.destroy()
    }).listen(0, '127.0.0.1')
    onTestFinished(() => void closing.close())
    await until(() => closing.listening)
    const { client, fetched } = await startPair({
      through: async () => (closing.address() as { port: number }).port,
    })
    for (const epoch of [1, 2]) {
      const key = keyFor({ epoch })
      const bytes = columnBytes(key)
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await upload(client, bytes, { key, writes: writesOf(bytes) })
    }
    expect(fetched).toEqual([false, false])
    expect(connections).toBe(1)
  })

  it('is given to its holder only, and once', async () => {
    const offers = new ColumnOffers()
    const { server } = await startNode({ self: 'a', offers })
    const taken: string[] = []
    const address = { holder: 'b', group: GROUP, key: keyFor() }
    const withdraw = offers.add(address, {
      size: 1,
      length: 1,
      take: ({ stream }) => {
        taken.push('b')
        stream.destroy()
      },
    })
    const wanted = { group: GROUP, token: TOKEN, key: keyFor() }
    const fetchAs = (self: string): Promise<boolean> =>
      createClient(server.address.port, {
        self,
        addressOf: () => ({ host: '127.0.0.1', port: server.address.port }),
      }).fetchOffered('a', wanted, async () => {}, new AbortController().signal)
    expect(await fetchAs('c')).toBe(false)
    expect(taken).toEqual([])
    await expect(fetchAs('b')).rejects.toThrow('the connection was closed')
    expect(taken).toEqual(['b'])
    expect(await fetchAs('b')).toBe(false)
    withdraw()
  })

  it('is refused when a byte is changed on the way', async () => {
    const { client, holder } = await startPair({ through: (port) => flipByteAt(50_000, port) })
    const bytes = columnBytes(keyFor())
    await expect(upload(client, bytes, { writes: writesOf(bytes) })).rejects.toMatchObject({
      status: 400,
      message: expect.stringMatching(/block \d+ is not authentic/),
    })
    expect(await holder.store.list()).toEqual([])
    await until(() => unfinished(holder.folder).length === 0)
  })

  it('is refused when it is not as large as announced', async () => {
    const { client, holder } = await startPair()
    const bytes = columnBytes(keyFor())
    const writes = writesOf(bytes)
    // The length of the body is announced, too: HTTP would not send more.
    await expect(upload(client, bytes, { writes, size: bytes.length + 1 })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining(`has ${bytes.length} bytes; ${bytes.length + 1} were announced`),
    })
    expect(await holder.store.list()).toEqual([])
  })

  it('reports a full disk of the holder', async () => {
    const { client, holder } = await startPair()
    const full = Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })
    const failing: ColumnStore = {
      ...holder.store,
      place: 'a full disk',
      create: async () => ({
        write: async () => {
          throw new ColumnStoreFullError('column 0', 'a full disk', full)
        },
        finish: async () => 0,
        abort: async () => {},
      }),
    }
    const allow = async (): Promise<Verdict> => OK
    holder.server.serve(GROUP, {
      store: failing,
      gate: { mayStore: allow, recordStored: allow, mayRead: allow },
    })
    const bytes = columnBytes(keyFor(), randomBytes(20_000_000))
    await expect(upload(client, bytes, { writes: writesOf(bytes) })).rejects.toMatchObject({
      name: 'TransferRefusedError',
      status: 507,
      message: expect.stringContaining('no space left'),
    })
  })

  it('leaves nothing when the sender gives up, or stops in the middle', async () => {
    const { client, holder, offers } = await startPair({ fetching: { idleMs: 200 } })
    const bytes = columnBytes(keyFor())
    const announced = outgoing(bytes, { writes: writesOf(bytes) })
    const controller = new AbortController()
    const first = await client.put('b', announced, controller.signal)
    await first.write([bytes.subarray(0, WRITE_BYTES)])
    await until(() => unfinished(holder.folder).length === 1)
    controller.abort(new Error('no longer needed'))
    await expect(first.finish()).rejects.toThrow('no longer needed')
    await until(() => unfinished(holder.folder).length === 0)
    const second = await client.put('b', announced)
    await second.abort()
    await until(() => unfinished(holder.folder).length === 0)
    // It goes silent: the holder gives it up.
    const third = await client.put('b', announced)
    await third.write([bytes.subarray(0, WRITE_BYTES)])
    await until(() => unfinished(holder.folder).length === 0)
    await expect(third.finish()).rejects.toThrow(/node "b"/)
    expect(offers.take({ holder: 'b', group: GROUP, key: keyFor() })).toBeNull()
    expect(await holder.store.list()).toEqual([])
    expect(holder.server.load.running).toBe(0)
  })
})
