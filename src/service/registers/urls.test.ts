import { describe, expect, it } from 'vitest'
import { parseUrl, redactUrl } from './urls.ts'

describe('parseUrl', () => {
  it.each<[string, object]>([
    [
      'postgres://me:secret@db1:5432,db2/app?sslmode=require',
      {
        protocol: 'postgres:',
        username: 'me',
        password: 'secret',
        hosts: ['db1:5432', 'db2'],
        path: 'app',
      },
    ],
    ['REDIS://H:1', { protocol: 'redis:', username: '', password: '', hosts: ['H:1'], path: '' }],
    ['nats://tok@n1', { username: 'tok', password: '', hosts: ['n1'] }],
    ['nats://u:a:b@n1', { username: 'u', password: 'a:b' }],
    ['nats://u:a%40b%2F@n1', { password: 'a@b/' }],
    ['nats://u:a@b@n1', { username: 'u', password: 'a@b', hosts: ['n1'] }],
    ['etcd://[::1]:2379,[fe80::1]', { hosts: ['[::1]:2379', '[fe80::1]'] }],
    ['postgres:///db', { hosts: [''], path: 'db' }],
    ['s3://bucket/a%20b/c', { hosts: ['bucket'], path: 'a b/c' }],
    ['s3://bucket/a#fragment', { path: 'a' }],
  ])('takes %s apart', (url, parts) => {
    expect(parseUrl(url)).toMatchObject(parts)
  })

  it('keeps everything but the hosts when it names one of them', () => {
    const parts = parseUrl('postgres://me:s%20t@db1:5432,db2/app?a=1&b=2')
    expect(parts.hosts.map((host) => parts.at(host))).toEqual([
      'postgres://me:s%20t@db1:5432/app?a=1&b=2',
      'postgres://me:s%20t@db2/app?a=1&b=2',
    ])
    // Clients compare the protocol with its lower-case form, for example to decide whether to use TLS.
    expect(parseUrl('REDISS://h').at('h')).toBe('rediss://h')
    expect(Object.fromEntries(parts.search)).toEqual({ a: '1', b: '2' })
  })

  it.each([
    ['', 'not a URL: use KIND://HOST:PORT'],
    ['h:1', 'not a URL: use KIND://HOST:PORT'],
    ['redis:h', 'not a URL: use KIND://HOST:PORT'],
    ['1redis://h', 'not a URL: use KIND://HOST:PORT'],
    ['redis://h:x', '"h:x" is not a host: use HOST or HOST:PORT'],
    ['redis://h:99999', '"h:99999" is not a host: use HOST or HOST:PORT'],
    ['etcd://a,,b', '"" is not a host: use HOST or HOST:PORT'],
    ['etcd://a,', '"" is not a host: use HOST or HOST:PORT'],
    ['etcd://[::1', '"[::1" is not a host: use HOST or HOST:PORT'],
    ['nats://u:%zz@h', '% must be followed by two hexadecimal digits: write %25 for a percent sign'],
    ['s3://b/100%', '% must be followed by two hexadecimal digits: write %25 for a percent sign'],
    [
      'redis://u:p/w@h',
      '@ after the first / ? or #: in a password write %2F for /, %3F for ? and %23 for #; elsewhere write %40 for @',
    ],
  ])('refuses %j', (url, message) => {
    expect(() => parseUrl(url)).toThrow(new TypeError(message))
  })
})

it.each([
  ['postgres://me:secret@db1,db2/app?password=secret', 'postgres://me:***@db1,db2/app'],
  ['postgres://me@db/app', 'postgres://me@db/app'],
  ['redis://:secret@h:1', 'redis://:***@h:1'],
  ['redis://h:1/0', 'redis://h:1/0'],
  ['nats://a%40b:c@h', 'nats://a%40b:***@h'],
  ['nats://token@n1,n2', 'nats://***@n1,n2'],
  ['tls://token@n1', 'tls://***@n1'],
])('shows %s without its password or token: %s', (url, shown) => {
  expect(redactUrl(url)).toBe(shown)
})
