/**
 * Registers in one table of a PostgreSQL primary: one row per cell, with a version that each write increments. One SELECT
 * reads all cells; a write is one UPDATE with the expected version.
 *
 * Every read checks in the same statement whether the server is a standby: a reconnection after a failover can end at a
 * standby, whose data may be stale.
 */

import net, { type NetConnectOpts, type Socket } from 'node:net'
import type { Options, Sql } from 'postgres'
import { ASSUMPTIONS } from './assumptions.ts'
import { Connection, OPEN_TIMEOUT_MS, unreachableAfter } from './connection.ts'
import {
  describeError,
  InvalidStoreError,
  isConnectionError,
  StoreAccessDeniedError,
  StoreUnreachableError,
  UnsuitableStoreError,
} from './errors.ts'
import { type Cell, type CellStore, type StoreFacts, trialName } from './store.ts'
import { loadClient, parseUrl, redactUrl } from './urls.ts'

export type PostgresOptions = {
  readonly url: string
  /** In lower case, with or without a schema. */
  readonly table: string
}

/** One connection for writes, one for concurrent reads. */
const CONNECTIONS = 2
const RIGHTS = ['SELECT', 'INSERT', 'UPDATE'] as const
const TABLE = /^[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)?$/

type Row = {
  readonly standby: boolean
  readonly cell: string | null
  readonly version: string
  readonly body: string
}

/**
 * `limitMs` is the timeout of a call. The server gets it as well: a statement that waits for a lock does not notice that
 * its connection is gone, so every aborted call would leave one behind.
 */
export async function openPostgres(
  { url, table: configured }: PostgresOptions,
  group: string,
  limitMs: number | null = null,
  isTrial = false,
): Promise<CellStore> {
  if (!TABLE.test(configured))
    throw new InvalidStoreError(
      'store.table',
      `"${configured}" is not a valid table name: use lower-case letters, digits and _`,
    )
  const { default: postgres } = await loadClient('postgres', 'postgres', () => import('postgres'))
  const place = redactUrl(url)
  const { hosts, at } = parseUrl(url)
  let hasLimit = limitMs !== null
  const limit = { statement_timeout: Math.max(Math.ceil(limitMs ?? 0), OPEN_TIMEOUT_MS) }

  /** A pool for one host. It creates its own sockets, so that none leaks on release. */
  function poolAt(host: string): Pool {
    const single = at(host)
    const sockets = new Set<Socket>()
    let isReleased = false
    const options: Options<Record<string, never>> = {
      max: CONNECTIONS,
      connect_timeout: OPEN_TIMEOUT_MS / 1000,
      // Also works behind a connection pooler.
      prepare: false,
      fetch_types: false,
      max_lifetime: null,
      onnotice: () => {},
      connection: { application_name: `conclave ${group}`, ...(hasLimit ? limit : {}) },
    }
    const socket = async (): Promise<Socket> => {
      if (isReleased) throw new StoreUnreachableError(place, new Error('the connection attempt was aborted'))
      return connectTo(host, sockets)
    }
    // The client calls this for each connection, although its types do not declare it.
    const sql = postgres(single, { ...options, socket } as unknown as typeof options)
    return {
      sql,
      release() {
        isReleased = true
        sql.end({ timeout: 0 }).catch(() => {})
        for (const each of sockets) each.destroy()
      },
    }
  }

  /** Connects to the first reachable host that is a primary. */
  async function connect(signal: AbortSignal, withinMs: number): Promise<Pool> {
    const refusals: unknown[] = []
    for (const host of hosts) {
      signal.throwIfAborted()
      const pool = poolAt(host)
      // Each host gets a share of the time, so that a silent host does not block the others.
      const share = setTimeout(pool.release, withinMs / hosts.length)
      signal.addEventListener('abort', pool.release, { once: true })
      try {
        // oxlint-disable-next-line no-await-in-loop -- one host after the other
        const [row] = await pool.sql<{ standby: boolean }[]>`SELECT pg_is_in_recovery() AS standby`
        if (row?.standby !== false) throw standbyError(place)
        return pool
      } catch (error) {
        pool.release()
        if (hasLimit && isUnknownSetting(error)) {
          // A pooler may not support the setting.
          hasLimit = false
          return connect(signal, withinMs)
        }
        refusals.push(toStoreError(error, place))
      } finally {
        clearTimeout(share)
        signal.removeEventListener('abort', pool.release)
      }
    }
    // Report what the user can change before what may be temporary.
    throw refusals.find((error) => !(error instanceof StoreUnreachableError)) ?? refusals[0]
  }

  const line = new Connection<Pool>({
    place,
    connect,
    release: (pool) => pool.release(),
    isLost: isConnectionError,
  })

  const run = <T>(signal: AbortSignal, query: (sql: Sql) => Promise<T>): Promise<T> =>
    line.use(signal, ({ sql }) =>
      query(sql).catch((error: unknown) => {
        throw toStoreError(error, place)
      }),
    )

  let table = configured
  let facts: StoreFacts
  try {
    facts = await run(unreachableAfter(OPEN_TIMEOUT_MS, place), async (sql) => {
      if (isTrial && !(await hasTable(sql, configured))) table = trialName(group)
      const found = await inspect(sql, place, table, configured)
      if (table === configured) return found
      const missing = `the table ${configured} is missing, and this user can create it: the first node does so`
      return { ...found, sound: [...found.sound, missing] }
    })
  } catch (error) {
    await line.close()
    throw error
  }

  return {
    facts,
    read: (signal) =>
      run(signal, async (db) => {
        // Returns a row even for an empty group, so that the first column is always present.
        const rows = await db<Row[]>`
          SELECT pg_is_in_recovery() AS standby, r.cell, r.version::text, r.body
          FROM (SELECT 1) AS one LEFT JOIN ${db(table)} AS r ON r.group_name = ${group}`
        if (rows.some(({ standby }) => standby)) throw standbyError(facts.place)
        return rows.flatMap(({ cell, version, body }): Cell[] =>
          cell === null ? [] : [{ name: cell, version, body }],
        )
      }),
    write: (name, body, expected, signal) =>
      run(signal, async (db) => {
        const rows =
          expected === null
            ? await db<{ version: string }[]>`
                INSERT INTO ${db(table)} (group_name, cell, version, body) VALUES (${group}, ${name}, 1, ${body})
                ON CONFLICT DO NOTHING RETURNING version::text`
            : await db<{ version: string }[]>`
                UPDATE ${db(table)} SET version = version + 1, body = ${body}
                WHERE group_name = ${group} AND cell = ${name} AND version = ${expected}::bigint
                RETURNING version::text`
        return rows[0]?.version ?? null
      }),
    remove: (name, expected, signal) =>
      run(signal, async (db) => {
        await db`
          DELETE FROM ${db(table)}
          WHERE group_name = ${group} AND cell = ${name} AND version = ${expected}::bigint`
      }),
    async close() {
      if (table !== configured) {
        const drop = run(AbortSignal.timeout(OPEN_TIMEOUT_MS), (sql) =>
          sql.unsafe(`DROP TABLE IF EXISTS ${table}`),
        )
        await drop.catch(() => {})
      }
      await line.close()
    },
  }
}

type Pool = { readonly sql: Sql; readonly release: () => void }

/** Where PostgreSQL listens: a host, the folder of a Unix socket, or the default of its other clients. */
function addressOf(host: string): { readonly host: string; readonly to: NetConnectOpts } {
  const { hostname, port: own } = new URL(`postgres://${host}`)
  const port = Number(own || process.env['PGPORT'] || '5432')
  // IPv6 addresses are in brackets, and folders are percent-encoded.
  const named =
    decodeURIComponent(hostname).replace(/^\[(.*)\]$/, '$1') || process.env['PGHOST'] || 'localhost'
  return {
    host: named,
    to: named.startsWith('/') ? { path: `${named}/.s.PGSQL.${port}` } : { host: named, port },
  }
}

/** Connects a socket and tracks it while it is open. */
function connectTo(at: string, sockets: Set<Socket>): Promise<Socket> {
  const { host, to } = addressOf(at)
  // The client reads the TLS server name from here.
  const socket = Object.assign(net.connect(to), { host })
  sockets.add(socket)
  socket.once('close', () => sockets.delete(socket))
  return new Promise((resolve, reject) => {
    const fail = (error?: Error | boolean): void =>
      reject(error instanceof Error ? error : new Error('the connection attempt was aborted'))
    socket.once('error', fail).once('close', fail)
    socket.once('connect', () => {
      socket.off('error', fail).off('close', fail)
      resolve(socket)
    })
  })
}

function standbyError(place: string): UnsuitableStoreError {
  return new UnsuitableStoreError(
    `${place} is a standby, whose data may be stale. Use the address of the primary, or of all servers (postgres://host1,host2/database)`,
  )
}

/** `configured`: the name of the table for messages. */
async function inspect(sql: Sql, place: string, table: string, configured: string): Promise<StoreFacts> {
  const [found] = await sql<
    {
      readonly standby: boolean
      readonly user: string
      readonly sync: string
      readonly fsync: string
      readonly pages: string
      readonly standbys: string
      readonly senders: number
    }[]
  >`SELECT pg_is_in_recovery() AS standby, current_user AS user,
      current_setting('synchronous_commit') AS sync, current_setting('fsync') AS fsync,
      current_setting('full_page_writes') AS pages,
      current_setting('synchronous_standby_names') AS standbys,
      (SELECT count(*)::int FROM pg_stat_replication) AS senders`
  if (found === undefined) throw new UnsuitableStoreError(`${place} does not report its settings`)
  if (found.standby) throw standbyError(place)
  await makeTable(sql, place, table, configured, found.user)
  await checkRights(sql, place, table, found.user)
  const off = (name: string): string =>
    `${name} is off: a crash of the server's machine loses acknowledged writes, and then two nodes can lead in one epoch. Set ${name}=on`
  const replicated = `${found.senders} standby servers replicate asynchronously: a failover to one of them can lose acknowledged writes. List them in synchronous_standby_names`
  return {
    kind: 'postgres',
    place: `${place}, table ${configured}`,
    sound: [
      'the server is a primary',
      'a write compares the version of the row',
      'one SELECT reads all cells',
    ],
    weak: [
      ...(found.sync === 'off' ? [off('synchronous_commit')] : []),
      ...(found.fsync === 'off' ? [off('fsync')] : []),
      ...(found.pages === 'off' ? [off('full_page_writes')] : []),
      ...(found.senders > 0 && found.standbys === '' ? [replicated] : []),
    ],
    assumed: ASSUMPTIONS.postgres,
  }
}

function tableStatement(table: string): string {
  return `CREATE TABLE ${table} (group_name text NOT NULL, cell text NOT NULL, version bigint NOT NULL, body text NOT NULL, PRIMARY KEY (group_name, cell));`
}

async function hasTable(sql: Sql, table: string): Promise<boolean> {
  const [row] = await sql<{ is: boolean }[]>`SELECT to_regclass(${table}) IS NOT NULL AS is`
  return row?.is === true
}

async function makeTable(
  sql: Sql,
  place: string,
  table: string,
  configured: string,
  user: string,
): Promise<void> {
  if (await hasTable(sql, table)) return
  try {
    await sql.unsafe(tableStatement(table))
  } catch (error) {
    // Another node created it first.
    if (await hasTable(sql, table)) return
    if (codeOf(error) !== '42501') throw error
    throw new StoreAccessDeniedError(
      `the table ${configured} is missing at ${place} and the user ${user} cannot create it; run as the owner:\n` +
        `  ${tableStatement(configured)}\n  ${grant(RIGHTS, configured, user)}`,
      { cause: error },
    )
  }
}

async function checkRights(sql: Sql, place: string, table: string, user: string): Promise<void> {
  const [rights] = await sql<{ SELECT: boolean; INSERT: boolean; UPDATE: boolean }[]>`
    SELECT has_table_privilege(${table}, 'SELECT') AS "SELECT", has_table_privilege(${table}, 'INSERT') AS "INSERT",
      has_table_privilege(${table}, 'UPDATE') AS "UPDATE"`
  const missing = RIGHTS.filter((right) => rights?.[right] !== true)
  if (missing.length === 0) return
  throw new StoreAccessDeniedError(
    `the user ${user} lacks rights on the table ${table} at ${place}; run as the owner:\n  ${grant(missing, table, user)}`,
  )
}

function grant(rights: readonly string[], table: string, user: string): string {
  return `GRANT ${rights.join(', ')} ON ${table} TO "${user.replaceAll('"', '""')}";`
}

function codeOf(error: unknown): string {
  return (error as { code?: string }).code ?? ''
}

function isUnknownSetting(error: unknown): boolean {
  return /unsupported startup parameter/i.test(describeError(error))
}

function toStoreError(error: unknown, place: string): unknown {
  if (isConnectionError(error)) return error
  const code = codeOf(error)
  if (/^(28|3D)/.test(code) || code === '42501')
    return new StoreAccessDeniedError(
      `${place} refuses: ${describeError(error)} (check user, password, database and rights)`,
      {
        cause: error,
      },
    )
  if (/^(E[A-Z]+|CONNECT|CONNECTION|57P)/.test(code)) return new StoreUnreachableError(place, error)
  return error
}
