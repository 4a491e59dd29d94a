/** Servers that accept connections and never answer: stopped, or behind a firewall that drops packets. */
import { createServer } from 'node:http'
import { expect, it, onTestFinished } from 'vitest'
import { silentPort } from '../../../test/support/ports.ts'
import { parseStore } from './config.ts'
import { openStore } from './open.ts'

it('no kind of store reaches a server that never answers', async () => {
  const urls = ['redis://h', 'nats://h', 'postgres://me:secret@h/db', 'etcd://h', 'etcd://me:secret@h']
  // At the same time: each attempt takes five seconds.
  const errors = await Promise.all(
    urls.map(async (url) => {
      const silent = url.replace(/h(?=$|\/db)/, `127.0.0.1:${await silentPort()}`)
      return openStore(parseStore(silent), 'g').catch((error: unknown) => error)
    }),
  )
  const expected =
    /^cannot reach the store at [^ ]*127\.0\.0\.1:\d+.*: no (?:answer|connection) within \d+ ms; check/
  for (const error of errors)
    expect(error).toMatchObject({
      name: 'StoreUnreachableError',
      message: expect.stringMatching(expected),
    })
}, 20_000)

it('a silent endpoint of etcd does not keep a node that logs in from starting', async () => {
  const server = createServer((request, response) => {
    const answer = request.url === '/v3/auth/authenticate' ? { token: 'simple.1' } : { version: '3' }
    response.end(JSON.stringify(answer))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as { port: number }
  const url = `etcd://me:secret@127.0.0.1:${await silentPort()},127.0.0.1:${port}`
  const store = await openStore(parseStore(url), 'g')
  onTestFinished(() => store.close())
  expect(await store.read(AbortSignal.timeout(10_000))).toEqual([])
}, 20_000)
