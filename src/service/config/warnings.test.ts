import { describe, expect, it } from 'vitest'
import type { NodeConfig, ProcessConfig } from './schema.ts'
import { DEFAULTS } from './schema.ts'
import { warningsAbout } from './warnings.ts'

const NODE: NodeConfig = {
  group: 'g',
  id: 'a',
  listen: '10.0.0.1:7400',
  peers: ['b=10.0.0.2:7400', 'c=10.0.0.3:7400'],
  keyFile: '/key',
  data: '/data',
  secrecy: DEFAULTS.secrecy,
  protocol: DEFAULTS.protocol,
  mode: DEFAULTS.mode,
  profile: DEFAULTS.profile,
  priority: DEFAULTS.priority,
  sticky: DEFAULTS.sticky,
  observer: DEFAULTS.observer,
  witness: DEFAULTS.witness,
  options: {},
}
const PROCESS: ProcessConfig = {
  http: '127.0.0.1:7480',
  httpNames: [],
  traceSteps: 4096,
  logLevel: 'info',
  logFormat: 'json',
}

const about = (
  node: Partial<NodeConfig>,
  process: Partial<ProcessConfig> = {},
): readonly (readonly [field: string, message: string])[] =>
  warningsAbout([{ ...NODE, ...node }], { ...PROCESS, ...process }, []).map(({ field, message }) => [
    field,
    message,
  ])

it('is silent about a node that survives a crash in a group of three voters', () => {
  expect(about({})).toEqual([])
})

describe('the HTTP address', () => {
  it.each(['127.0.0.1:80', '127.9.8.7:80', 'localhost:80', '[::1]:80'])('%s is loopback', (http) => {
    expect(about({}, { http })).toEqual([])
  })

  it.each(['0.0.0.0:80', '[::]:80', '10.0.0.1:80', '127.0.0.1.example.com:80', 'localhost.example.com:80'])(
    '%s is not loopback',
    (http) => {
      expect(about({}, { http })).toEqual([
        [
          'http',
          `${http} is not loopback; anyone who can reach it can send requests, and there is no TLS (admin tokens are sent in clear)`,
        ],
      ])
    },
  )
})

describe('the voters', () => {
  const even = (voters: number): string =>
    `g has ${voters} voters, which tolerate no more failures than ${voters - 1}: add a voter or a witness`
  const alone = 'g has one voter: no node takes over when it fails'
  const observer = (id: string) => ({ id, address: 'h:1', observer: true, witness: false })
  const witness = (id: string) => ({ id, address: 'h:1', observer: false, witness: true })

  it.each<[string, Partial<NodeConfig>, string | null]>([
    ['one alone', { peers: [] }, alone],
    ['one alone that lists itself', { peers: ['a=h:1'] }, alone],
    ['two', { peers: ['b=h:1'] }, even(2)],
    ['three', { peers: ['b=h:1', 'c=h:2'] }, null],
    ['three that list themselves', { peers: ['a=h:0', 'b=h:1', 'c=h:2'] }, null],
    ['four', { peers: ['b=h:1', 'c=h:2', 'd=h:3'] }, even(4)],
    ['two and a witness', { peers: ['b=h:1', witness('c')] }, null],
    ['two and an observer', { peers: ['b=h:1', observer('c')] }, even(2)],
    ['two and an observer of the options', { options: { observers: ['c'] } }, even(2)],
    ['one and two observers', { peers: [observer('b'), observer('c')] }, alone],
    ['two in local mode, which needs no majority', { peers: ['b=h:1'], mode: 'local' }, null],
    ['one in local mode', { peers: [], mode: 'local' }, null],
  ])('%s', (_what, node, message) => {
    expect(about(node)).toEqual(message === null ? [] : [['peers', message]])
  })
})

it('says what a node without a data directory costs, unless it is an observer', () => {
  const { data, ...rest } = NODE
  expect(data).toBe('/data')
  const found = (observer: boolean): readonly string[] =>
    warningsAbout([{ ...rest, observer, peers: [...NODE.peers, 'd=h:9'] }], PROCESS, []).map(
      ({ field }) => field,
    )
  expect(found(false)).toEqual(['data', 'peers'])
  expect(found(true)).toEqual(['observer'])
})

it('says that data cannot be added to one node of a running group', () => {
  const { data: _, ...rest } = NODE
  const [warning] = warningsAbout([rest], PROCESS, [])
  expect(warning?.message).toContain('to add data to a group that ran without it, stop all its nodes first')
})

it('reminds of an observer that each of its peers must list', () => {
  expect(about({ observer: true, peers: ['b=h:1', 'c=h:2', 'd=h:3'] })).toEqual([
    [
      'observer',
      'every other node of g must list it as a peer with "observer: true"; otherwise they count it as a voter',
    ],
  ])
})

it('warns of secrets before HTTP before nodes, and of each group by its name', () => {
  const secrets = [
    { file: '/key', problem: null, openTo: 'group' as const, key: new Uint8Array() },
    { file: '/token', problem: null, openTo: 'everyone' as const },
    { file: '/good', problem: null, openTo: 'owner' as const },
    { file: null, problem: null, openTo: 'everyone' as const },
  ]
  const nodes = [
    { ...NODE, group: 'x', peers: [] },
    { ...NODE, group: 'y', peers: [] },
  ]
  expect(warningsAbout(nodes, { ...PROCESS, http: '0.0.0.0:1' }, secrets)).toEqual([
    {
      field: 'keyFile',
      message:
        '/key can be read by its group; anyone who knows it can act as a node or administrator: chmod 600 /key',
    },
    {
      field: 'adminTokenFile',
      message:
        '/token can be read by everyone; anyone who knows it can act as a node or administrator: chmod 600 /token',
    },
    { field: 'http', message: expect.stringContaining('0.0.0.0:1 is not loopback') },
    { field: 'peers', message: 'x has one voter: no node takes over when it fails' },
    { field: 'peers', message: 'y has one voter: no node takes over when it fails' },
  ])
})
