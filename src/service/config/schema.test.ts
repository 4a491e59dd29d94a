import { describe, expect, it } from 'vitest'
import type { z } from 'zod'
import { explain } from '../../core/index.ts'
import { fieldProblems } from './problems.ts'
import {
  DEFAULTS,
  fileSchema,
  KNOWN_FIELDS,
  NODE_FIELDS,
  nodeSchema,
  othersIn,
  PROCESS_FIELDS,
  peerParts,
  processSchema,
  publishedSchema,
  storeNodeSchema,
} from './schema.ts'

function problems(schema: z.ZodType, given: unknown): readonly string[] {
  const { error } = schema.safeParse(given, { error: explain })
  if (error === undefined) return []
  return fieldProblems(error, KNOWN_FIELDS).map(({ field, message }) => `${field}: ${message}`)
}

const bounds = (least: number, most: number, name: string): readonly [object, readonly string[]][] => [
  [{ [name]: least }, []],
  [{ [name]: most }, []],
  [{ [name]: least - 1 }, [`${name}: ${least - 1} is out of bounds: it must be at least ${least}`]],
  [{ [name]: most + 1 }, [`${name}: ${most + 1} is out of bounds: it must be at most ${most}`]],
  [{ [name]: least + 0.5 }, [`${name}: ${least + 0.5} is not an integer`]],
  [{ [name]: '1' }, [`${name}: "1" is not a finite number`]],
]

describe('a field of a file', () => {
  it.each<[object, readonly string[]]>([
    [{}, []],
    [{ $schema: 'https://example.com/conclave.schema.json' }, []],
    ...bounds(0, 1_000_000, 'traceSteps'),
    ...bounds(-1_000_000, 1_000_000, 'priority'),
    [{ group: 'x'.repeat(200) }, []],
    [{ group: 'x'.repeat(201) }, ['group: is longer than 200 characters']],
    [{ group: '' }, ['group: must be a non-empty string']],
    [{ group: 'with space = ok' }, []],
    [{ id: 'x'.repeat(200) }, []],
    [{ id: 'x'.repeat(201) }, ['id: is longer than 200 characters']],
    [{ keyFile: '/k' }, []],
    [{ keyFile: ['/k', '/l'] }, []],
    [{ keyFile: [] }, ['keyFile: has 0 entries: it needs at least 1']],
    [{ keyFile: '' }, ['keyFile: must be a non-empty string']],
    [{ keyFile: ['/k', ''] }, ['keyFile[1]: must be a non-empty string']],
    [{ keyFile: 7 }, ['keyFile: 7 is not a string or a list']],
    [{ mode: 'global' }, ['mode: "global" is not one of "local", "majority"']],
    [{ profile: 'LAN' }, ['profile: "LAN" is not one of "fast", "lan", "region", "wan"']],
    [{ sticky: 1 }, ['sticky: 1 is not true or false']],
    [{ options: { a: { b: [1, null, 'x'] } } }, []],
    [{ options: 'a=1' }, ['options: "a=1" is not an object']],
    [{ peers: 'b=h:1' }, ['peers: "b=h:1" is not a list']],
    [{ peers: [{ id: 'b' }] }, ['peers[0].address: is missing: write a string']],
    [
      { peers: [{ id: 'b', address: 'h:1', leader: true }] },
      ['peers[0].leader: unknown field; remove it, or see the configuration reference for all fields'],
    ],
    [
      { peers: [{ id: 'b', adress: 'h:1' }] },
      [
        'peers[0].address: is missing: write a string',
        'peers[0].adress: unknown field; did you mean address?',
      ],
    ],
    [
      { peers: [{ id: 'b', address: 'h:0' }] },
      ['peers[0].address: "h:0" has port 0, which no node can reach; use the port on which the peer listens'],
    ],
    [{ http: 'h' }, ['http: "h" has no port; use HOST:PORT, for example 10.0.0.1:7400 or [::1]:7400']],
    [{ adminTokenFile: '' }, ['adminTokenFile: must be a non-empty string']],
    [{ groups: [] }, ['groups: has 0 entries: it needs at least 1']],
    [{ groups: [{ id: 'a' }] }, ['groups[0].group: is missing: write a string']],
    [
      { groups: [{ group: 'x', http: 'h:1' }] },
      ['groups[0].http: does not belong here; move it, or see the configuration reference for all fields'],
    ],
    [{ fencing: [{ kind: 'horn' }] }, [expect.stringContaining('fencing[0].kind: "horn" is not one of')]],
  ])('%j', (given, expected) => {
    expect(problems(fileSchema, given)).toEqual(expected)
  })

  it.each([
    ['agents.example.com', true],
    ['a', true],
    ['my_host-1', true],
    [`${'a'.repeat(253)}b`, true],
    ['', false],
    ['https://a', false],
    ['a:80', false],
    ['*.example.com', false],
    ['-a', false],
    ['a-', false],
    ['a b', false],
    ['a'.repeat(255), false],
  ])('the host name %j is accepted: %s', (name, isAccepted) => {
    expect(problems(fileSchema, { httpNames: [name] })).toEqual(
      isAccepted
        ? []
        : [
            `httpNames[0]: ${JSON.stringify(name)} is not a host name, for example agents.example.com; use no scheme and no port`,
          ],
    )
  })
})

describe('a node in a store', () => {
  const NODE = { group: 'g', id: 'a', protocol: 'epochs', store: 'file:/s', profile: 'lan', options: {} }

  it.each([
    ['x'.repeat(64), true],
    ['x'.repeat(65), false],
    ['ü'.repeat(32), true],
    ['ü'.repeat(33), false],
  ])('has an id of at most 64 bytes: %s, %s', (id, isAccepted) => {
    expect(problems(storeNodeSchema, { ...NODE, id })).toEqual(
      isAccepted ? [] : ['id: must be at most 64 bytes long, because a register has room for no more'],
    )
  })

  it('has no protocol that needs peers, and a node among peers has none that needs a store', () => {
    expect(problems(storeNodeSchema, { ...NODE, protocol: 'local-leader' })[0]).toMatch(
      /^protocol: "local-leader" runs in the workbench only; use one of .*, or epochs with a store$/,
    )
    const { profile, options, group, id } = NODE
    const peers = { ...DEFAULTS, group, id, profile, options, listen: 'h:1', keyFile: '/k' }
    const { http, httpNames, logLevel, logFormat, traceSteps, ...node } = peers
    expect([http, httpNames, logLevel, logFormat, traceSteps]).toEqual([
      '127.0.0.1:7480',
      [],
      'info',
      'json',
      4096,
    ])
    expect(problems(nodeSchema, node)).toEqual([])
    expect(problems(nodeSchema, { ...node, protocol: 'epochs' })[0]).toContain('protocol: "epochs"')
  })
})

it('requires every field of a process but files and URLs', () => {
  expect(problems(processSchema, {}).map((line) => line.slice(0, line.indexOf(':')))).toEqual([
    'http',
    'httpNames',
    'logLevel',
    'logFormat',
    'traceSteps',
  ])
})

it('takes a peer apart, in either form', () => {
  expect(peerParts('b=[::1]:7')).toEqual({ id: 'b', address: '[::1]:7', observer: false, witness: false })
  const object = { id: 'c', address: 'h:1', observer: true, witness: false }
  expect(peerParts(object)).toEqual(object)
})

it('leaves the node itself out of its peers', () => {
  const node = {
    id: 'a',
    peers: ['a=h:1', 'b=h:2', { id: 'a', address: 'h:1', observer: false, witness: false }],
  }
  expect(othersIn(node as unknown as Parameters<typeof othersIn>[0]).map(({ id }) => id)).toEqual(['b'])
})

it('knows the fields of nodes and processes, and their defaults, in the published schema', () => {
  expect(PROCESS_FIELDS).toEqual([
    'http',
    'httpNames',
    'adminTokenFile',
    'readTokenFile',
    'httpCert',
    'httpKey',
    'httpClientCa',
    'logLevel',
    'logFormat',
    'otlp',
    'traceSteps',
  ])
  const published = publishedSchema() as {
    title: string
    required?: unknown
    additionalProperties: boolean
    properties: { [field: string]: { default?: unknown; description?: string } }
  }
  expect([published.title, published.additionalProperties]).toEqual(['A Conclave configuration file', false])
  // Flags and the environment may give any field.
  expect(published.required).toBeUndefined()
  const fields = [...NODE_FIELDS, ...PROCESS_FIELDS]
  expect(Object.keys(published.properties).toSorted()).toEqual(['$schema', 'groups', ...fields].toSorted())
  const { properties } = published
  expect(fields.filter((field) => !/^\w/.test(properties[field]?.description ?? ''))).toEqual([])
  const defaults = fields.flatMap((field) =>
    properties[field]?.default === undefined ? [] : [[field, properties[field].default]],
  )
  expect(Object.fromEntries(defaults)).toEqual(DEFAULTS)
})
