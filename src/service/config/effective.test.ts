import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import type { Config, GroupConfig } from './config.ts'
import { effectiveJson, effectiveText } from './effective.ts'

const group = (node: object, from: { readonly [field: string]: string } = {}): GroupConfig =>
  ({ node, join: {}, from }) as unknown as GroupConfig

const DEFAULTED = { httpNames: 'default', logLevel: 'default', logFormat: 'default' }

function config(...groups: readonly GroupConfig[]): Config {
  return {
    process: { http: '127.0.0.1:7480', httpNames: [], logLevel: 'info', logFormat: 'json', traceSteps: 0 },
    from: { http: '--http', ...DEFAULTED, traceSteps: 'c.yaml:2:1' },
    groups,
    adminToken: 'the secret token',
    readToken: 'the secret token',
    tls: null,
    warnings: [{ field: 'data', message: 'is missing' }],
  }
}

describe('the effective configuration as text', () => {
  it('has the origin of each field, those of the node first', () => {
    const one = group({ group: 'g', id: 'a' }, { group: '--group', id: 'CONCLAVE_ID' })
    expect(effectiveText(config(one)).split('\n')).toEqual([
      'group: g  # --group',
      'id: a  # CONCLAVE_ID',
      'http: 127.0.0.1:7480  # --http',
      'httpNames: []  # default',
      'logLevel: info  # default',
      'logFormat: json  # default',
      'traceSteps: 0  # c.yaml:2:1',
    ])
  })

  it('lists several groups below the fields of the process', () => {
    const text = effectiveText(config(group({ group: 'x', id: 'a' }), group({ group: 'y', mode: 'local' })))
    expect(text.split('\n').slice(5)).toEqual([
      'groups:',
      '  - group: x  # ',
      '    id: a  # ',
      '  - group: y  # ',
      '    mode: local  # ',
    ])
  })

  it('is YAML with the same values, also with line breaks and comment signs', () => {
    const node = {
      group: 'a: b # c',
      id: '7',
      peers: ['b=h:1', { id: 'c', address: '[::1]:2', observer: true }],
      options: { text: 'two\nlines', list: [1, null], flag: false },
      keyFile: ['/k', '/with space'],
    }
    const { process } = config()
    expect(parse(effectiveText(config(group(node))))).toEqual({ ...node, ...process })
    expect(parse(effectiveText(config(group(node), group(node))))).toEqual({
      ...process,
      groups: [node, node],
    })
  })

  it('leaves out fields without a value', () => {
    expect(effectiveText(config(group({ group: 'g', data: undefined })))).not.toContain('data')
  })
})

describe('secrets', () => {
  /** The node of the only group, as it is shown. */
  const shown = (node: object): unknown =>
    (effectiveJson(config(group(node))) as { groups: readonly unknown[] }).groups[0]

  it.each<[object, object]>([
    [
      { kind: 'postgres', url: 'postgres://me:secret@h/db' },
      { kind: 'postgres', url: 'postgres://me:***@h/db' },
    ],
    [
      { kind: 'redis', url: 'redis://:s@cret@h' },
      { kind: 'redis', url: 'redis://:***@h' },
    ],
    [
      { kind: 'nats', url: 'nats://h:4222' },
      { kind: 'nats', url: 'nats://h:4222' },
    ],
    [
      { kind: 'nats', url: 'tls://token@h1,h2:4222' },
      { kind: 'nats', url: 'tls://***@h1,h2:4222' },
    ],
    [
      { kind: 'postgres', url: 'postgres://me@h/db?password=secret&sslmode=require' },
      { kind: 'postgres', url: 'postgres://me@h/db?password=***&sslmode=require' },
    ],
    [
      { kind: 'etcd', endpoints: ['http://h'], username: 'me', password: 'secret' },
      { kind: 'etcd', endpoints: ['http://h'], username: 'me', password: '***' },
    ],
    [
      { kind: 's3', bucket: 'b', accessKeyId: 'id', secretAccessKey: 'secret', sessionToken: 'secret' },
      { kind: 's3', bucket: 'b', accessKeyId: 'id', secretAccessKey: '***', sessionToken: '***' },
    ],
    [
      { kind: 'file', path: '/s' },
      { kind: 'file', path: '/s' },
    ],
  ])('of the store %j are hidden', (store, expected) => {
    expect(shown({ group: 'g', store })).toEqual({ group: 'g', store: expected })
  })

  it('of fencing devices are hidden: all options and headers, regardless of their names', () => {
    const fencing = [
      { kind: 'command', command: ['fence_virsh'], options: { login: 'me', passwd: 'secret' }, timeoutMs: 1 },
      { kind: 'http', url: 'https://h/fence', headers: { authorization: 'secret' }, timeoutMs: 2 },
    ]
    expect(shown({ fencing })).toEqual({
      fencing: [
        { kind: 'command', command: ['fence_virsh'], options: { login: '***', passwd: '***' }, timeoutMs: 1 },
        { kind: 'http', url: 'https://h/fence', headers: { authorization: '***' }, timeoutMs: 2 },
      ],
    })
  })

  it('never include the admin token', () => {
    const whole = config(group({ group: 'g' }))
    expect(JSON.stringify(effectiveJson(whole))).not.toContain('the secret token')
    expect(effectiveText(whole)).not.toContain('the secret token')
  })
})

it('has origins and warnings as JSON', () => {
  const one = group({ group: 'g' }, { group: '--group' })
  expect(effectiveJson(config(one))).toEqual({
    http: '127.0.0.1:7480',
    httpNames: [],
    logLevel: 'info',
    logFormat: 'json',
    traceSteps: 0,
    groups: [{ group: 'g' }],
    from: { http: '--http', ...DEFAULTED, traceSteps: 'c.yaml:2:1', groups: [{ group: '--group' }] },
    warnings: [{ field: 'data', message: 'is missing' }],
  })
})
