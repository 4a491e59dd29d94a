import { expect, it, onTestFinished } from 'vitest'
import { conformance } from '../../test/support/conformance.ts'
import { outages } from '../../test/support/outages.ts'
import { describeWith, ownServer } from '../../test/support/servers.ts'
import { freePorts } from '../chaos/free-ports.ts'
import { openEtcd } from './etcd.ts'

await describeWith('etcd', 'etcd', (url) => {
  const endpoints = [url.replace('etcd:', 'http:')]
  conformance('a range of keys', { open: (group) => openEtcd({ endpoints, prefix: '/conclave' }, group) })

  outages('etcd', (own, group) =>
    openEtcd({ endpoints: [own.replace('etcd:', 'http:')], prefix: '/conclave' }, group),
  )

  it('says when nobody answers', async () => {
    const unreachable = { name: 'StoreUnreachable', message: expect.stringContaining('ECONNREFUSED') }
    const [port] = await freePorts(1, 'tcp')
    await expect(
      openEtcd({ endpoints: [`http://127.0.0.1:${port}`], prefix: '/c' }, 'g'),
    ).rejects.toMatchObject(unreachable)
    const store = await openEtcd({ endpoints, prefix: '/c' }, 'g')
    expect(store.facts.sound[0]).toContain('linearizable')
  })

  it('logs in, and says when the password is wrong or the role may not', async () => {
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
    expect(await open('root', 'guess')).toMatchObject({ name: 'StoreDenied' })
    expect(await open('poor', 'poor')).toMatchObject({ name: 'StoreDenied' })
    expect(await open()).toMatchObject({ name: 'StoreDenied' })
  })
})
