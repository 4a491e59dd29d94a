/**
 * Registers in etcd, through the JSON gateway of its v3 API: a key a cell, compared by its revision. Reads are
 * linearizable, which is etcd's default (`serializable` is never set), and one range is a whole round.
 */
import { ASSUMPTIONS } from './assumptions.ts'
import { Backoff, CONNECT_TIMEOUT_MS, OPEN_TIMEOUT_MS, rejectOnAbort } from './connection.ts'
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
  /** `http://` or `https://`. The next one is asked when one does not answer; a write is never sent twice. */
  readonly endpoints: readonly string[]
  /** Keys begin with it. */
  readonly prefix: string
  readonly username?: string | undefined
  readonly password?: string | undefined
}

/** What etcd gives for a 64-bit number is text. */
type Range = {
  readonly kvs?: readonly { readonly key: string; readonly mod_revision: string; readonly value: string }[]
}
type Txn = { readonly succeeded?: boolean; readonly header: { readonly revision: string } }
type Status = { readonly version: string; readonly leader?: string; readonly errors?: readonly string[] }

const UNAUTHENTICATED = 16
const PERMISSION_DENIED = 7
const OK = 200
const SERVER_ERROR = 500
/** What the gateway makes of `unavailable` and of a deadline: no leader at this moment, or no answer from it. */
const UNAVAILABLE: readonly number[] = [503, 504]
/** The words of etcd for a token that has expired, that it does not know, or that is older than the last change of users. */
const STALE = /invalid auth token|revision of auth store is old|auth revision/i

const base64 = (text: string): string => Buffer.from(text).toString('base64')
const text = (encoded: string): string => Buffer.from(encoded, 'base64').toString()

export async function openEtcd(options: EtcdOptions, group: string): Promise<CellStore> {
  const { ask, close } = openGateway(options)
  try {
    return await opened(options, group, ask, close)
  } catch (error) {
    close()
    throw error
  }
}

async function opened(options: EtcdOptions, group: string, ask: Ask, close: () => void): Promise<CellStore> {
  const start = `${options.prefix}/${safeName(group)}/`
  const status = await firstStatus(options, ask)
  const limit = AbortSignal.timeout(OPEN_TIMEOUT_MS)
  const place = `${options.endpoints.join(', ')}, keys ${start}`
  if ((status.errors ?? []).length > 0)
    throw new UnsuitableStoreError(
      `${place} takes no writes: ${status.errors?.join(', ')}; see etcdctl alarm list`,
    )
  // The rights to the keys, too.
  const read = (signal: AbortSignal): Promise<Range> =>
    // The end of the range is the name with its last sign, a slash, counted up by one.
    ask<Range>('kv/range', { key: base64(start), range_end: base64(`${start.slice(0, -1)}0`) }, signal)
  await read(limit)

  return {
    facts: {
      kind: 'etcd',
      place,
      sound: [
        `etcd ${status.version}: reads are linearizable, one range is a whole round`,
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

/** Of the first endpoint that answers: one that is silent must not keep a node from starting. */
async function firstStatus({ endpoints }: EtcdOptions, ask: Ask): Promise<Status> {
  for (let tried = 1; ; tried++) {
    try {
      const limitMs = tried < endpoints.length ? CONNECT_TIMEOUT_MS : OPEN_TIMEOUT_MS
      // oxlint-disable-next-line no-await-in-loop -- one endpoint after the other
      return await ask<Status>('maintenance/status', {}, AbortSignal.timeout(limitMs))
    } catch (error) {
      if (!(error instanceof StoreUnreachableError) || tried >= endpoints.length) throw error
    }
  }
}

type Ask = <T>(path: string, body: object, signal: AbortSignal) => Promise<T>

type Gateway = { readonly ask: Ask; close(): void }

/** Refused for what the token says, not for what was asked: surely nothing was written. */
class ExpiredAuthTokenError extends Error {}

/** A token, and when it should be renewed on this process's clock; null where it lives as long as it is used. */
type Login = { readonly token: string; readonly renewAt: number | null }

function openGateway({ endpoints, username, password }: EtcdOptions): Gateway {
  const http = new HttpClient()
  const backoff = new Backoff()
  /** Of the logins alone: while the present token is good, a refused renewal keeps nobody waiting. */
  const loginBackoff = new Backoff()
  let turn = 0
  /** How many endpoints in a row have not answered. */
  let silent = 0
  let login: Login | null = null
  let renewing: Promise<Login> | null = null

  function recordSilence(error: unknown): void {
    turn += 1
    silent += 1
    // Another endpoint is asked at once; only when all of them are silent there is a pause.
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
      const failure = new StoreUnreachableError(endpoint, error)
      recordSilence(failure)
      // What was never sent may be sent to another; a write that was sent never is.
      if (wasNeverSent(error) && silent % endpoints.length !== 0) return post(path, body, signal, token)
      throw failure
    }
    const said = parseJson(reply.body) as { code?: number; message?: string; error?: string }
    if (reply.status === OK) {
      silent = 0
      backoff.reset()
      return { body: said as T, at: reply.at }
    }
    const why = said.message ?? said.error ?? `it answered ${reply.status}`
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
      // A password costs the server a tenth of a second: not at every call.
      loginBackoff.recordFailure(denied)
      throw denied
    }
  }

  /** One login at a time, for all who wait for it; it has a limit of its own. */
  function renewLogin(): Promise<Login> {
    if (renewing !== null) return renewing
    const mine = logIn(AbortSignal.timeout(OPEN_TIMEOUT_MS)).then((fresh) => {
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

  /** The present token while it is good. It is renewed in the background before it expires. */
  async function presentToken(signal: AbortSignal): Promise<string | null> {
    if (username === undefined) return null
    if (login === null) return (await rejectOnAbort(renewLogin(), signal)).token
    if (login.renewAt !== null && performance.now() >= login.renewAt) void renewLogin().catch(() => {})
    return login.token
  }

  return {
    async ask<T>(path: string, body: object, signal: AbortSignal): Promise<T> {
      const used = await presentToken(signal)
      try {
        return (await post<T>(path, body, signal, used)).body
      } catch (error) {
        if (!(error instanceof ExpiredAuthTokenError)) throw error
        // Another call may have renewed it meanwhile.
        if (login?.token === used) login = null
      }
      const again = await presentToken(signal)
      try {
        return (await post<T>(path, body, signal, again)).body
      } catch (error) {
        if (!(error instanceof ExpiredAuthTokenError)) throw error
        if (login?.token === again) login = null
        throw new StoreAccessDeniedError(`${endpoints[0]} refuses a new token: ${error.message}`, {
          cause: error,
        })
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
 * When to renew a token: after half of its life. A JSON Web Token says when it expires on the server's clock, which the
 * reply shows too; the other kind of token is extended by being used, and says nothing.
 */
export function renewalTime(token: string, at: HttpReply['at']): number | null {
  const claims = parseJson(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as {
    exp?: unknown
  }
  if (typeof claims.exp !== 'number') return null
  const lifeMs = claims.exp * 1000 - (at.serverMs ?? Date.now())
  return at.nowMs + Math.max(0, lifeMs / 2)
}
