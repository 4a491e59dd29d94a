import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { flagOf, variableOf } from './checked.ts'
import { type Config, configFrom } from './config.ts'
import { effectiveJson, effectiveText } from './effective.ts'
import { parseConfig } from './file.ts'
import type { JoinOptions } from './join-options.ts'
import type { GivenValue } from './layers.ts'
import { InvalidConfigError } from './problems.ts'

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'conclave-config-'))
  const secret = { mode: 0o600 }
  writeFileSync(join(folder, 'key'), 'a key of at least sixteen bytes', secret)
  writeFileSync(join(folder, 'other'), 'another key, for its rotation', secret)
  writeFileSync(join(folder, 'short'), 'short', secret)
  writeFileSync(join(folder, 'binary'), Buffer.alloc(32, 0xfe), secret)
  writeFileSync(join(folder, 'open'), 'a key that everyone may read')
  chmodSync(join(folder, 'open'), 0o644)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

type Given = { readonly [field: string]: unknown }

const givenValues = (given: Given, by: (field: string) => string): { [field: string]: GivenValue } =>
  Object.fromEntries(Object.entries(given).map(([field, value]) => [field, { value, by: by(field) }]))

/** The configuration from the text of a file, with %KEY for a good key. */
function read(text: string, flags: Given = {}, environment: Given = {}): Config {
  const file = join(folder, 'conclave.yaml')
  writeFileSync(file, text.replaceAll('%', `${folder}/`))
  return configFrom({
    file,
    flags: givenValues(flags, flagOf),
    environment: givenValues(environment, variableOf),
  })
}

function problems(text: string, flags: Given = {}): readonly string[] {
  try {
    read(text, flags)
  } catch (error) {
    if (error instanceof InvalidConfigError) return error.message.replaceAll(`${folder}/`, '').split('\n')
    throw error
  }
  return []
}

const GOOD = `
group: g
id: a
listen: 127.0.0.1:7400
peers: [b=127.0.0.1:7401, { id: c, address: "127.0.0.1:7402", witness: true }]
keyFile: "%key"
data: /var/lib/conclave
`

describe('a configuration', () => {
  it('is the same as YAML and as JSON', () => {
    const yaml = parseConfig('x', GOOD)
    expect(parseConfig('x', JSON.stringify(yaml.fields)).fields).toEqual(yaml.fields)
  })

  it('takes flags over the environment over the file over the defaults, and merges single options', () => {
    const text = `${GOOD}priority: 1\nmode: local\noptions: { sigmaMs: 20, rhoPpm: 50, fastMs: 40 }\n`
    const { groups, process } = read(
      text,
      { priority: 3, options: { rhoPpm: 70 } },
      { priority: 2, profile: 'region', options: { rhoPpm: 60, sigmaMs: 30 } },
    )
    const [{ node, from, join: options } = (() => expect.fail('no group'))()] = groups
    expect(node).toMatchObject({
      priority: 3,
      profile: 'region',
      mode: 'local',
      sticky: true,
      secrecy: false,
    })
    expect(node.options).toEqual({ sigmaMs: 30, rhoPpm: 70, fastMs: 40 })
    expect([from['priority'], from['profile'], from['sticky']]).toEqual([
      '--priority',
      'CONCLAVE_PROFILE',
      'default',
    ])
    expect(from['mode']).toMatch(/conclave\.yaml:9:7$/)
    expect(options).toMatchObject({ peers: ['b=127.0.0.1:7401', 'c=127.0.0.1:7402'] })
    expect(options.options).toMatchObject({ witnesses: ['c'] })
    expect(process.http).toBe('127.0.0.1:7480')
  })

  it('has several keys, for a rotation without downtime', () => {
    const [group] = read(GOOD, { keyFile: [join(folder, 'other'), join(folder, 'key')] }).groups
    const keys = (group?.join as JoinOptions | undefined)?.key as readonly Uint8Array[]
    expect(keys.map((key) => Buffer.from(key).toString())).toEqual([
      'another key, for its rotation',
      'a key of at least sixteen bytes',
    ])
  })

  it('may have several groups; outer fields apply to each, and one group can be selected', () => {
    const text = `
id: a
keyFile: "%key"
data: /var/lib/conclave
groups:
  - { group: x, listen: "127.0.0.1:1", mode: local }
  - { group: y, listen: "127.0.0.1:2", data: /elsewhere }
`
    const nodes = read(text).groups.map(({ node }) => 'data' in node && [node.group, node.mode, node.data])
    expect(nodes).toEqual([
      ['x', 'local', '/var/lib/conclave/x'],
      ['y', 'majority', '/elsewhere'],
    ])
    expect(read(text, { group: 'y' }).groups.map(({ node }) => node.group)).toEqual(['y'])
    expect(problems(text, { group: 'z' })).toEqual(['--group: z is not in the file, which has x, y'])
    expect(problems(text.replace('group: x', 'group: ../x'))).toEqual([
      expect.stringMatching(/groups\[0\]\.group: cannot name a folder in \/var\/lib\/conclave; use a name/),
    ])
  })

  it('may have all its groups on one address', () => {
    const text =
      'id: a\nkeyFile: "%key"\nlisten: 127.0.0.1:1\npeers: [b=h:2]\ngroups: [{ group: x }, { group: y, peers: [b=h:2, c=h:3] }]'
    expect(read(text).groups.map((group) => group.join)).toMatchObject([
      { listen: '127.0.0.1:1', peers: ['b=h:2'] },
      { listen: '127.0.0.1:1', peers: ['b=h:2', 'c=h:3'] },
    ])
  })

  it('say where each peer is given: in the group, for all groups, or by a flag', () => {
    const text =
      'id: a\nkeyFile: "%key"\nlisten: 127.0.0.1:1\npeers: [b=h:2]\ngroups:\n- { group: x }\n- group: y\n  peers:\n  - b=h:2\n  - c=h:3\n'
    const places = (given: Given = {}): readonly (readonly string[])[] =>
      read(text, given).groups.map(({ peersFrom = [] }) =>
        peersFrom.map((place) => place.replace(/^.*yaml/, 'yaml')),
      )
    expect(places()).toEqual([['yaml:4:9'], ['yaml:9:5', 'yaml:10:5']])
    expect(places({ peers: ['b=h:4'] })).toEqual([['--peer'], ['--peer']])
  })

  it('may have the same list of peers on all nodes', () => {
    const [group] = read(GOOD, { peers: ['a=h1:7400', 'b=h2:7400', 'c=h3:7400'] }).groups
    expect(group?.join).toMatchObject({ peers: ['b=h2:7400', 'c=h3:7400'] })
  })

  it('shows the effective configuration as an equivalent file', () => {
    const config = read(GOOD)
    const again = parseConfig('x', effectiveText(config)).fields
    expect(again).toEqual({ ...config.groups[0]?.node, ...config.process })
  })

  it.each<[string, string, Given, readonly (string | RegExp)[]]>([
    [
      'missing fields',
      'group: g',
      {},
      [
        /^id is missing: give --id, set CONCLAVE_ID/,
        /^listen is missing/,
        /^keyFile is missing: give --key-file/,
      ],
    ],
    [
      'unknown fields, with the nearest known one',
      `${GOOD}key-file: x\nstrange: 1\n`,
      {},
      [
        'conclave.yaml:8:11: key-file: unknown field; did you mean keyFile?',
        /9:10: strange: unknown field; remove it, or see the configuration reference/,
      ],
    ],
    [
      'a collector that is not reached over HTTP',
      `${GOOD}otlp: grpc://127.0.0.1:4317\n`,
      {},
      [/^conclave.yaml:8:7: otlp: must be a URL such as http:\/\/127\.0\.0\.1:4318$/],
    ],
    [
      'wrong types, all at once',
      'group: 7\nlisten: here\npeers: [b]\npriority: high\nobserver: maybe\n',
      {},
      [
        /yaml:1:8: group: 7 is not a string/,
        /yaml:2:9: listen: "here" has no port; use HOST:PORT/,
        /yaml:3:9: peers\[0\]: "b" is not ID=HOST:PORT/,
        /yaml:4:11: priority: "high" is not/,
        /yaml:5:11: observer: "maybe" is not/,
      ],
    ],
    [
      'invalid ports',
      GOOD,
      { listen: '127.0.0.1:70000' },
      [/--listen: .*port 70000; a port is at most 65535/],
    ],
    [
      'a duplicate id',
      GOOD,
      { peers: ['b=h:1', 'b=h:2'] },
      [/--peer: peers\[1\]: b is listed twice; every node needs its own id/],
    ],
    [
      'itself elsewhere',
      GOOD,
      { peers: ['a=h:1'] },
      [/peers\[0\]: a is this node, but it listens on 127\.0\.0\.1:7400/],
    ],
    [
      'constants that break a bound',
      `${GOOD}options: { fastMs: 1 }\n`,
      {},
      [/yaml:8:10: options\.fastMs: breaks the bound .* nearest valid value is/],
    ],
    [
      'unknown options',
      `${GOOD}options: { nope: 1 }\n`,
      {},
      [/yaml:8:10: options\.nope: unknown field; remove it, or run "conclave protocols"/],
    ],
    [
      'a duplicate address',
      GOOD,
      { peers: ['b=h:1', 'c=h:1'] },
      [/--peer: peers\[1\]: c has the same address as b, h:1/],
    ],
    ['a peer with port 0', GOOD, { peers: ['b=h:0'] }, [/peers\[0\]: "b=h:0" has port 0/]],
    [
      'addresses of two families',
      GOOD,
      { peers: ['b=[::1]:7401'] },
      [/peers\[0\]: ::1 is an IPv6 address, but this node listens on the IPv4 address/],
    ],
    ['an id with a separator', GOOD, { id: 'a=b' }, [/--id: "a=b" contains a space, a comma or "="/]],
    ['an id that is too long', GOOD, { id: 'x'.repeat(201) }, [/--id: is longer than 200 characters/]],
    ['both roles', GOOD, { observer: true, witness: true }, [/--witness: a witness votes, an observer does/]],
    [
      'a protocol of the workbench',
      GOOD,
      { protocol: 'ring' },
      [/--protocol: "ring" runs in the workbench only/],
    ],
    ['a missing key file', GOOD, { keyFile: '/no/key' }, [/--key-file: there is no file \/no\/key; make/]],
    ['invalid YAML', 'group: [', {}, [/conclave.yaml:\d+:\d+: config: not valid YAML or JSON: /]],
    ['a file without fields', '- a', {}, [/config: must hold fields/]],
    ['aliases', 'id: &a x\ngroup: *a\n', {}, [/write values out instead of using aliases/]],
    [
      'a duplicate field',
      'id: a\nid: b\n',
      {},
      [/conclave.yaml:2:1: config: not valid YAML or JSON: Map keys must be unique/],
    ],
    [
      'groups with the same name',
      'id: a\nkeyFile: "%key"\nlisten: 127.0.0.1:1\ngroups: [{ group: x }, { group: x }]',
      {},
      [/groups\[1\]\.group: x is also used by groups\[0\]/],
    ],
    [
      'groups on one address that disagree on it',
      'id: a\nkeyFile: "%key"\nlisten: 127.0.0.1:1\npeers: [b=h:2]\ngroups: [{ group: x }, { group: y, id: z, secrecy: true, peers: [b=h:3] }]',
      {},
      [
        /groups\[1\]\.id: is "z" here but "a" in groups\[0\], which listens on the same address, 127.0.0.1:1/,
        /groups\[1\]\.secrecy: is true here but false in/,
        /groups\[1\]\.peers: is b=h:3 here but b=h:2 in/,
      ],
    ],
  ])('reports %s', (_what, text, flags, expected) => {
    const found = problems(text, flags)
    expect(found).toHaveLength(expected.length)
    for (const [index, each] of expected.entries()) expect(found[index]).toMatch(each)
  })

  it('refuses a key that is too short, a token that cannot be sent, and a missing file', () => {
    expect(problems(GOOD, { keyFile: join(folder, 'short') })[0]).toMatch(
      /short has 5 bytes, a key needs at least 16/,
    )
    expect(problems(GOOD, { adminTokenFile: join(folder, 'binary') })[0]).toMatch(
      /--admin-token-file: .*binary has characters that no HTTP header can carry: make one/,
    )
    const nowhere = { file: '/no/file.yaml', flags: {}, environment: {} }
    expect(() => configFrom(nowhere)).toThrow('/no/file.yaml: config: there is no such file')
  })

  it.each<[string, Given, string, RegExp]>([
    ['a key that others can read', { keyFile: 'open' }, 'keyFile', /read by everyone.*chmod 600/],
    ['HTTP beyond loopback', { http: '0.0.0.0:80' }, 'http', /not loopback/],
    ['no folder', { data: undefined }, 'data', /its tokens then depend on the wall clock/],
    [
      'an even number of voters',
      { peers: ['b=h:1'] },
      'peers',
      /2 voters, which tolerate no more failures than 1/,
    ],
    ['a single voter', { peers: [] }, 'peers', /one voter: no node takes over/],
    [
      'an observer that its peers must list',
      { observer: true },
      'observer',
      /every other node of g must list it/,
    ],
  ])('warns of %s', (_what, given, field, message) => {
    const keyFile = join(folder, (given['keyFile'] as string | undefined) ?? 'key')
    const { data, ...flags } = { data: '/d', ...given, keyFile } as Given
    const text = GOOD.replace(/^data.*$/m, data === undefined ? '' : 'data: /d')
    const found = read(text, flags).warnings.find((warning) => warning.field === field)
    expect(found?.message).toMatch(message)
    expect(read(GOOD).warnings).toEqual([])
  })
})

describe('a group in a store', () => {
  const STORE = 'group: g\nid: a\nprotocol: epochs\n'

  it('needs a store and nothing else; a URL is parsed', () => {
    const [group] = read(`${STORE}store: "redis://h:6379/0?acceptWeak=true"\n`).groups
    expect(group?.join).toMatchObject({
      protocol: 'epochs',
      store: { kind: 'redis', prefix: 'conclave', acceptWeak: true },
    })
  })

  it('may be listed beside a group without a store; outer fields do not conflict with it', () => {
    const { groups } = read(`
id: a
keyFile: "%key"
groups:
  - { group: x, listen: "127.0.0.1:1" }
  - { group: y, protocol: epochs, store: { kind: file, path: /shared } }
`)
    expect(groups.map(({ node }) => [node.group, node.protocol])).toEqual([
      ['x', 'local-leader'],
      ['y', 'epochs'],
    ])
  })

  it.each<[string, string]>([
    [STORE, 'store is missing: give --store'],
    [`${STORE}store: /s\nlisten: "h:1"\n`, 'listen: does not apply to the protocol epochs'],
    [`${STORE}store: /s\npeers: ["b=h:1"]\n`, 'peers: does not apply to the protocol epochs'],
    [`${STORE}store: "ftp://h"\n`, 'store: ftp: is not a kind of store'],
    [`${STORE}store: { kind: postgres, url: "http://h" }\n`, 'store.url: must be a URL such as postgres://'],
    [`${STORE}store: /s\noptions: { periodMs: 10 }\n`, 'options.periodMs: is below'],
    [
      'group: g\nid: a\nlisten: "h:1"\nkeyFile: "%key"\nstore: /s\n',
      'store: applies only to the protocol epochs',
    ],
  ])('%j is refused', (text, message) => {
    expect(problems(text).join('\n')).toContain(message)
  })

  it('does not show the password of its store', () => {
    const config = read(`${STORE}store: "postgres://me:secret@h/db"\n`)
    expect(effectiveText(config)).toContain('postgres://me:***@h/db')
    expect(JSON.stringify(effectiveJson(config))).not.toContain('secret')
  })
})
