/** Requests to the JSON gateway of etcd, and what its answers mean, with servers in this process. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { findFreePorts } from '../chaos/free-ports.ts'
import { openEtcd } from './etcd.ts'

type Asked = {
  readonly path: string
  readonly body: { readonly [field: string]: unknown }
  readonly token: string | null
}
type Answer = { readonly status?: number; readonly body: unknown }

const base64 = (text: string): string => Buffer.from(text).toString('base64')
const SIGNAL = new AbortController().signal
const GOOD: { readonly [path: string]: unknown } = {
  'maintenance/status': { version: '3.5.9' },
  'kv/range': {},
}

/** An endpoint that answers as the test says; what it does not say is good. */
async function endpoint(answer: (asked: Asked) => Answer | null = () => null) {
  const asked: Asked[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (data: Buffer) => (text += data.toString()))
    request.on('end', () => {
      const path = (request.url ?? '').replace('/v3/', '')
      const one: Asked = {
        path,
        body: JSON.parse(text) as Asked['body'],
        token: request.headers.authorization ?? null,
      }
      asked.push(one)
      const { status = 200, body } = answer(one) ?? { body: GOOD[path] ?? {} }
      response.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
}

async function opened(endpoints: readonly string[], more: { username?: string; password?: string } = {}) {
  const store = await openEtcd({ endpoints, prefix: '/c', ...more }, 'a b')
  onTestFinished(() => store.close())
  return store
}

describe('cells in etcd', () => {
  it('are the keys below the prefix and the group, read by one range', async () => {
    const { url, asked } = await endpoint(({ path }) =>
      path === 'kv/range'
        ? { body: { kvs: [{ key: base64('/c/a=20b/b_1'), mod_revision: '12', value: base64('größe') }] } }
        : null,
    )
    const store = await opened([url])
    expect(await store.read(SIGNAL)).toEqual([{ name: 'b_1', version: '12', body: 'größe' }])
    expect(asked.at(-1)?.body).toEqual({ key: base64('/c/a=20b/'), range_end: base64('/c/a=20b0') })
    expect(store.facts.place).toBe(`${url}, keys /c/a=20b/`)
    expect(store.facts.sound[0]).toContain('etcd 3.5.9')
  })

  it.each<[string | null, object, string | null, string]>([
    [null, { succeeded: true, header: { revision: '13' } }, '13', '0'],
    ['12', { succeeded: true, header: { revision: '13' } }, '13', '12'],
    ['12', { header: { revision: '13' } }, null, '12'],
  ])('expected in revision %j, with the answer %j: %j', async (expected, answer, version, compared) => {
    const { url, asked } = await endpoint(({ path }) => (path === 'kv/txn' ? { body: answer } : null))
    const store = await opened([url])
    expect(await store.write('b_1', 'x', expected, SIGNAL)).toBe(version)
    const key = base64('/c/a=20b/b_1')
    expect(asked.at(-1)?.body).toEqual({
      compare: [{ key, target: 'MOD', result: 'EQUAL', mod_revision: compared }],
      success: [{ request_put: { key, value: base64('x') } }],
    })
  })

  it('are removed only in the expected revision', async () => {
    const { url, asked } = await endpoint()
    const store = await opened([url])
    await store.remove('b_1', '12', SIGNAL)
    expect(asked.at(-1)?.body).toMatchObject({
      compare: [{ mod_revision: '12' }],
      success: [{ request_delete_range: { key: base64('/c/a=20b/b_1') } }],
    })
  })
})

describe('an answer of etcd', () => {
  it.each<[string, Answer, string, string]>([
    [
      'refuses',
      { status: 403, body: { code: 7, message: 'permission denied' } },
      'StoreAccessDeniedError',
      'permission denied',
    ],
    [
      'asks for a login',
      { status: 401, body: { code: 16, error: 'unauthenticated' } },
      'StoreAccessDeniedError',
      'check username',
    ],
    [
      'asks for a user',
      { status: 400, body: { error: 'etcdserver: user name is empty' } },
      'StoreAccessDeniedError',
      'user name is empty',
    ],
    [
      'has no leader',
      { status: 503, body: { message: 'etcdserver: no leader' } },
      'StoreUnreachableError',
      'no leader',
    ],
    ['is late', { status: 504, body: 'upstream' }, 'StoreUnreachableError', 'HTTP status 504'],
    ['is no JSON', { status: 500, body: '<html>' }, 'Error', 'HTTP status 500'],
    [
      'is full',
      { status: 429, body: { message: 'etcdserver: mvcc: database space exceeded' } },
      'Error',
      'space exceeded',
    ],
  ])('that %s', async (_what, answer, name, message) => {
    let isBad = false
    const { url } = await endpoint(() => (isBad ? answer : null))
    const store = await opened([url])
    isBad = true
    await expect(store.read(SIGNAL)).rejects.toMatchObject({
      name,
      message: expect.stringContaining(message),
    })
  })

  it('with an alarm makes it unsuitable', async () => {
    const { url } = await endpoint(({ path }) =>
      path === 'maintenance/status' ? { body: { version: '3', errors: ['NOSPACE'] } } : null,
    )
    await expect(opened([url])).rejects.toMatchObject({
      name: 'UnsuitableStoreError',
      message: expect.stringContaining('rejects writes: NOSPACE; see etcdctl alarm list'),
    })
  })
})

describe('a login', () => {
  it('comes first, and its token goes with every request', async () => {
    const { url, asked } = await endpoint(({ path }) =>
      path === 'auth/authenticate' ? { body: { token: 'simple.1' } } : null,
    )
    const store = await opened([url], { username: 'me', password: 'secret' })
    await store.read(SIGNAL)
    expect(asked.map(({ path, token }) => [path, token])).toEqual([
      ['auth/authenticate', null],
      ['maintenance/status', 'simple.1'],
      ['kv/range', 'simple.1'],
      ['kv/range', 'simple.1'],
    ])
    expect(asked[0]?.body).toEqual({ name: 'me', password: 'secret' })
  })

  it('is repeated once when a token is no longer valid', async () => {
    let logins = 0
    const { url, asked } = await endpoint(({ path, token }) => {
      if (path === 'auth/authenticate') return { body: { token: `simple.${(logins += 1)}` } }
      if (path === 'kv/txn' && token === 'simple.1')
        return { status: 401, body: { code: 16, message: 'etcdserver: invalid auth token' } }
      return path === 'kv/txn' ? { body: { succeeded: true, header: { revision: '5' } } } : null
    })
    const store = await opened([url], { username: 'me' })
    expect(await store.write('b_1', 'x', null, SIGNAL)).toBe('5')
    expect(asked.filter(({ path }) => path === 'kv/txn').map(({ token }) => token)).toEqual([
      'simple.1',
      'simple.2',
    ])
  })

  it('is repeated when the new token has expired before it arrives', async () => {
    let logins = 0
    const { url, asked } = await endpoint(({ path, token }) => {
      if (path === 'auth/authenticate') return { body: { token: `short.${(logins += 1)}` } }
      if (path === 'kv/txn' && token !== 'short.3')
        return { status: 401, body: { code: 16, message: 'etcdserver: invalid auth token' } }
      return path === 'kv/txn' ? { body: { succeeded: true, header: { revision: '5' } } } : null
    })
    const store = await opened([url], { username: 'me' })
    expect(await store.write('b_1', 'x', null, SIGNAL)).toBe('5')
    expect(asked.filter(({ path }) => path === 'kv/txn')).toHaveLength(3)
  })

  it('whose new tokens are all refused is denied', async () => {
    let isStale = false
    let logins = 0
    const { url } = await endpoint(({ path }) => {
      if (path === 'auth/authenticate') return { body: { token: `simple.${(logins += 1)}` } }
      return isStale ? { status: 400, body: { error: 'etcdserver: revision of auth store is old' } } : null
    })
    const store = await opened([url], { username: 'me' })
    isStale = true
    await expect(store.read(SIGNAL)).rejects.toMatchObject({
      name: 'StoreAccessDeniedError',
      message: expect.stringContaining('refuses a new token'),
    })
    expect(logins).toBe(1 + 3)
  })

  it('that is refused names the user, and is not repeated at once', async () => {
    let logins = 0
    const { url } = await endpoint(({ path }) => {
      if (path === 'auth/authenticate') logins += 1
      return {
        status: 400,
        body: { error: 'etcdserver: authentication failed, invalid user ID or password' },
      }
    })
    await expect(opened([url], { username: 'me' })).rejects.toMatchObject({
      name: 'StoreAccessDeniedError',
      message: expect.stringContaining(`${url} refuses the user me: `),
    })
    expect(logins).toBe(1)
  })
})

describe('several endpoints', () => {
  it('are tried in turn by a request that was never sent', async () => {
    const [port] = await findFreePorts(1, 'tcp')
    const { url, asked } = await endpoint()
    const store = await opened([`http://127.0.0.1:${port}`, url])
    expect(await store.read(SIGNAL)).toEqual([])
    expect(asked.length).toBeGreaterThan(1)
  })

  it('do not get a write twice: the outcome of a write that was sent and not answered is unknown', async () => {
    let isBroken = false
    const writes: string[] = []
    const breaking = await endpoint(({ path }) => {
      if (path === 'kv/txn') writes.push('first')
      return isBroken ? { status: 500, body: {} } : null
    })
    const other = await endpoint(({ path }) => {
      if (path === 'kv/txn') writes.push('second')
      return path === 'kv/txn' ? { body: { succeeded: true, header: { revision: '1' } } } : null
    })
    const store = await opened([breaking.url, other.url])
    isBroken = true
    await expect(store.write('b_1', 'x', null, SIGNAL)).rejects.toThrow('HTTP status 500')
    expect(writes).toEqual(['first'])
    // The next call goes to the other endpoint.
    expect(await store.write('b_1', 'x', null, SIGNAL)).toBe('1')
    expect(writes).toEqual(['first', 'second'])
  })
})
