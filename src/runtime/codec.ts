/**
 * Datagrams as bytes: docs/wire.md describes them byte by byte.
 *
 * The messages of local-leader have a layout of their own, because they are most of the traffic. Everything else, of
 * whatever protocol, goes as canonical JSON inside the same envelope.
 */
import { canonical, type Message, type NodeId, type Plain, whyNotPlain } from '../core/index.ts'
import type { Datagram } from '../links/index.ts'
import type {
  Ballot,
  Certificate,
  Election,
  Epoch,
  Herald,
  LocalLeaderMessage,
  MembershipView,
  Release,
  Reply,
  Request,
} from '../protocols/local-leader/messages.ts'
import type { Configuration } from '../protocols/local-leader/voters.ts'
import { BadBytes, Reader, Writer } from './bytes.ts'

/** Who sends to which group: a group is named by a digest of its name. */
export type Envelope = { readonly group: number; readonly from: NodeId; readonly body: Message }

export const WIRE_VERSION = 1

const ECHO = 0
const HEARTBEAT = 1
const ELECTION = 2
const REPLY = 3
const RELEASE = 4
const PLAIN = 5
const KINDS = 6

const BODY_KIND = { Heartbeat: HEARTBEAT, Election: ELECTION, Reply: REPLY, Release: RELEASE } as const

export function encode({ group, from, body }: Envelope): Uint8Array {
  const writer = new Writer()
  writer.u8(WIRE_VERSION)
  writer.u32(group)
  writeId(writer, from)
  const datagram = asDatagram(body)
  if (datagram === null) {
    writer.u8(PLAIN)
    writer.text(canonical(body))
  } else {
    const inner = datagram.body as LocalLeaderMessage | null
    writer.u8(inner === null ? ECHO : BODY_KIND[inner.kind])
    writeSession(writer, datagram)
    if (inner !== null) writeBody(writer, inner)
  }
  return writer.end()
}

export function decode(bytes: Uint8Array): Envelope | BadBytes {
  try {
    const reader = new Reader(bytes)
    const version = reader.u8()
    if (version !== WIRE_VERSION) return new BadBytes(`version ${version}, this is ${WIRE_VERSION}`)
    const group = reader.u32()
    const from = readId(reader)
    const kind = reader.below(KINDS, 'kind')
    const body = kind === PLAIN ? readPlain(reader) : readDatagram(reader, kind)
    reader.end()
    return { group, from, body }
  } catch (error) {
    if (error instanceof BadBytes) return error
    throw error
  }
}

/** A message of local-leader over fail-aware datagrams, or null when it is something else. */
function asDatagram(body: Message): Datagram | null {
  if (body.kind !== 'datagram') return null
  const datagram = body as unknown as Datagram
  return datagram.body === null || Object.hasOwn(BODY_KIND, datagram.body.kind) ? datagram : null
}

function readPlain(reader: Reader): Message {
  const text = reader.text()
  let value: unknown
  let fault: string | null
  try {
    value = JSON.parse(text)
    fault = whyNotPlain(value)
  } catch {
    // Not JSON at all, or nested so deeply that nobody can have meant it.
    throw new BadBytes('text that is not JSON')
  }
  if (fault !== null) throw new BadBytes(fault)
  const message = value as Plain
  if (
    message === null ||
    typeof message !== 'object' ||
    !('kind' in message) ||
    typeof message.kind !== 'string'
  ) {
    throw new BadBytes('a message without a kind')
  }
  // Those have a layout of their own, and are checked by it.
  if (message.kind === 'datagram') throw new BadBytes('a datagram in a plain message')
  return message as Message
}

function writeSession(writer: Writer, { config, by, for: meant, number, sent, echo }: Datagram): void {
  writer.u32(config)
  writer.u53(by)
  writer.u53(meant)
  writer.u53(number)
  writer.u53(sent)
  writer.u8(echo === null ? 0 : 1)
  if (echo === null) return
  writer.u53(echo.sent)
  writer.u53(echo.received)
}

function readDatagram(reader: Reader, kind: number): Message {
  const config = reader.u32()
  const by = reader.u53()
  const meant = reader.u53()
  const number = reader.u53()
  const sent = reader.u53()
  const echo = readFlag(reader) ? { sent: reader.u53(), received: reader.u53() } : null
  const body = kind === ECHO ? null : readBody(reader, kind)
  const datagram: Datagram = { kind: 'datagram', config, by, for: meant, number, sent, echo, body }
  return datagram
}

function writeBody(writer: Writer, body: LocalLeaderMessage): void {
  writeHerald(writer, body.herald)
  switch (body.kind) {
    case 'Heartbeat':
      break
    case 'Election':
      writeElection(writer, body)
      break
    case 'Reply':
      writeId(writer, body.candidate)
      writeRequest(writer, body.request)
      writeList(writer, body.votes, ({ node, support }) => {
        writeId(writer, node)
        writer.u8(support ? 1 : 0)
      })
      writeEpoch(writer, body.promised)
      writeConfig(writer, body.config)
      break
    case 'Release':
      writeRequest(writer, body.request)
      writer.u8(body.yields ? 1 : 0)
      break
    default:
      body satisfies never
  }
}

function readBody(reader: Reader, kind: number): LocalLeaderMessage {
  const herald = readHerald(reader)
  switch (kind) {
    case HEARTBEAT:
      return { kind: 'Heartbeat', herald }
    case ELECTION:
      return readElection(reader, herald)
    case REPLY: {
      const candidate = readId(reader)
      const request = readRequest(reader)
      const votes = readList(reader, (): Ballot => ({ node: readId(reader), support: readFlag(reader) }))
      const reply: Reply = {
        kind: 'Reply',
        herald,
        candidate,
        request,
        votes,
        promised: readEpoch(reader),
        config: readConfig(reader),
      }
      return reply
    }
    default: {
      const release: Release = {
        kind: 'Release',
        herald,
        request: readRequest(reader),
        yields: readFlag(reader),
      }
      return release
    }
  }
}

function writeElection(writer: Writer, election: Election): void {
  const { request, epoch, renew, config, certificate, view, wanted, tree } = election
  writeRequest(writer, request)
  writer.u53(epoch)
  writer.u8(renew ? 1 : 0)
  writeConfig(writer, config)
  writeOptional(writer, certificate, (given) => {
    writeId(writer, given.owner)
    writeRequest(writer, given.request)
  })
  writeOptional(writer, view, (given) => {
    writeRequest(writer, given.round)
    writeIds(writer, given.members)
  })
  writeOptional(writer, wanted, (given) => writeIds(writer, given))
  writeOptional(writer, tree, (given) => writeIds(writer, given))
}

function readElection(reader: Reader, herald: Herald): Election {
  return {
    kind: 'Election',
    herald,
    request: readRequest(reader),
    epoch: reader.u53(),
    renew: readFlag(reader),
    config: readConfig(reader),
    certificate: readOptional(
      reader,
      (): Certificate => ({ owner: readId(reader), request: readRequest(reader) }),
    ),
    view: readOptional(
      reader,
      (): MembershipView => ({ round: readRequest(reader), members: readIds(reader) }),
    ),
    wanted: readOptional(reader, () => readIds(reader)),
    tree: readOptional(reader, () => readIds(reader)),
  }
}

const CANDIDATE = 1
const INCUMBENT = 2
const HEARD = 4
const LEADS = 8
const HAS_TOKEN = 16
const HERALD_FLAGS = 32

function writeHerald(
  writer: Writer,
  { candidate, low, priority, incumbent, heard, seen, lease }: Herald,
): void {
  writer.u8(
    (candidate ? CANDIDATE : 0) |
      (incumbent ? INCUMBENT : 0) |
      (heard ? HEARD : 0) |
      (lease === null ? 0 : LEADS | (lease.token === null ? 0 : HAS_TOKEN)),
  )
  writer.u8(low)
  writer.i32(priority)
  writeEpoch(writer, seen)
  if (lease === null) return
  writer.u53(lease.left)
  if (lease.token !== null) writer.u53(lease.token)
}

function readHerald(reader: Reader): Herald {
  const flags = reader.below(HERALD_FLAGS, 'flags')
  const has = (flag: number): boolean => (flags & flag) !== 0
  const low = reader.u8()
  const priority = reader.i32()
  const seen = readEpoch(reader)
  if (has(HAS_TOKEN) && !has(LEADS)) throw new BadBytes('a token without a lease')
  const lease = has(LEADS) ? { left: reader.u53(), token: has(HAS_TOKEN) ? reader.u53() : null } : null
  return {
    candidate: has(CANDIDATE),
    low,
    priority,
    incumbent: has(INCUMBENT),
    heard: has(HEARD),
    seen,
    lease,
  }
}

function writeEpoch(writer: Writer, { number, owner }: Epoch): void {
  writer.u53(number)
  writeOptional(writer, owner, (id) => writeId(writer, id))
}

function readEpoch(reader: Reader): Epoch {
  return { number: reader.u53(), owner: readOptional(reader, () => readId(reader)) }
}

function writeRequest(writer: Writer, { incarnation, counter }: Request): void {
  writer.u53(incarnation)
  writer.u53(counter)
}

function readRequest(reader: Reader): Request {
  return { incarnation: reader.u53(), counter: reader.u53() }
}

function writeConfig(writer: Writer, { id, sets }: Configuration): void {
  writer.u53(id[0])
  writer.u53(id[1])
  writeList(writer, sets, (voters) => writeIds(writer, voters))
}

function readConfig(reader: Reader): Configuration {
  return { id: [reader.u53(), reader.u53()], sets: readList(reader, () => readIds(reader)) }
}

const NUMBER = 0
const TEXT = 1

function writeId(writer: Writer, id: NodeId): void {
  if (typeof id === 'number') {
    writer.u8(NUMBER)
    writer.f64(id)
  } else {
    writer.u8(TEXT)
    writer.text(id)
  }
}

function readId(reader: Reader): NodeId {
  return reader.below(2, 'kind of name') === NUMBER ? reader.f64() : reader.text()
}

function writeIds(writer: Writer, ids: readonly NodeId[]): void {
  writeList(writer, ids, (id) => writeId(writer, id))
}

function readIds(reader: Reader): readonly NodeId[] {
  return readList(reader, () => readId(reader))
}

function writeList<T>(writer: Writer, list: readonly T[], write: (item: T) => void): void {
  writer.u32(list.length)
  for (const item of list) write(item)
}

function readList<T>(reader: Reader, read: () => T): readonly T[] {
  return Array.from({ length: reader.count() }, read)
}

function writeOptional<T>(writer: Writer, value: T | null, write: (value: T) => void): void {
  writer.u8(value === null ? 0 : 1)
  if (value !== null) write(value)
}

function readOptional<T>(reader: Reader, read: () => T): T | null {
  return readFlag(reader) ? read() : null
}

function readFlag(reader: Reader): boolean {
  return reader.below(2, 'flag') === 1
}
