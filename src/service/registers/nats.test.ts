import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from '@nats-io/transport-node'
import { expect, it, onTestFinished } from 'vitest'
import { conformance } from '../../../test/support/conformance.ts'
import { outages } from '../../../test/support/outages.ts'
import { silentPort } from '../../../test/support/ports.ts'
import { describeWith, ownServer } from '../../../test/support/servers.ts'
import { openNats } from './nats.ts'

await describeWith('nats', 'NATS', (url) => {
  conformance('a bucket', {
    open: (group) => openNats({ url, bucket: 'conclave', acceptWeak: false }, group),
  })

  outages('nats', url, (own, group) => openNats({ url: own, bucket: 'conclave', acceptWeak: false }, group))

  it.each([
    ['allow_direct', { allow_direct: true }, 'direct access'],
    ['memory', { storage: 'memory' }, 'stored in memory'],
    ['max_age', { max_age: 60_000_000_000 }, 'its values expire'],
    ['discard', { discard: 'old' }, 'drops old values'],
  ])('refuses a bucket with %s', async (name, setting, why) => {
    const client = await connect({ servers: url })
    onTestFinished(() => client.close())
    const base = {
      name: `KV_${name}`,
      subjects: [`$KV.${name}.>`],
      discard: 'new',
      max_msgs_per_subject: 1,
      storage: 'file',
    }
    const made = await client.request(
      `$JS.API.STREAM.CREATE.KV_${name}`,
      JSON.stringify({ ...base, ...setting }),
    )
    expect(made.json()).not.toHaveProperty('error')
    await expect(openNats({ url, bucket: name, acceptWeak: true }, 'g')).rejects.toMatchObject({
      name: 'UnsuitableStoreError',
      message: expect.stringContaining(why),
    })
  })

  it('reconnects to a server that rejected its password for a while', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'conclave-nats-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const config = join(folder, 'nats.conf')
    const takes = (password: string): void =>
      writeFileSync(config, `authorization { user: u, password: ${password} }\n`)
    takes('right')
    const server = await ownServer('nats', ['-c', config])
    onTestFinished(() => server.end())
    const options = { url: server.url.replace('//', '//u:right@'), bucket: 'b', acceptWeak: false }
    const store = await openNats(options, 'g')
    onTestFinished(() => store.close())
    const tried = (): Promise<unknown> =>
      store.read(AbortSignal.timeout(2000)).catch((error: unknown) => (error as Error).name)
    expect(await tried()).toEqual([])
    await server.kill()
    takes('other')
    await server.restart()
    // The client itself gives up for ever after two refusals in a row.
    let refusals = 0
    await expect
      .poll(async () => (refusals += (await tried()) === 'StoreAccessDeniedError' ? 1 : 0), {
        timeout: 25_000,
      })
      .toBeGreaterThan(5)
    await server.kill()
    takes('right')
    await server.restart()
    await expect.poll(tried, { timeout: 25_000 }).toEqual([])
  })

  it('uses a user without a password as a token', async () => {
    const server = await ownServer('nats', ['--auth', 'sesame'])
    onTestFinished(() => server.end())
    const opened = (token: string) =>
      openNats({ url: server.url.replace('//', `//${token}@`), bucket: 'b', acceptWeak: false }, 'g')
    const store = await opened('sesame')
    onTestFinished(() => store.close())
    expect(await store.read(AbortSignal.timeout(10_000))).toEqual([])
    await expect(opened('wrong')).rejects.toMatchObject({ name: 'StoreAccessDeniedError' })
  })

  it('connects to the reachable one of several servers', async () => {
    const { host } = new URL(url)
    const silent = await silentPort()
    const store = await openNats(
      { url: `nats://127.0.0.1:${silent},127.0.0.1:1,${host}`, bucket: 'conclave', acceptWeak: false },
      'g',
    )
    onTestFinished(() => store.close())
    expect(await store.read(AbortSignal.timeout(10_000))).toEqual([])
  })

  it('reports a wrong password, and an unreachable server', async () => {
    const server = await ownServer('nats', ['--user', 'u', '--pass', 'p'])
    onTestFinished(() => server.end())
    const options = { bucket: 'b', acceptWeak: false }
    await expect(openNats({ ...options, url: server.url }, 'g')).rejects.toMatchObject({
      name: 'StoreAccessDeniedError',
    })
    const store = await openNats({ ...options, url: server.url.replace('//', '//u:p@') }, 'g')
    await store.close()
    expect(store.facts.place).toContain('u:***@')
    await expect(openNats({ ...options, url: 'nats://127.0.0.1:1' }, 'g')).rejects.toMatchObject({
      name: 'StoreUnreachableError',
    })
  })
})
