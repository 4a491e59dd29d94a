import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { conformance } from '../../../test/support/conformance.ts'
import { outages } from '../../../test/support/outages.ts'
import { silentPort } from '../../../test/support/ports.ts'
import { describeWith, ownServer } from '../../../test/support/servers.ts'
import { pending } from '../../../test/support/wait.ts'
import { findFreePorts } from '../chaos/free-ports.ts'
import { openEtcd, renewalTime } from './etcd.ts'

const ROOT = { name: 'root', password: 'root' }

describe('an etcd cluster without a leader', () => {
  /** An endpoint of such a cluster, or of a healthy one. */
  async function member(isWell: boolean): Promise<string> {
    const server = createServer((_request, response) => {
      const answer = isWell ? { version: '3' } : { code: 14, message: 'etcdserver: no leader' }
      response.writeHead(isWell ? 200 : 503).end(JSON.stringify(answer))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      server.close()
    })
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  it.each([{}, { username: 'me', password: 'secret' }])(
    'cannot be reached, rather than refuse: with %j',
    async (user) => {
      const opening = openEtcd({ endpoints: [await member(false)], prefix: '/c', ...user }, 'g')
      await expect(opening).rejects.toMatchObject({
        name: 'StoreUnreachableError',
        message: expect.stringContaining('no leader'),
      })
    },
  )

  it('is skipped if another endpoint responds', async () => {
    const store = await openEtcd({ endpoints: [await member(false), await member(true)], prefix: '/c' }, 'g')
    onTestFinished(() => store.close())
    expect(await store.read(AbortSignal.timeout(10_000))).toEqual([])
  })
})

await describeWith('etcd', 'etcd', (url) => {
  const endpoints = [url.replace('etcd:', 'http:')]
  conformance('a range of keys', { open: (group) => openEtcd({ endpoints, prefix: '/conclave' }, group) })

  outages('etcd', url, (own, group) =>
    openEtcd({ endpoints: [own.replace('etcd:', 'http:')], prefix: '/conclave' }, group),
  )

  it('reports unreachable endpoints', async () => {
    const unreachable = { name: 'StoreUnreachableError', message: expect.stringContaining('ECONNREFUSED') }
    const [port] = await findFreePorts(1, 'tcp')
    await expect(
      openEtcd({ endpoints: [`http://127.0.0.1:${port}`], prefix: '/c' }, 'g'),
    ).rejects.toMatchObject(unreachable)
    const store = await openEtcd({ endpoints, prefix: '/c' }, 'g')
    expect(store.facts.sound[0]).toContain('linearizable')
  })

  it('uses the next endpoint when one does not respond', async () => {
    const [port] = await findFreePorts(1, 'tcp')
    const silent = await silentPort()
    const several = [`http://127.0.0.1:${silent}`, `http://127.0.0.1:${port}`, ...endpoints]
    const tried = (): Promise<unknown> =>
      openEtcd({ endpoints: several, prefix: '/several' }, 'g').then(
        (store) => store.read(AbortSignal.timeout(10_000)),
        (error: Error) => error.name,
      )
    expect(await tried()).toEqual([])
  })

  /** A server that gives JSON Web Tokens, with a user who may do everything. */
  async function withTokens(
    life: string,
  ): Promise<{ at: string; tell: (path: string, body: object) => Promise<void> }> {
    const folder = mkdtempSync(join(tmpdir(), 'conclave-jwt-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const [pub, priv] = [join(folder, 'public.pem'), join(folder, 'private.pem')]
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    writeFileSync(pub, publicKey.export({ type: 'spki', format: 'pem' }))
    writeFileSync(priv, privateKey.export({ type: 'pkcs1', format: 'pem' }))
    const jwt = `jwt,pub-key=${pub},priv-key=${priv},sign-method=RS256,ttl=${life}`
    const server = await ownServer('etcd', ['--auth-token', jwt, '--bcrypt-cost', '4'])
    onTestFinished(() => server.end())
    const at = server.url.replace('etcd:', 'http:')
    let isEnabled = false
    const post = (path: string, body: object, headers: Record<string, string> = {}): Promise<Response> =>
      fetch(`${at}/v3/auth/${path}`, { method: 'POST', body: JSON.stringify(body), headers })
    const tell = async (path: string, body: object): Promise<void> => {
      const once = async (): Promise<number> => {
        if (!isEnabled) return (await post(path, body)).status
        const { token } = (await (await post('authenticate', ROOT)).json()) as { token: string }
        return (await post(path, body, { authorization: token })).status
      }
      // On a busy machine a token may expire before it is used.
      await expect.poll(once, { timeout: 25_000 }).toBe(200)
    }
    await tell('user/add', ROOT)
    await tell('role/add', { name: 'root' })
    await tell('user/grant', { user: 'root', role: 'root' })
    await tell('enable', {})
    isEnabled = true
    return { at, tell }
  }

  it('renews its token before it expires, without losing a call', async () => {
    const { at } = await withTokens('2s')
    const store = await openEtcd({ endpoints: [at], prefix: '/c', username: 'root', password: 'root' }, 'g')
    onTestFinished(() => store.close())
    const signal = AbortSignal.timeout(50_000)
    let version = await store.write('b_1', 'x', null, signal)
    // Three lives of a token.
    /* oxlint-disable no-await-in-loop -- one call after the other */
    for (const until = Date.now() + 6000; Date.now() < until; ) {
      version = await store.write('b_1', 'x', version, signal)
      expect(version).not.toBeNull()
      expect(await store.read(signal)).toHaveLength(1)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    /* oxlint-enable no-await-in-loop */
  })

  it('logs in again when users or roles change, and when a token has expired', async () => {
    const { at, tell } = await withTokens('2s')
    const store = await openEtcd({ endpoints: [at], prefix: '/c', username: 'root', password: 'root' }, 'g')
    onTestFinished(() => store.close())
    const signal = AbortSignal.timeout(50_000)
    const version = await store.write('b_1', 'x', null, signal)
    await tell('role/add', { name: 'new' })
    expect(await store.write('b_1', 'y', version, signal)).not.toBeNull()
    // Nobody asks for anything while the token expires.
    const { promise: expired, resolve } = pending()
    setTimeout(resolve, 3500)
    await expired
    expect(await store.read(signal)).toMatchObject([{ name: 'b_1', body: 'y' }])
  })

  it('computes the renewal time of a token from the clock of the server', () => {
    const jwt = (claims: object): string =>
      `head.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.signature`
    const serverMs = 1_000_000_000_000
    const at = { nowMs: 500, serverMs }
    expect(renewalTime(jwt({ exp: serverMs / 1000 + 10 }), at)).toBe(5500)
    expect(renewalTime(jwt({ exp: serverMs / 1000 - 10 }), at)).toBe(500)
    expect(renewalTime('simple.12', at)).toBeNull()
    expect(renewalTime('', at)).toBeNull()
  })

  it('logs in, and reports a wrong password and a missing permission', async () => {
    const server = await ownServer('etcd')
    onTestFinished(() => server.end())
    const at = server.url.replace('etcd:', 'http:')
    const tell = async (path: string, body: object): Promise<void> => {
      const answer = await fetch(`${at}/v3/auth/${path}`, { method: 'POST', body: JSON.stringify(body) })
      expect(answer.status).toBe(200)
    }
    await tell('user/add', { name: 'root', password: 'root' })
    await tell('role/add', { name: 'root' })
    await tell('user/grant', { user: 'root', role: 'root' })
    await tell('user/add', { name: 'poor', password: 'poor' })
    await tell('enable', {})
    const open = (username?: string, password?: string): Promise<unknown> =>
      openEtcd({ endpoints: [at], prefix: '/c', username, password }, 'g').catch((error: unknown) => error)
    expect(await open('root', 'root')).toMatchObject({ facts: { kind: 'etcd' } })
    expect(await open('root', 'guess')).toMatchObject({ name: 'StoreAccessDeniedError' })
    expect(await open('poor', 'poor')).toMatchObject({ name: 'StoreAccessDeniedError' })
    expect(await open()).toMatchObject({ name: 'StoreAccessDeniedError' })
  })
})
