/** What the settings of a Redis server say about it, with a client that the test plays: no server is needed. */
import { EventEmitter } from 'node:events'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { openRedis } from './redis.ts'

const server = vi.hoisted(() => ({
  info: '' as string,
  config: [] as string[] | Error,
  evaluated: [] as unknown[][],
  answer: (() => null) as (...words: unknown[]) => unknown,
  connectError: null as Error | null,
  disconnects: 0,
}))

vi.mock('ioredis', () => ({
  Redis: class extends EventEmitter {
    async connect(): Promise<void> {
      if (server.connectError !== null) {
        this.emit('error', server.connectError)
        throw new Error('Connection is closed.')
      }
    }
    info = async (): Promise<string> => server.info
    config = async (): Promise<string[]> => {
      if (server.config instanceof Error) throw server.config
      return server.config
    }
    eval = async (...words: unknown[]): Promise<unknown> => {
      server.evaluated.push(words)
      return server.answer(...words)
    }
    disconnect(): void {
      server.disconnects += 1
    }
  },
}))

const INFO = { loading: '0', redis_mode: 'standalone', role: 'master', connected_slaves: '0' }
const CONFIG = { appendonly: 'yes', appendfsync: 'always', 'maxmemory-policy': 'noeviction', maxmemory: '0' }
const OPTIONS = { url: 'redis://me:secret@h:6379', prefix: 'conclave', acceptWeak: false }
const SIGNAL = new AbortController().signal

function setUp(info: object = {}, config: object = {}): void {
  server.info = Object.entries({ ...INFO, ...info })
    .map(([name, value]) => `${name}:${value}\r\n`)
    .join('')
  server.config = Object.entries({ ...CONFIG, ...config }).flat()
}

beforeEach(() => {
  setUp()
  server.evaluated.length = 0
  server.answer = () => []
  server.connectError = null
  server.disconnects = 0
})

const failure = async (acceptWeak = false): Promise<unknown> =>
  openRedis({ ...OPTIONS, acceptWeak }, 'g').catch((error: unknown) => error)

describe('a server that cannot hold registers', () => {
  it.each<[string, object, string, string]>([
    ['is loading', { loading: '1' }, 'StoreUnreachableError', 'it is loading its data'],
    [
      'is Sentinel',
      { redis_mode: 'sentinel' },
      'UnsuitableStoreError',
      'it is a sentinel; use a standalone server',
    ],
    [
      'is Cluster',
      { redis_mode: 'cluster' },
      'UnsuitableStoreError',
      'it is a cluster; use a standalone server',
    ],
    ['is a replica', { role: 'slave' }, 'UnsuitableStoreError', 'it is a replica, whose data may be stale'],
  ])('%s, even with acceptWeak', async (_what, info, name, message) => {
    setUp(info)
    expect(await failure(true)).toMatchObject({ name, message: expect.stringContaining(message) })
    expect(server.disconnects).toBeGreaterThan(0)
  })
})

describe('a weak server', () => {
  const cases: readonly [string, object, object, string][] = [
    ['has replicas', { connected_slaves: '2' }, {}, 'it has 2 replicas: a failover to one of them loses'],
    [
      'has no log',
      {},
      { appendonly: 'no' },
      'appendonly is no: a crash loses acknowledged writes; set appendonly yes',
    ],
    [
      'flushes its log once per second',
      {},
      { appendfsync: 'everysec' },
      'appendfsync is everysec: a crash loses acknowledged writes; set appendfsync always',
    ],
    [
      'evicts keys',
      {},
      { 'maxmemory-policy': 'allkeys-lru', maxmemory: '100mb' },
      'maxmemory-policy is allkeys-lru: keys can be evicted; set noeviction',
    ],
  ]

  it.each(cases)('%s: refused without acceptWeak, listed with it', async (_what, info, config, problem) => {
    setUp(info, config)
    expect(await failure()).toMatchObject({
      name: 'UnsuitableStoreError',
      message: expect.stringContaining(problem),
    })
    const { facts } = await openRedis({ ...OPTIONS, acceptWeak: true }, 'g')
    expect(facts.weak).toEqual([expect.stringContaining(problem)])
    expect(facts.sound).not.toContain('every write is on disk before it is acknowledged')
  })

  it('has all its problems listed', async () => {
    setUp({ connected_slaves: '1' }, { appendonly: 'no', appendfsync: 'no' })
    const { facts } = await openRedis({ ...OPTIONS, acceptWeak: true }, 'g')
    expect(facts.weak).toHaveLength(3)
  })

  it('may hide its settings', async () => {
    server.config = new Error('NOPERM no permissions to run CONFIG')
    expect(await failure()).toMatchObject({
      message: expect.stringContaining('cannot read its settings (NOPERM no permissions to run CONFIG)'),
    })
  })
})

describe('a good server', () => {
  it('has its facts, without the password', async () => {
    const { facts } = await openRedis(OPTIONS, 'g')
    expect(facts).toMatchObject({
      kind: 'redis',
      place: 'redis://me:***@h:6379, key conclave:g',
      weak: [],
    })
    expect(facts.sound).toContain('every write is on disk before it is acknowledged')
  })

  it('may limit its memory without evicting keys, and evict by policy without a limit', async () => {
    setUp({}, { maxmemory: '100mb' })
    expect((await openRedis(OPTIONS, 'g')).facts.weak).toEqual([])
    setUp({}, { 'maxmemory-policy': 'allkeys-lru' })
    expect((await openRedis(OPTIONS, 'g')).facts.weak).toEqual([])
  })
})

describe('cells', () => {
  it('are fields of one hash: the version, a space and the body', async () => {
    const store = await openRedis(OPTIONS, 'g')
    server.answer = () => ['b_1', '12 a body with spaces', 'b-a', '3 x']
    expect(await store.read(SIGNAL)).toEqual([
      { name: 'b_1', version: '12', body: 'a body with spaces' },
      { name: 'b-a', version: '3', body: 'x' },
    ])
    expect(server.evaluated[0]?.slice(1)).toEqual([1, 'conclave:g'])
  })

  it.each<[string | null, number, string | null, readonly unknown[]]>([
    [null, 1, '1', [1, 'conclave:g', 'b_1', '', '1 body']],
    ['7', 1, '8', [1, 'conclave:g', 'b_1', '7', '8 body']],
    ['7', 0, null, [1, 'conclave:g', 'b_1', '7', '8 body']],
  ])('expected in version %j, and the answer %i: %j', async (expected, answer, version, words) => {
    const store = await openRedis(OPTIONS, 'g')
    server.answer = () => answer
    expect(await store.write('b_1', 'body', expected, SIGNAL)).toBe(version)
    expect(server.evaluated[0]?.slice(1)).toEqual(words)
  })
})

describe('an error', () => {
  it.each([
    [
      'NOAUTH Authentication required.',
      'StoreAccessDeniedError',
      'check user, password and the rights to EVAL',
    ],
    ['WRONGPASS invalid username-password pair', 'StoreAccessDeniedError', 'WRONGPASS'],
    ['NOPERM this user has no permissions', 'StoreAccessDeniedError', 'NOPERM'],
    ['REPLICA', 'UnsuitableStoreError', 'has become a replica, whose data may be stale'],
    ["READONLY You can't write against a read only replica.", 'UnsuitableStoreError', 'has become a replica'],
    ['connect ECONNREFUSED 127.0.0.1:6379', 'StoreUnreachableError', 'ECONNREFUSED'],
    ["Stream isn't writeable and enableOfflineQueue options is false", 'StoreUnreachableError', 'writeable'],
    ['Connection is closed.', 'StoreUnreachableError', 'closed'],
    ['OOM command not allowed when used memory > maxmemory', 'Error', 'OOM command not allowed'],
  ])('of a call, %j, is a %s', async (text, name, message) => {
    const store = await openRedis(OPTIONS, 'g')
    server.answer = () => {
      throw new Error(text)
    }
    await expect(store.read(SIGNAL)).rejects.toMatchObject({
      name,
      message: expect.stringContaining(message),
    })
  })

  it('of the connection says more than the client, which only says that it is closed', async () => {
    server.connectError = new Error('WRONGPASS invalid username-password pair')
    expect(await failure()).toMatchObject({
      name: 'StoreAccessDeniedError',
      message: expect.stringContaining('redis://me:***@h:6379, key conclave:g refuses: WRONGPASS'),
    })
  })
})
