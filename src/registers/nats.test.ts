import { connect } from '@nats-io/transport-node'
import { expect, it, onTestFinished } from 'vitest'
import { conformance } from '../../test/support/conformance.ts'
import { outages } from '../../test/support/outages.ts'
import { describeWith, ownServer } from '../../test/support/servers.ts'
import { openNats } from './nats.ts'

await describeWith('nats', 'NATS', (url) => {
  conformance('a bucket', {
    open: (group) => openNats({ url, bucket: 'conclave', acceptWeak: false }, group),
  })

  outages('nats', (own, group) => openNats({ url: own, bucket: 'conclave', acceptWeak: false }, group))

  it.each([
    ['allow_direct', { allow_direct: true }, 'direct access'],
    ['memory', { storage: 'memory' }, 'kept in memory'],
    ['max_age', { max_age: 60_000_000_000 }, 'its values expire'],
    ['discard', { discard: 'old' }, 'drops old values'],
  ])('refuses a bucket made with %s', async (name, setting, why) => {
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
      name: 'StoreUnfit',
      message: expect.stringContaining(why),
    })
  })

  it('says when the password is wrong, and when nobody answers', async () => {
    const server = await ownServer('nats', ['--user', 'u', '--pass', 'p'])
    onTestFinished(() => server.end())
    const options = { bucket: 'b', acceptWeak: false }
    await expect(openNats({ ...options, url: server.url }, 'g')).rejects.toMatchObject({
      name: 'StoreDenied',
    })
    const store = await openNats({ ...options, url: server.url.replace('//', '//u:p@') }, 'g')
    await store.close()
    expect(store.facts.place).toContain('u:***@')
    await expect(openNats({ ...options, url: 'nats://127.0.0.1:1' }, 'g')).rejects.toMatchObject({
      name: 'StoreUnreachable',
    })
  })
})
