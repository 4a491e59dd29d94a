/**
 * Checks docs/reference/wire.md: an encoder that uses only its tables must produce the same bytes as the codec. Its
 * example is encoded and sealed, and its statements about replayed datagrams are tested.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { EVENTS, sent } from '../../../test/support/messages.ts'
import {
  canonical,
  type Input,
  type Layer,
  type LayerStep,
  type Message,
  type NodeId,
} from '../../core/index.ts'
import {
  type Datagram,
  type FailAwareState,
  failAware,
  type Part,
  type Passage,
  type Receipt,
  receiptOf,
} from '../../links/index.ts'
import { peerHosting } from '../../protocols/index.ts'
import type {
  Beacon,
  Election,
  LocalLeaderMessage,
  Release,
  Reply,
} from '../../protocols/local-leader/messages.ts'
import type { Configuration } from '../../protocols/local-leader/voters.ts'
import { Codec, type Envelope, groupDigest } from './codec.ts'
import { sealer } from './seal.ts'

const PAGE = readFileSync(join(import.meta.dirname, '../../../docs/reference/wire.md'), 'utf8')

// ---- The page as tables ----

type Row = readonly string[]

/** The rows of the first table below a heading that has all these columns. */
function tableUnder(heading: string, columns: Row): readonly Row[] {
  const lines = PAGE.split('\n')
  const title = `| ${columns.join(' | ')} |`
  const from = lines.indexOf(heading)
  const at = lines.findIndex(
    (line, index) => index > from && line.replaceAll(/ +/g, ' ').startsWith(title.slice(0, -1)),
  )
  if (from < 0 || at < 0) throw new Error(`docs/reference/wire.md has no table ${title} under ${heading}`)
  const end = lines.findIndex((line, index) => index > at && !line.startsWith('|'))
  return lines.slice(at + 2, end).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll('`', '')),
  )
}

type Field = { readonly name: string; readonly form: string; readonly bytes: string }

const RECORDS = [
  'Envelope',
  'Session',
  'Stamps',
  'Part',
  'Beacon',
  'Election',
  'Reply',
  'Release',
  'Evidence',
  'Bounds',
  'Request',
  'Epoch',
  'Configuration',
  'Certificate',
  'View',
  'Ballot',
] as const

const LAYOUT = new Map<string, readonly Field[]>(
  RECORDS.map((record) => [
    record,
    tableUnder(`### ${record}`, ['field', 'form', 'bytes']).map(([name = '', form = '', bytes = '']) => ({
      name,
      form,
      bytes,
    })),
  ]),
)

type Kind = { readonly byte: number; readonly parts: readonly string[] }

function kindsUnder(heading: string, column: string): ReadonlyMap<string, Kind> {
  return new Map(
    tableUnder(heading, [column, 'byte', 'what follows']).map(([kind = '', byte, parts = '']) => [
      kind,
      { byte: Number(byte), parts: parts.split(', ') },
    ]),
  )
}

const KINDS = kindsUnder('### Envelope', 'kind')
const MESSAGES = kindsUnder('### Part', 'message')

function kindNamed(kinds: ReadonlyMap<string, Kind>, name: string): Kind {
  const kind = kinds.get(name)
  if (kind === undefined) throw new Error(`docs/reference/wire.md does not list ${name}`)
  return kind
}

// ---- An encoder that uses only the page ----

const big = (size: number, write: (view: DataView) => void): number[] => {
  const bytes = new Uint8Array(size)
  write(new DataView(bytes.buffer))
  return [...bytes]
}

const BASIC: { readonly [form: string]: (value: never) => number[] } = {
  u8: (value: number) => [value],
  u16: (value: number) => big(2, (view) => view.setUint16(0, value)),
  u32: (value: number) => big(4, (view) => view.setUint32(0, value)),
  i32: (value: number) => big(4, (view) => view.setInt32(0, value)),
  u53: (value: number) => big(8, (view) => view.setBigUint64(0, BigInt(value))),
  f64: (value: number) => big(8, (view) => view.setFloat64(0, value)),
  flag: (value: boolean) => [value ? 1 : 0],
  text: (value: string) => {
    const bytes = [...new TextEncoder().encode(value)]
    return [...written('u32', bytes.length), ...bytes]
  },
  name: (value: NodeId) =>
    typeof value === 'number' ? [0, ...written('f64', value)] : [1, ...written('text', value)],
}

function written(form: string, value: unknown, flags = 0): number[] {
  const [word = '', ...rest] = form.split(' ')
  const inner = rest.join(' ')
  if (word === 'optional') return value === null ? [0] : [1, ...written(inner, value)]
  if (word === 'list') {
    const items = value as readonly unknown[]
    return [...written('u32', items.length), ...items.flatMap((item) => written(inner.slice(3), item))]
  }
  if (rest[0] === 'if') return (flags & Number(rest[1])) === 0 ? [] : written(word, value)
  const basic = BASIC[word]
  if (basic !== undefined) return basic(value as never)
  const record = value as { readonly [field: string]: unknown }
  return fieldsOf(word).flatMap((field) =>
    written(field.form, record[field.name], Number(record['flags'] ?? 0)),
  )
}

function fieldsOf(record: string): readonly Field[] {
  const fields = LAYOUT.get(record)
  if (fields === undefined) throw new Error(`docs/reference/wire.md does not define ${record}`)
  return fields
}

/** The least number of bytes that a form takes, and whether that is exact. */
function sizeOf(form: string): { readonly least: number; readonly isFixed: boolean } {
  const [word = '', ...rest] = form.split(' ')
  if (rest[0] === 'if') return { least: 0, isFixed: false }
  if (word === 'optional') return { least: 1, isFixed: false }
  if (word === 'list') return { least: 4, isFixed: false }
  if (word === 'text') return { least: 4, isFixed: false }
  if (word === 'name') return { least: 5, isFixed: false }
  if (BASIC[word] !== undefined) return { least: written(word, 0).length, isFixed: true }
  const sizes = fieldsOf(word).map((field) => sizeOf(field.form))
  return {
    least: sizes.reduce((sum, { least }) => sum + least, 0),
    isFixed: sizes.every(({ isFixed }) => isFixed),
  }
}

/** Messages in the terms of the page: the bits of a beacon, the two numbers of a configuration. */
function beaconRecord({ candidate, incumbent, heard, lease, ...beacon }: Beacon): object {
  const bits = [candidate, incumbent, heard, lease !== null, lease !== null && lease.token !== null]
  const flags = bits.reduce((sum, isSet, bit) => sum + (isSet ? 2 ** bit : 0), 0)
  return { ...beacon, flags, ...lease }
}

function sessionRecord({ echo, awake, ...session }: Datagram): object {
  return { ...session, echo, awake, flags: (echo === null ? 0 : 1) + (awake === null ? 0 : 2) }
}

/** The bits of an Election, and those of the votes of a Reply. */
function electionRecord({ renew, lock, config, ...election }: Election): object {
  const flags = (renew ? 1 : 0) + (lock === undefined ? 0 : 2)
  return { ...election, flags, lock, config: configRecord(config) }
}

function replyRecord({ votes, config, ...reply }: Reply): object {
  const ballots = votes.map(({ node, support, evidence, bounds }) => {
    const flags = (support ? 1 : 0) + (evidence === undefined ? 0 : 2) + (bounds === undefined ? 0 : 4)
    return { node, flags, evidence, bounds }
  })
  return { ...reply, votes: ballots, config: configRecord(config) }
}

/** The bits of a Release. */
function releaseRecord({ request, yields, to }: Release): object {
  return { request, flags: (yields ? 1 : 0) + (to === undefined ? 0 : 2), to }
}

const configRecord = ({ id: [epoch, counter], sets }: Configuration): object => ({ epoch, counter, sets })

function partByThePage({ group, config, body }: Part): number[] {
  const message = body as unknown as LocalLeaderMessage
  const { byte, parts } = kindNamed(MESSAGES, MESSAGES.has(body.kind) ? body.kind : 'plain')
  const follows = parts.flatMap((part) => {
    if (part === 'text') return written(part, canonical(body))
    if (part === 'Beacon') return written(part, beaconRecord(message.beacon))
    if (message.kind === 'Release') return written(part, releaseRecord(message))
    if (message.kind === 'Election') return written(part, electionRecord(message))
    return written(part, message.kind === 'Reply' ? replyRecord(message) : message)
  })
  const head = { group: groupDigest(group), config, kind: byte, length: follows.length }
  return [...written('Part', head), ...follows]
}

function bytesByThePage({ from, to, body }: Omit<Envelope, 'foreign'>): number[] {
  const datagram = body as unknown as Datagram
  const name = body.kind !== 'datagram' ? 'plain' : datagram.body === null ? 'Echo' : 'Bundle'
  const { byte, parts } = kindNamed(KINDS, name)
  const follows = parts.flatMap((part) => {
    if (part === 'text') return written(part, canonical(body))
    if (part === 'Session') return written(part, sessionRecord(datagram))
    const all = datagram.body?.['parts'] as unknown as readonly Part[]
    return [...written('u32', all.length), ...all.flatMap(partByThePage)]
  })
  return [...written('Envelope', { version: 2, kind: byte, from, to }), ...follows]
}

// ---- The example ----

const KEY = Uint8Array.from({ length: 32 }, (_, index) => index)

const codec = new Codec()
for (const group of ['orders', 'bills']) codec.learn(group, peerHosting('local-leader').wire)

const EXAMPLE: Envelope = {
  from: 'a',
  to: 'b',
  foreign: 0,
  body: {
    kind: 'datagram',
    config: 0,
    by: 1,
    for: 1,
    number: 321,
    sent: 2_970_784,
    awake: null,
    echo: { sent: 2_855_431, received: 2_855_650 },
    body: {
      kind: 'bundle',
      parts: [
        {
          group: 'orders',
          config: 1_151_099_209,
          body: {
            kind: 'Heartbeat',
            beacon: {
              candidate: true,
              low: 0,
              priority: 0,
              incumbent: true,
              heard: true,
              seen: { number: 1, owner: 'a' },
              lease: { left: 64_515, token: 1 },
            },
          },
        },
        {
          group: 'bills',
          config: 1_151_099_209,
          body: {
            kind: 'Heartbeat',
            beacon: {
              candidate: false,
              low: 0,
              priority: 0,
              incumbent: false,
              heard: true,
              seen: { number: 3, owner: 'b' },
              lease: null,
            },
          },
        },
      ],
    },
  },
}

function hexBlock(name: string): Buffer {
  const block = new RegExp(`^\`\`\`hex ${name}\\n([^\`]+)`, 'm').exec(PAGE)
  if (block === null) throw new Error(`docs/reference/wire.md has no block "hex ${name}"`)
  return Buffer.from((block[1] ?? '').replaceAll(/\s/g, ''), 'hex')
}

describe('the tables of docs/reference/wire.md', () => {
  const bodies = [
    { options: { mode: 'majority' }, events: EVENTS },
    { options: { mode: 'local' }, events: EVENTS.slice(0, 3) },
    { options: { mode: 'majority', treeFrom: 3 }, events: EVENTS },
    { options: { timing: 'adaptive' }, events: EVENTS },
    { options: { timing: 'adaptive' }, nodeOptions: { b: { leaseMaxMs: 100 } } },
  ].flatMap((more) => sent('local-leader', more))

  it('describe every message of runs with many events, to the byte', () => {
    const inners = bodies.map((body) => (body as unknown as Datagram).body as LocalLeaderMessage | null)
    for (const kind of ['Heartbeat', 'Election', 'Reply', 'Release']) {
      expect(inners.some((inner) => inner?.kind === kind)).toBe(true)
    }
    expect(inners).toContain(null)
    expect(bodies.some((body) => (body as unknown as Datagram).awake !== null)).toBe(true)
    for (const field of ['certificate', 'view', 'wanted', 'tree'] as const) {
      expect(inners.some((inner) => inner?.kind === 'Election' && inner[field] !== null)).toBe(true)
    }
    const votes = inners.flatMap((inner) => (inner?.kind === 'Reply' ? inner.votes : []))
    expect(votes.some(({ bounds }) => bounds !== undefined)).toBe(true)
    expect(inners.some((inner) => inner?.kind === 'Election' && inner.lock !== undefined)).toBe(true)
    for (const [index, body] of bodies.entries()) {
      const inner = inners[index] as unknown as Message | null
      const parts =
        inner === null ? null : ['orders', 'bills'].map((group) => ({ group, config: 9, body: inner }))
      const whole = { ...body, body: parts === null ? null : { kind: 'bundle', parts } }
      const envelope = { from: 'a', to: 'b', body: whole }
      expect(bytesByThePage(envelope)).toEqual([...codec.encode(envelope)])
    }
  })

  it('describe every other message as canonical JSON', () => {
    const settings: Message = { kind: 'Settings', agreed: { sigma: 1, mode: 'local' } }
    const text = '{"agreed":{"mode":"local","sigma":1},"kind":"Settings"}'
    const part: Part = { group: 'orders', config: 0, body: settings }
    expect(partByThePage(part).slice(-text.length)).toEqual([...new TextEncoder().encode(text)])
    const session = { config: 0, by: 1, for: 2, number: 3, sent: 4, awake: null, echo: null }
    const body: Message = { kind: 'datagram', ...session, body: { kind: 'bundle', parts: [part] } }
    for (const each of [body, { kind: 'WhoAreYou', number: 77 }]) {
      const envelope = { from: 3, to: '', body: each }
      expect(bytesByThePage(envelope)).toEqual([...codec.encode(envelope)])
    }
  })

  it.each(RECORDS)('give the number of bytes of each field of %s', (record) => {
    for (const { name, form, bytes } of fieldsOf(record)) {
      const { least, isFixed } = sizeOf(form)
      expect(`${name} ${bytes}`).toBe(`${name} ${least}${isFixed ? '' : '+'}`)
    }
  })

  it.each([
    ['Authenticated', false],
    ['Secret', true],
  ])('give the number of bytes that sealing adds: %s', (heading, secrecy) => {
    const sizes = tableUnder(`### ${heading}`, ['field', 'bytes']).map(([, bytes = '']) => bytes)
    expect(sizes.filter((bytes) => bytes === 'n')).toHaveLength(1)
    const added = sizes.filter((bytes) => bytes !== 'n').reduce((sum, bytes) => sum + Number(bytes), 0)
    const { seal, open } = sealer([KEY], secrecy)
    expect(seal(new Uint8Array(100)).length).toBe(100 + added)
    expect(open(Buffer.alloc(20, secrecy ? 2 : 1))).toBe('too short')
    expect(PAGE).toContain('fewer than 21 bytes, or 33 if secret')
    expect([21, 33]).toContain(added)
  })
})

describe('the example of docs/reference/wire.md', () => {
  const envelope = Buffer.from(codec.encode(EXAMPLE))

  it('is what the codec writes, field by field', () => {
    const hex = tableUnder('## An example', ['hex', 'field', 'value']).map(([bytes = '']) => bytes)
    expect(hex.join(' ')).toBe(envelope.toString('hex').replaceAll(/(..)(?!$)/g, '$1 '))
    expect(codec.decode(envelope)).toEqual(EXAMPLE)
  })

  it('is sealed as shown, with the stated number of bytes', () => {
    expect(hexBlock('authenticated')).toEqual(sealer([KEY], false).seal(envelope))
    expect(sealer([KEY], true).open(hexBlock('secret'))).toEqual(envelope)
    expect(PAGE).toContain(`These are ${envelope.length} bytes.`)
    expect(PAGE).toContain(`they become ${hexBlock('authenticated').length}:`)
    expect(PAGE).toContain(`Encrypted they become ${hexBlock('secret').length};`)
  })
})

describe('a replayed datagram', () => {
  const SETTINGS = { leastDelay: 20, fast: 10_000, rho: 0.0001, stampAge: 95_000, agreed: null, echo: true }
  const layers = new Map<NodeId, Layer<FailAwareState>>(
    ['a', 'b'].map((self) => [self, failAware({ self, nodes: [] }, SETTINGS)]),
  )
  const layer = (id: NodeId): Layer<FailAwareState> => layers.get(id) as Layer<FailAwareState>

  type Process = { readonly id: NodeId; state: FailAwareState }

  const started = (id: NodeId, now: number, former = 0): Process => ({
    id,
    state: layer(id).start(former === 0 ? null : former, now).state,
  })

  function only(step: LayerStep<FailAwareState>): Message {
    const [effect] = step.effects
    if (effect?.type !== 'send') throw new Error('nothing was sent')
    return effect.body
  }

  function says(process: Process, to: NodeId, now: number): Message {
    const body = { kind: 'bundle', parts: [] }
    const step = layer(process.id).above(process.state, { type: 'send', to, body }, now)
    process.state = step.state
    return only(step)
  }

  /** The outcome: what is delivered, `Echo` when that is the answer, or null when the datagram is dropped. */
  function hears(process: Process, from: NodeId, body: Message, now: number): Receipt | 'Echo' | null {
    const input: Input = { type: 'message', from, body, receipt: null }
    const step: LayerStep<FailAwareState> = layer(process.id).below(process.state, input, now)
    process.state = step.state
    const [up] = step.inputs
    if (up?.type === 'message') return receiptOf(up.receipt as Passage, false, SETTINGS)
    return step.effects.length > 0 ? 'Echo' : null
  }

  /** a and b after a round trip, with a datagram from a to b in transit. */
  function acquainted(): { readonly a: Process; readonly b: Process; readonly body: Message } {
    const [a, b] = [started('a', 0), started('b', 0)]
    const echo = layer('b').below(
      b.state,
      { type: 'message', from: 'a', body: says(a, 'b', 900), receipt: null },
      1000,
    )
    b.state = echo.state
    hears(a, 'b', only(echo), 1100)
    return { a, b, body: says(a, 'b', 2000) }
  }

  it('is dropped by a process that has received it before', () => {
    const { b, body } = acquainted()
    expect(hears(b, 'a', body, 2100)).toMatchObject({ fast: true })
    expect(hears(b, 'a', body, 2200)).toBeNull()
  })

  it('is slow when it arrives late, and dropped after 32 later ones', () => {
    const { a, b, body } = acquainted()
    const next = says(a, 'b', 2001)
    expect(hears(b, 'a', next, 50_000)).toMatchObject({ fast: false })
    for (let each = 0; each < 32; each++) hears(b, 'a', says(a, 'b', 50_000), 50_100)
    expect(hears(b, 'a', body, 50_200)).toBeNull()
  })

  it('is ignored by a process that has restarted, at any time', () => {
    const { body } = acquainted()
    const again = started('b', 1500, 1)
    expect([2100, 9000, 12_200].map((now) => hears(again, 'a', body, now))).toEqual(['Echo', null, 'Echo'])
  })

  it('is dropped when its sender has restarted and been heard since', () => {
    const { b, body } = acquainted()
    const again = started('a', 3000, 1)
    const echo = layer('b').below(
      b.state,
      { type: 'message', from: 'a', body: says(again, 'b', 30_100), receipt: null },
      30_200,
    )
    hears(again, 'b', only(echo), 30_300)
    expect(hears(b, 'a', says(again, 'b', 30_400), 30_500)).toMatchObject({ fast: true })
    expect(hears(b, 'a', body, 30_600)).toBeNull()
  })
})
