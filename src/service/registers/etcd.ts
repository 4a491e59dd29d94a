/**
 * Registers in etcd, through the JSON gateway of its v3 API: one key per cell, compared by its revision. Reads are
 * linearizable, which is etcd's default (`serializable` is never set), and one range request reads all cells.
 */
import { ASSUMPTIONS } from './assumptions.ts'
import {
  Backoff,
  CONNECT_TIMEOUT_MS,
  OPEN_TIMEOUT_MS,
  rejectOnAbort,
  unreachableAfter,
} from './connection.ts'
import {
  describeError,
  InvalidStoreError,
  StoreAccessDeniedError,
  StoreUnreachableError,
  UnsuitableStoreError,
} from './errors.ts'
import { HttpClient, type HttpReply, wasNeverSent } from './http-client.ts'
import { type CellStore, safeName } from './store.ts'

export type EtcdOptions = {
  /** `http://` or `https://`. If one does not respond, the next is used; a write is never sent twice. */
  readonly endpoints: readonly string[]
  /** Prefix of its keys. */
  readonly prefix: string
  readonly username?: string | undefined
  readonly password?: string | undefined
}

/** etcd encodes 64-bit numbers as strings. */
type Range = {
  readonly kvs?: readonly { readonly key: string; readonly mod_revision: string; readonly value: string }[]
}
type Txn = { readonly succeeded?: boolean; readonly header: { readonly revision: string } }
type Status = { readonly version: string; readonly leader?: string; readonly errors?: readonly string[] }

const UNAUTHENTICATED = 16
const PERMISSION_DENIED = 7
const OK = 200
const SERVER_ERROR = 500
/** Status codes of the gateway for `unavailable` and `deadline exceeded`: etcd has no leader, or it does not respond. */
const UNAVAILABLE: readonly number[] = [503, 504]
/** Error texts of etcd for a token that has expired, is unknown, or predates the last change of users. */
const STALE = /invalid auth token|revision of auth store is old|auth revision/i
/** How often a call logs in again: a token of a second may have expired before a busy machine sends it. */
const MOST_LOGINS = 3

const base64 = (text: string): string => Buffer.from(text).toString('base64')
const text = (encoded: string): string => Buffer.from(encoded, 'base64').toString()

export async function openEtcd(options: EtcdOptions, group: string): Promise<CellStore> {
  const { ask, close } = openGateway(options)
  try {
    return await create(options, group, ask, close)
  } catch (error) {
    close()
    throw error
  }
}

async function create(options: EtcdOptions, group: string, ask: Ask, close: () => void): Promise<CellStore> {
  const start = `${options.prefix}/${safeName(group)}/`
  const status = await firstStatus(options, ask)
  const place = `${options.endpoints.join(', ')}, keys ${start}`
  const limit = unreachableAfter(OPEN_TIMEOUT_MS, place)
  if ((status.errors ?? []).length > 0)
    throw new UnsuitableStoreError(
      `${place} rejects writes: ${status.errors?.join(', ')}; see etcdctl alarm list`,
    )
  // Also checks the permissions on the keys.
  const read = (signal: AbortSignal): Promise<Range> =>
    // The end of the range is the prefix with its last character, a slash, incremented.
    ask<Range>('kv/range', { key: base64(start), range_end: base64(`${start.slice(0, -1)}0`) }, signal)
  await read(limit)

  return {
    facts: {
      kind: 'etcd',
      place,
      sound: [
        `etcd ${status.version}: reads are linearizable, and one range request reads all cells`,
        'a transaction compares the revision of the key',
      ],
      weak: [],
      assumed: ASSUMPTIONS.etcd,
    },
    async read(signal) {
      const { kvs = [] } = await read(signal)
      return kvs.map(({ key, mod_revision: version, value }) => ({
        name: text(key).slice(start.length),
        version,
        body: text(value),
      }))
    },
    async write(name, body, expected, signal) {
      const key = base64(`${start}${name}`)
      const compare = { key, target: 'MOD', result: 'EQUAL', mod_revision: expected ?? '0' }
      const success = { request_put: { key, value: base64(body) } }
      const { succeeded, header } = await ask<Txn>(
        'kv/txn',
        { compare: [compare], success: [success] },
        signal,
      )
      return succeeded === true ? header.revision : null
    },
    async remove(name, expected, signal) {
      const key = base64(`${start}${name}`)
      const compare = { key, target: 'MOD', result: 'EQUAL', mod_revision: expected }
      await ask<Txn>('kv/txn', { compare: [compare], success: [{ request_delete_range: { key } }] }, signal)
    },
    async close() {
      close()
    },
  }
}

/** Status of the first endpoint that responds: a silent endpoint must not keep a node from starting. */
async function firstStatus({ endpoints }: EtcdOptions, ask: Ask): Promise<Status> {
  for (let tried = 1; ; tried++) {
    try {
      const limitMs = tried < endpoints.length ? CONNECT_TIMEOUT_MS : OPEN_TIMEOUT_MS
      // oxlint-disable-next-line no-await-in-loop -- one endpoint after the other
      return await ask<Status>('maintenance/status', {}, unreachableAfter(limitMs, endpoints.join(', ')))
    } catch (error) {
      if (!(error instanceof StoreUnreachableError) || tried >= endpoints.length) throw error
    }
  }
}

type Ask = <T>(path: string, body: object, signal: AbortSignal) => Promise<T>

type Gateway = { readonly ask: Ask; close(): void }

/** Refused because of the token, not because of the request: nothing was written. */
class ExpiredAuthTokenError extends Error {}

/** A token, and its renewal time on this process's clock; null if use extends it. */
type Login = { readonly token: string; readonly renewAt: number | null }

function openGateway({ endpoints, username, password }: EtcdOptions): Gateway {
  const http = new HttpClient()
  const backoff = new Backoff()
  /** Only for logins: while the current token is valid, a refused renewal delays no call. */
  const loginBackoff = new Backoff()
  /** If one endpoint is silent, the next login must fit into the time of a call. */
  const loginMs = endpoints.length === 1 ? OPEN_TIMEOUT_MS : CONNECT_TIMEOUT_MS / 2
  let turn = 0
  /** Number of consecutive endpoints without a response. */
  let silent = 0
  let login: Login | null = null
  let renewing: Promise<Login> | null = null

  function recordSilence(error: unknown): void {
    turn += 1
    silent += 1
    // Try the next endpoint at once; pause only after all were silent.
    if (silent % endpoints.length === 0) backoff.recordFailure(error)
  }

  async function post<T>(
    path: string,
    body: object,
    signal: AbortSignal,
    token: string | null,
  ): Promise<Answer<T>> {
    backoff.check()
    const endpoint = endpoints[turn % endpoints.length]
    if (endpoint === undefined) throw new InvalidStoreError('store.endpoints', 'name at least one')
    let reply: HttpReply
    try {
      const url = new URL(`/v3/${path}`, endpoint)
      const headers = {
        'content-type': 'application/json',
        ...(token === null ? {} : { authorization: token }),
      }
      reply = await http.send({ method: 'POST', url, headers, body: JSON.stringify(body) }, signal)
    } catch (error) {
      const failure =
        error instanceof StoreUnreachableError ? error : new StoreUnreachableError(endpoint, error)
      recordSilence(failure)
      // A request that was never sent can go to another endpoint; a write that was sent must not be repeated.
      if (wasNeverSent(error) && silent % endpoints.length !== 0) return post(path, body, signal, token)
      throw failure
    }
    const said = parseJson(reply.body) as { code?: number; message?: string; error?: string }
    if (reply.status === OK) {
      silent = 0
      backoff.reset()
      return { body: said as T, at: reply.at }
    }
    const why = said.message ?? said.error ?? `HTTP status ${reply.status}`
    if (STALE.test(why)) throw new ExpiredAuthTokenError(why)
    if (
      said.code === UNAUTHENTICATED ||
      said.code === PERMISSION_DENIED ||
      /user name is empty|authentication/.test(why)
    ) {
      throw new StoreAccessDeniedError(
        `${endpoint} refuses: ${why} (check username and password, and that the role may read and write the keys)`,
      )
    }
    const failure = UNAVAILABLE.includes(reply.status)
      ? new StoreUnreachableError(endpoint, new Error(why))
      : new Error(`${endpoint}: ${why}`)
    if (reply.status >= SERVER_ERROR) recordSilence(failure)
    throw failure
  }

  async function logIn(signal: AbortSignal): Promise<Login> {
    loginBackoff.check()
    const credentials = { name: username, password: password ?? '' }
    try {
      const { body, at } = await post<{ token: string }>('auth/authenticate', credentials, signal, null)
      loginBackoff.reset()
      return { token: body.token, renewAt: renewalTime(body.token, at) }
    } catch (error) {
      if (error instanceof StoreUnreachableError) throw error
      const denied = new StoreAccessDeniedError(
        `${endpoints[0]} refuses the user ${username}: ${describeError(error)}`,
        {
          cause: error,
        },
      )
      // A login costs the server a tenth of a second (bcrypt), so it is not repeated at every call.
      loginBackoff.recordFailure(denied)
      throw denied
    }
  }

  /** One login at a time, shared by all waiting calls, with its own timeout. */
  function renewLogin(): Promise<Login> {
    if (renewing !== null) return renewing
    const mine = logIn(unreachableAfter(loginMs, endpoints.join(', '))).then((fresh) => {
      login = fresh
      return fresh
    })
    renewing = mine
    mine
      .catch(() => {})
      .finally(() => {
        renewing = null
      })
    return mine
  }

  /** The current token. It is renewed in the background before it expires. */
  async function presentToken(signal: AbortSignal): Promise<string | null> {
    if (username === undefined) return null
    if (login === null) return (await rejectOnAbort(renewLogin(), signal)).token
    if (login.renewAt !== null && performance.now() >= login.renewAt) void renewLogin().catch(() => {})
    return login.token
  }

  return {
    async ask<T>(path: string, body: object, signal: AbortSignal): Promise<T> {
      for (let logins = 0; ; logins++) {
        // oxlint-disable-next-line no-await-in-loop -- a request with the next token follows the refusal of this one
        const used = await presentToken(signal)
        try {
          // oxlint-disable-next-line no-await-in-loop -- as above
          return (await post<T>(path, body, signal, used)).body
        } catch (error) {
          if (!(error instanceof ExpiredAuthTokenError)) throw error
          // Another call may have renewed it meanwhile.
          if (login?.token === used) login = null
          if (logins < MOST_LOGINS) continue
          throw new StoreAccessDeniedError(`${endpoints[0]} refuses a new token: ${error.message}`, {
            cause: error,
          })
        }
      }
    },
    close: () => http.close(),
  }
}

type Answer<T> = { readonly body: T; readonly at: HttpReply['at'] }

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return {}
  }
}

/**
 * Renewal time of a token: after half of its lifetime. A JSON Web Token contains its expiry on the server's clock, which
 * the Date header shows as well. Simple tokens contain nothing; each use extends them.
 */
export function renewalTime(token: string, at: HttpReply['at']): number | null {
  const claims = parseJson(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as {
    exp?: unknown
  }
  if (typeof claims.exp !== 'number') return null
  const lifeMs = claims.exp * 1000 - (at.serverMs ?? Date.now())
  return at.nowMs + Math.max(0, lifeMs / 2)
}
