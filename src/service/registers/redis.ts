/**
 * Registers in one Redis server: one hash per group, one field per cell, `VERSION BODY`. A script compares and writes.
 *
 * Redis acknowledges a write before its replicas have it, so a failover loses acknowledged writes, and WAIT does not
 * cure that: a server with replicas, Sentinel or Cluster is not a register. Neither is a server that flushes its log once
 * per second. Certain problems are always refused, the others unless `acceptWeak` is set; the guarantee card shows them.
 */

import type { Redis as Client } from 'ioredis'
import { ASSUMPTIONS } from './assumptions.ts'
import { Connection, OPEN_TIMEOUT_MS, unreachableAfter } from './connection.ts'
import {
  describeError,
  isConnectionError,
  StoreAccessDeniedError,
  StoreUnreachableError,
  UnsuitableStoreError,
} from './errors.ts'
import type { Cell, CellStore, StoreFacts } from './store.ts'
import { loadClient, parseUrl, redactUrl } from './urls.ts'

export type RedisOptions = {
  readonly url: string
  /** Prefix of its keys. */
  readonly prefix: string
  /** Use a server that can lose acknowledged writes. */
  readonly acceptWeak: boolean
}

/** Also returns the role: the data of a replica may be stale. */
const READ = `
if not string.find(redis.call('INFO', 'replication'), 'role:master', 1, true) then
  return redis.error_reply('REPLICA')
end
return redis.call('HGETALL', KEYS[1])`

const WRITE = `
local present = redis.call('HGET', KEYS[1], ARGV[1])
local version = present and string.match(present, '^%d+') or ''
if version ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return 1`

const REMOVE = `
local present = redis.call('HGET', KEYS[1], ARGV[1])
if present and string.match(present, '^%d+') == ARGV[2] then redis.call('HDEL', KEYS[1], ARGV[1]) end
return 1`

export async function openRedis(
  { url, prefix, acceptWeak }: RedisOptions,
  group: string,
): Promise<CellStore> {
  const { Redis } = await loadClient('redis', 'ioredis', () => import('ioredis'))
  const key = `${prefix}:${group}`
  const place = `${redactUrl(url)}, key ${key}`
  const parts = parseUrl(url)

  /** Inspects the server on every connection: it may be another server, or have new settings. */
  async function connect(signal: AbortSignal): Promise<Connected> {
    const redis = new Redis(parts.at(parts.hosts.join(',')), {
      lazyConnect: true,
      // Connection (connection.ts) handles timeouts and reconnection.
      connectTimeout: OPEN_TIMEOUT_MS,
      retryStrategy: null,
      disconnectTimeout: 0,
      // The readiness check below replaces the client's, whose timer outlives the attempt.
      enableReadyCheck: false,
      // Commands are sent once: a queued command would be a delayed write.
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
    })
    const end = (): void => redis.disconnect()
    signal.addEventListener('abort', end, { once: true })
    let lastError: unknown = null
    redis.on('error', (error: unknown) => {
      lastError = error
    })
    try {
      signal.throwIfAborted()
      await redis.connect()
      const connected = { redis, facts: await inspect(redis, place, acceptWeak) }
      redis.once('close', () => line.handleLoss(connected, lastError ?? new Error('the connection was lost')))
      return connected
    } catch (error) {
      redis.disconnect()
      throw toStoreError(lastError ?? error, place)
    } finally {
      signal.removeEventListener('abort', end)
    }
  }

  const line = new Connection<Connected>({
    place,
    connect,
    release: ({ redis }) => redis.disconnect(),
    isLost: isConnectionError,
  })

  const run = <T>(signal: AbortSignal, command: (redis: Client) => Promise<T>): Promise<T> =>
    line.use(signal, ({ redis }) =>
      command(redis).catch((error: unknown) => {
        throw toStoreError(error, place)
      }),
    )

  let facts: StoreFacts
  try {
    facts = await line.use(unreachableAfter(OPEN_TIMEOUT_MS, place), async (connected) => connected.facts)
  } catch (error) {
    await line.close()
    throw error
  }

  return {
    facts,
    read: (signal) =>
      run(signal, async (redis) => {
        const flat = (await redis.eval(READ, 1, key)) as string[]
        const cells: Cell[] = []
        for (let at = 0; at < flat.length; at += 2) cells.push(cellIn(flat[at] ?? '', flat[at + 1] ?? ''))
        return cells
      }),
    write: (name, body, expected, signal) =>
      run(signal, async (redis) => {
        const version = String(Number(expected ?? 0) + 1)
        const done = await redis.eval(WRITE, 1, key, name, expected ?? '', `${version} ${body}`)
        return done === 1 ? version : null
      }),
    remove: (name, expected, signal) =>
      run(signal, async (redis) => {
        await redis.eval(REMOVE, 1, key, name, expected)
      }),
    close: () => line.close(),
  }
}

type Connected = { readonly redis: Client; readonly facts: StoreFacts }

function cellIn(name: string, text: string): Cell {
  const space = text.indexOf(' ')
  return { name, version: text.slice(0, space), body: text.slice(space + 1) }
}

async function inspect(redis: Client, place: string, acceptWeak: boolean): Promise<StoreFacts> {
  const info = await redis.info()
  const field = (name: string): string => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? 'unknown'
  const refuse = (why: string): UnsuitableStoreError =>
    new UnsuitableStoreError(`${place} cannot hold registers: ${why}`)
  if (field('loading') === '1') throw new StoreUnreachableError(place, new Error('it is loading its data'))
  const mode = field('redis_mode')
  if (mode !== 'standalone') throw refuse(`it is a ${mode}; use a standalone server`)
  if (field('role') !== 'master') throw refuse('it is a replica, whose data may be stale; use its primary')
  const problems: string[] = []
  const replicas = Number(field('connected_slaves'))
  if (replicas > 0)
    problems.push(
      `it has ${replicas} replicas: a failover to one of them loses acknowledged writes; use a server without replicas`,
    )
  problems.push(...(await findPersistenceProblems(redis)))
  if (problems.length > 0 && !acceptWeak)
    throw refuse(
      `${problems.join('; ')}. With acceptWeak (--accept-weak) it is used nevertheless, but two nodes can lead in one epoch after a crash of the server`,
    )
  return {
    kind: 'redis',
    place,
    sound: [
      'the server is a primary, neither Sentinel nor Cluster',
      'a script compares the version and writes',
      ...(problems.length === 0 ? ['every write is on disk before it is acknowledged'] : []),
    ],
    weak: problems,
    assumed: ASSUMPTIONS.redis,
  }
}

/** Settings that allow the loss of acknowledged writes. */
async function findPersistenceProblems(redis: Client): Promise<readonly string[]> {
  const wanted = { appendonly: 'yes', appendfsync: 'always' }
  let settings: { readonly [name: string]: string }
  try {
    const flat = await redis.config('GET', 'append*', 'maxmemory-policy', 'maxmemory')
    settings = Object.fromEntries(
      flat.flatMap((name, at) => (at % 2 === 0 ? [[name, flat[at + 1] ?? '']] : [])),
    )
  } catch (error) {
    return [
      `cannot read its settings (${describeError(error)}), so it may lose acknowledged writes; allow CONFIG GET`,
    ]
  }
  const problems = Object.entries(wanted).flatMap(([name, value]) =>
    settings[name] === value
      ? []
      : [`${name} is ${settings[name]}: a crash loses acknowledged writes; set ${name} ${value}`],
  )
  const evicts = settings['maxmemory'] !== '0' && settings['maxmemory-policy']?.startsWith('allkeys') === true
  return evicts
    ? [
        ...problems,
        `maxmemory-policy is ${settings['maxmemory-policy']}: keys can be evicted; set noeviction`,
      ]
    : problems
}

function toStoreError(error: unknown, place: string): unknown {
  if (isConnectionError(error)) return error
  const why = describeError(error)
  if (/^(NOAUTH|WRONGPASS|NOPERM|ERR AUTH)/.test(why))
    return new StoreAccessDeniedError(
      `${place} refuses: ${why} (check user, password and the rights to EVAL, HGET, HSET, INFO)`,
      {
        cause: error,
      },
    )
  if (why.includes('REPLICA') || why.startsWith('READONLY'))
    return new UnsuitableStoreError(`${place} has become a replica, whose data may be stale`)
  if (
    /ECONN|ETIMEDOUT|ENOTFOUND|EHOST|EPIPE|EAI_AGAIN|closed|writeable|max retries|connection is lost/i.test(
      why,
    )
  )
    return new StoreUnreachableError(place, error)
  return error
}
