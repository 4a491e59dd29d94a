import { describe, expect, it } from 'vitest'
import { parseStore } from './config.ts'
import { openStore } from './open.ts'
import { loadClient } from './urls.ts'

describe('parseStore', () => {
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
    ['REDISS://h', { url: 'rediss://h' }],
    ['redis://h/2?family=6&prefix=p', { url: 'redis://h/2?family=6', prefix: 'p' }],
    ['etcd://u:p@a:1?prefix=/x', { endpoints: ['http://a:1'], prefix: '/x', username: 'u', password: 'p' }],
    ['etcd://a:1,b:2,c', { endpoints: ['http://a:1', 'http://b:2', 'http://c:2379'] }],
    ['postgres://me@db1:5432,db2:5432/app', { kind: 'postgres', url: 'postgres://me@db1:5432,db2:5432/app' }],
    ['postgres://u:p%40@a,b/db?table=t&sslmode=require', { url: 'postgres://u:p%40@a,b/db?sslmode=require' }],
    ['nats://n1:4222,n2:4222', { kind: 'nats', url: 'nats://n1:4222,n2:4222' }],
    ['nats://u:p@n1,[::1]:4222?bucket=b', { url: 'nats://u:p@n1,[::1]:4222', bucket: 'b' }],
    ['./registers', { kind: 'file', path: './registers' }],
    ['./', { kind: 'file', path: './' }],
    ['file:registers', { kind: 'file', path: 'registers' }],
    ['file:~registers', { kind: 'file', path: '~registers' }],
    ['nats://u:a,b@n1,n2', { url: 'nats://u:a,b@n1,n2' }],
    ['file:///var/lib/g', { kind: 'file', path: '/var/lib/g' }],
    ['etcds://a:1', { endpoints: ['https://a:1'], prefix: '/conclave' }],
    ['nats://h:4222?bucket=b', { url: 'nats://h:4222', bucket: 'b' }],
    ['s3://bucket/a/b?region=eu-west-1', { bucket: 'bucket', prefix: 'a/b', region: 'eu-west-1' }],
  ])('accepts %s', (url, expected) => {
    expect(parseStore(url)).toMatchObject(expected)
  })

  it.each([
    [{ kind: 'file' }, 'store.path'],
    [{ kind: 'file', path: '/x', mode: 'quick' }, 'store.mode'],
    [{ kind: 'postgres', url: 'http://h' }, 'store.url: must be a URL such as postgres://'],
    [{ kind: 'etcd', endpoints: [] }, 'store.endpoints'],
    [{ kind: 'etcd', endpoints: ['h:1'] }, 'store.endpoints.0: must be a URL such as http://'],
    [{ kind: 'nats', url: 'nats://h', bucket: 'a.b' }, 'store.bucket: only letters'],
    [{ kind: 'redis', url: 'redis://h', ttl: 3 }, 'ttl'],
    [{ kind: 'mysql' }, 'store.kind'],
    ['mysql://h/db', 'mysql: is not a kind of store'],
    [7, 'store: '],
    ['redis://h:6379x', 'store: "h:6379x" is not a host'],
    ['redis://h1:6379,h2:6379', 'store: use one server, not 2'],
    ['s3://a,b', 'store: use one bucket, not 2'],
    ['postgres//db/app', 'store: "postgres//db/app" is neither a URL nor a path'],
    ['postgres:db/app', 'store: not a URL'],
    ['postgres:/db/app', 'store: not a URL'],
    ['postgres://me:secret@db1:5432,db2:54x2/app', 'store: "db2:54x2" is not a host'],
    ['nats://n1:4222,', 'store: "" is not a host'],
    ['etcd://e1:2379,,e3:2379', 'store: "" is not a host'],
    ['etcd://e1:2379/app', 'store: etcd: takes no path'],
    ['etcd://', 'store: etcd: needs a host'],
    ['e1:2379,e2:2379', 'e1: is not a kind of store'],
    ['127.0.0.1:6379', 'store: "127.0.0.1:6379" is neither a URL nor a path'],
    ['registers', 'store: "registers" is neither a URL nor a path'],
    ['./registers?mode=sector', 'store: a path takes no options: use file:./registers?mode=sector'],
    ['~/registers', 'is neither a URL nor a path'],
    ['file:~/registers', 'store.path: ~ is not expanded here, so it would be a folder below the current one'],
    [{ kind: 'file', path: '~' }, 'store.path: ~ is not expanded here'],
    ['nats://u:p@n1,u:p@n2', 'store: write user and password once, before the first host'],
    ['postgres://u:p@db1:5432,u@db2/app', 'store: write user and password once, before the first host'],
    ['me:secret@db/app', 'me: is not a kind of store'],
    ['file://host/registers', 'store: file: takes no host'],
    ['etcd://h?prefx=/x', 'store.prefx: is not an option of etcd'],
    ['redis://h?acceptWeak=yes', 'store.acceptWeak: must be true or false'],
    ['redis://h?prefx=app', 'store.url: the parameter prefx is not known; use only db or family'],
    ['redis://h?ssl=true', 'store.url: the parameter ssl is not known; use only db or family'],
    ['redis://h/app', 'store.url: the path must be the number of a database, not "app"'],
    [{ kind: 'redis', url: 'redis://h?prefix=app' }, 'store.url: the parameter prefix is not known'],
    [{ kind: 'nats', url: 'nats://h?bucket=b' }, 'store.url: the parameter bucket is not known'],
    [{ kind: 'nats', url: 'nats://h/b' }, 'store.url: takes no path: remove /b'],
    ['', 'is neither a URL nor a path'],
    [{ kind: 'postgres', url: 'postgres://a:x,b/db' }, 'store.url: must be a URL such as postgres://'],
  ])('refuses %j: %s', (given, message) => {
    expect(() => parseStore(given)).toThrow(message)
  })

  it.each([
    'postgres://me:se cret@db:x/app',
    'postgres://me:se/cret@db',
    'postgres://me:se?cret@db/app',
    'nats://me:se#cret@n1:4222,n2:4222',
    'redis://:se/cret@h:6379',
    'postgres//me:secret@db/app',
    'postgres//me:se:cret@db/app',
    'postgres//me:se@cret@db/app',
    'me:secret',
    { kind: 'postgres', url: 'postgres://me:se/cret@db' },
    { kind: 'etcd', endpoints: ['http://me:secret@e1:2379'] },
    { kind: 's3', bucket: 'b', endpoint: 'https://me:secret@h' },
  ])('does not show the password when it refuses %j', (given) => {
    expect(() => parseStore(given)).toThrow(/^(?!.*(?:\bse\b|cret(?!Access)))/s)
  })

  it('does not mistake the start of a password for a port', () => {
    expect(() => parseStore('postgres://me:12/34@db/app')).toThrow('write %2F for /')
    expect(() => parseStore('etcd://me:12#34@e1')).toThrow('%23 for #')
    expect(parseStore('postgres://me:12%2F34@db/app')).toMatchObject({ url: 'postgres://me:12%2F34@db/app' })
  })

  it('names missing S3 keys', async () => {
    await expect(openStore(parseStore('s3://b'), 'g')).rejects.toThrow(
      'set AWS_ACCESS_KEY_ID in the environment',
    )
  })

  it('names the package to install when a client is missing, and passes other errors on', async () => {
    const absent = Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' })
    await expect(loadClient('redis', 'ioredis', () => Promise.reject(absent))).rejects.toMatchObject({
      name: 'MissingClientError',
      message: 'the redis store needs a package that is not installed: npm install ioredis',
    })
    await expect(loadClient('redis', 'ioredis', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  })

  it('opens a store from a configuration', async () => {
    const [a, b] = [await openStore({ kind: 'memory' }, 'x'), await openStore({ kind: 'memory' }, 'x')]
    await a.write('b_1', 'text', null, AbortSignal.timeout(1000))
    expect(await b.read(AbortSignal.timeout(1000))).toEqual([{ name: 'b_1', version: '1', body: 'text' }])
  })
})
