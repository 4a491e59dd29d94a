import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { expect, it, onTestFinished } from 'vitest'
import { conformance } from '../../../test/support/conformance.ts'
import { outages } from '../../../test/support/outages.ts'
import { describeWith, ownServer } from '../../../test/support/servers.ts'
import { openRedis } from './redis.ts'

await describeWith('redis', 'Redis', (url) => {
  conformance('a hash', { open: (group) => openRedis({ url, prefix: 'conclave', acceptWeak: false }, group) })

  outages('redis', url, (own, group) => openRedis({ url: own, prefix: 'conclave', acceptWeak: false }, group))

  async function refusal(more: readonly string[], acceptWeak = false): Promise<unknown> {
    const server = await ownServer('redis', more)
    onTestFinished(() => server.end())
    return openRedis({ url: server.url, prefix: 'c', acceptWeak }, 'g').catch((error: unknown) => error)
  }

  it.each([
    ['a replica', (): string[] => ['--replicaof', '127.0.0.1', new URL(url).port], 'it is a replica'],
    ['a node of a cluster', (): string[] => ['--cluster-enabled', 'yes'], 'it is a cluster'],
  ])('refuses %s even with acceptWeak', async (_, more, why) => {
    const problem = { name: 'UnsuitableStoreError', message: expect.stringContaining(why) }
    expect(await refusal(more(), true)).toMatchObject(problem)
  })

  it('refuses Sentinel', async () => {
    const server = await ownServer('redis')
    onTestFinished(() => server.end())
    writeFileSync(join(server.folder, 'sentinel.conf'), '')
    const problem = { name: 'UnsuitableStoreError', message: expect.stringContaining('it is a sentinel') }
    expect(await refusal([join(server.folder, 'sentinel.conf'), '--sentinel'])).toMatchObject(problem)
  })

  it('refuses a log that is flushed once per second, unless acceptWeak is set, and then reports it', async () => {
    const server = await ownServer('redis', ['--appendfsync', 'everysec'])
    onTestFinished(() => server.end())
    const options = { url: server.url, prefix: 'c' }
    await expect(openRedis({ ...options, acceptWeak: false }, 'g')).rejects.toMatchObject({
      name: 'UnsuitableStoreError',
      message: expect.stringMatching(/appendfsync is everysec.*set appendfsync always.*--accept-weak/),
    })
    const store = await openRedis({ ...options, acceptWeak: true }, 'g')
    onTestFinished(() => store.close())
    expect(store.facts.weak).toEqual([expect.stringContaining('appendfsync is everysec')])
  })

  it('refuses a primary with replicas, and a server that becomes a replica later', async () => {
    const [primary, other] = await Promise.all([ownServer('redis'), ownServer('redis')])
    onTestFinished(() => primary.end())
    onTestFinished(() => other.end())
    const options = { prefix: 'c', acceptWeak: false }
    const store = await openRedis({ ...options, url: other.url }, 'g')
    onTestFinished(() => store.close())
    const admin = new Redis(other.url)
    onTestFinished(() => admin.disconnect())
    await admin.replicaof('127.0.0.1', Number(new URL(primary.url).port))
    await expect(store.read(AbortSignal.timeout(10_000))).rejects.toMatchObject({
      name: 'UnsuitableStoreError',
      message: expect.stringContaining('has become a replica'),
    })
    const tried = (): Promise<unknown> =>
      openRedis({ ...options, url: primary.url }, 'g').then(
        (opened) => opened.close(),
        (error: unknown) => error,
      )
    await expect.poll(tried, { timeout: 20_000 }).toMatchObject({
      name: 'UnsuitableStoreError',
      message: expect.stringContaining('it has 1 replicas'),
    })
  })

  it('reports a wrong password, and an unreachable server', async () => {
    expect(await refusal(['--requirepass', 'secret'])).toMatchObject({
      name: 'StoreAccessDeniedError',
      message: expect.stringContaining('check user, password'),
    })
    await expect(
      openRedis({ url: 'redis://127.0.0.1:1', prefix: 'c', acceptWeak: false }, 'g'),
    ).rejects.toMatchObject({
      name: 'StoreUnreachableError',
      message: expect.stringContaining('ECONNREFUSED'),
    })
  })
})
