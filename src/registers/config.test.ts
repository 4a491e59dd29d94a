import { describe, expect, it } from 'vitest'
import { needed } from './client.ts'
import { parseStore } from './config.ts'
import { openStore } from './open.ts'

describe('the description of a store', () => {
  it.each([
    ['/var/lib/g', { kind: 'file', path: '/var/lib/g', mode: 'rename' }],
    [
      'file:/mnt/a%20b?mode=sector&mountOptions=noac,hard',
      { path: '/mnt/a b', mode: 'sector', mountOptions: ['noac', 'hard'] },
    ],
    [
      'postgres://u:p@h/db?sslmode=require&table=t',
      { url: 'postgres://u:p@h/db?sslmode=require', table: 't' },
    ],
    ['redis://h:1?acceptWeak=true', { url: 'redis://h:1', prefix: 'conclave', acceptWeak: true }],
    ['rediss://h', { kind: 'redis', acceptWeak: false }],
    ['etcd://u:p@a:1?prefix=/x', { endpoints: ['http://a:1'], prefix: '/x', username: 'u', password: 'p' }],
    ['etcds://a:1', { endpoints: ['https://a:1'], prefix: '/conclave' }],
    ['nats://h:4222?bucket=b', { url: 'nats://h:4222', bucket: 'b' }],
    ['s3://bucket/a/b?region=eu-west-1', { bucket: 'bucket', prefix: 'a/b', region: 'eu-west-1' }],
  ])('may be %s', (url, expected) => {
    expect(parseStore(url)).toMatchObject(expected)
  })

  it.each([
    [{ kind: 'file' }, 'store.path'],
    [{ kind: 'file', path: '/x', mode: 'quick' }, 'store.mode'],
    [{ kind: 'postgres', url: 'http://h' }, 'store.url: write a URL such as postgres://'],
    [{ kind: 'etcd', endpoints: [] }, 'store.endpoints'],
    [{ kind: 'etcd', endpoints: ['h:1'] }, 'store.endpoints.0: write a URL such as http://'],
    [{ kind: 'nats', url: 'nats://h', bucket: 'a.b' }, 'store.bucket: only letters'],
    [{ kind: 'redis', url: 'redis://h', ttl: 3 }, 'ttl'],
    [{ kind: 'mysql' }, 'store.kind'],
    ['mysql://h/db', 'mysql: is not a kind of store'],
    [7, 'store: '],
  ])('%j is refused: %s', (given, message) => {
    expect(() => parseStore(given)).toThrow(message)
  })

  it('without keys for S3 says which are missing', async () => {
    await expect(openStore(parseStore('s3://b'), 'g')).rejects.toThrow(
      'set AWS_ACCESS_KEY_ID in the environment',
    )
  })

  it('whose client is not installed says which package to install; other errors stay what they are', async () => {
    const absent = Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' })
    await expect(needed('redis', 'ioredis', () => Promise.reject(absent))).rejects.toMatchObject({
      name: 'ClientMissing',
      message: 'the redis store needs a package that is not installed: npm install ioredis',
    })
    await expect(needed('redis', 'ioredis', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  })

  it('opens what it describes', async () => {
    const [a, b] = [await openStore({ kind: 'memory' }, 'x'), await openStore({ kind: 'memory' }, 'x')]
    await a.write('b_1', 'text', null, AbortSignal.timeout(1000))
    expect(await b.read(AbortSignal.timeout(1000))).toEqual([{ name: 'b_1', version: '1', body: 'text' }])
  })
})
