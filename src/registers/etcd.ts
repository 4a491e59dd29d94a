/**
 * Registers in etcd, through the JSON gateway of its v3 API: a key a cell, compared by its revision. Reads are
 * linearizable, which is etcd's default (`serializable` is never set), and one range is a whole round.
 */
import { ASSUMED } from './caveats.ts'
import { BadStore, reasonOf, StoreDenied, StoreUnfit, StoreUnreachable } from './errors.ts'
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

const OPEN_MS = 5000
const UNAUTHENTICATED = 16
const PERMISSION_DENIED = 7

const base64 = (text: string): string => Buffer.from(text).toString('base64')
const text = (encoded: string): string => Buffer.from(encoded, 'base64').toString()

export async function openEtcd(options: EtcdOptions, group: string): Promise<CellStore> {
  const ask = gateway(options)
  const start = `${options.prefix}/${safeName(group)}/`
  const status = await ask<Status>('maintenance/status', {}, AbortSignal.timeout(OPEN_MS))
  const place = `${options.endpoints.join(', ')}, keys ${start}`
  if ((status.errors ?? []).length > 0)
    throw new StoreUnfit(`${place} takes no writes: ${status.errors?.join(', ')}; see etcdctl alarm list`)
  // The rights to the keys, too.
  const read = (signal: AbortSignal): Promise<Range> =>
    // The end of the range is the name with its last sign, a slash, counted up by one.
    ask<Range>('kv/range', { key: base64(start), range_end: base64(`${start.slice(0, -1)}0`) }, signal)
  await read(AbortSignal.timeout(OPEN_MS))

  return {
    facts: {
      kind: 'etcd',
      place,
      sound: [
        `etcd ${status.version}: reads are linearizable, one range is a whole round`,
        'a transaction compares the revision of the key',
      ],
      weak: [],
      assumed: ASSUMED.etcd,
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
    async close() {},
  }
}

type Ask = <T>(path: string, body: object, signal: AbortSignal) => Promise<T>

function gateway({ endpoints, username, password }: EtcdOptions): Ask {
  let turn = 0
  let token: string | null = null

  async function post<T>(path: string, body: object, signal: AbortSignal): Promise<T> {
    const endpoint = endpoints[turn % endpoints.length]
    if (endpoint === undefined) throw new BadStore('store.endpoints', 'name at least one')
    let response: Response
    try {
      response = await fetch(new URL(`/v3/${path}`, endpoint), {
        method: 'POST',
        body: JSON.stringify(body),
        headers: token === null ? {} : { authorization: token },
        redirect: 'error',
        signal,
      })
    } catch (error) {
      turn += 1
      throw new StoreUnreachable(endpoint, error)
    }
    const answer = (await response.json().catch(() => ({}))) as {
      code?: number
      message?: string
      error?: string
    }
    if (response.ok) return answer as T
    const why = answer.message ?? answer.error ?? `it answered ${response.status}`
    if (
      answer.code === UNAUTHENTICATED ||
      answer.code === PERMISSION_DENIED ||
      /user name is empty|authentication/.test(why)
    ) {
      token = null
      throw new StoreDenied(
        `${endpoint} refuses: ${why} (check username and password, and that the role may read and write the keys)`,
      )
    }
    if (response.status >= 500) turn += 1
    throw new Error(`${endpoint}: ${why}`)
  }

  return async (path, body, signal) => {
    if (username !== undefined && token === null) {
      const login = { name: username, password: password ?? '' }
      const answer = await post<{ token: string }>('auth/authenticate', login, signal).catch(
        (error: unknown) => {
          if (error instanceof StoreUnreachable) throw error
          throw new StoreDenied(`${endpoints[0]} refuses the user ${username}: ${reasonOf(error)}`, {
            cause: error,
          })
        },
      )
      token = answer.token
    }
    return post(path, body, signal)
  }
}
