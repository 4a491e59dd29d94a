/**
 * What the processes of a group have to say, as bytes. The messages of local-leader have a layout of their own, because
 * they are most of the traffic; everything else, of whatever protocol, goes as canonical JSON.
 */
import { canonical, type Message, type NodeId, type Plain, whyNotPlain } from '../../core/index.ts'
import { settingsFault } from '../../links/index.ts'
import { localLeaderFault, omegaFault } from '../../protocols/index.ts'
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
} from '../../protocols/local-leader/messages.ts'
import type { Configuration } from '../../protocols/local-leader/voters.ts'
import { InvalidBytesError, Reader, Writer } from './bytes.ts'

const PLAIN = 0
const HEARTBEAT = 1
const ELECTION = 2
const REPLY = 3
const RELEASE = 4
const KINDS = 5

const LAID_OUT = { Heartbeat: HEARTBEAT, Election: ELECTION, Reply: REPLY, Release: RELEASE } as const

/** Kept, because making one costs more than writing a message. */
const own = new Writer()

/** The byte for a message's kind, and the message. */
export function bodyBytes(body: Message): { readonly kind: number; readonly bytes: Uint8Array } {
  const writer = own.begin()
  const kind = Object.hasOwn(LAID_OUT, body.kind) ? LAID_OUT[body.kind as keyof typeof LAID_OUT] : PLAIN
  if (kind === PLAIN) writer.text(canonical(body))
  else writeBody(writer, body as unknown as LocalLeaderMessage)
  return { kind, bytes: writer.end() }
}

export function bodyOf(kind: number, bytes: Uint8Array): Message {
  if (kind >= KINDS) throw new InvalidBytesError(`kind ${kind} is unknown`)
  const reader = new Reader(bytes)
  if (kind === PLAIN) {
    const body = readPlain(reader)
    reader.end()
    return body
  }
  const body = readBody(reader, kind)
  reader.end()
  const wrong = localLeaderFault(body)
  if (wrong !== null) throw new InvalidBytesError(`${body.kind}.${wrong[0]}: ${wrong[1]}`)
  return body
}

/** The deepest message, a view among the attempts of an accept in a frame, has seven levels. */
const MOST_DEPTH = 12

/**
 * How deeply a JSON text is nested: looked at before it is parsed, because whoever is handed a value goes through it by
 * recursion, the application's own `JSON.stringify` too.
 */
function depthOf(text: string): number {
  let [depth, deepest, isQuoted] = [0, 0, false]
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (isQuoted) {
      if (code === BACKSLASH) at += 1
      else if (code === QUOTE) isQuoted = false
    } else if (code === QUOTE) isQuoted = true
    else if (code === BRACKET || code === BRACE) {
      depth += 1
      if (depth > deepest) deepest = depth
    } else if (code === BRACKET + 2 || code === BRACE + 2) depth -= 1
  }
  return deepest
}

const QUOTE = 0x22
const BRACKET = 0x5b
const BACKSLASH = 0x5c
const BRACE = 0x7b

export function readPlain(reader: Reader): Message {
  const text = reader.text()
  if (depthOf(text) > MOST_DEPTH) throw new InvalidBytesError(`nested more than ${MOST_DEPTH} levels deep`)
  let value: unknown
  let fault: string | null
  try {
    value = JSON.parse(text)
    fault = whyNotPlain(value)
  } catch {
    throw new InvalidBytesError('text that is not JSON')
  }
  if (fault !== null) throw new InvalidBytesError(fault)
  const message = value as Plain
  if (
    message === null ||
    typeof message !== 'object' ||
    !('kind' in message) ||
    typeof message.kind !== 'string'
  ) {
    throw new InvalidBytesError('a message without a kind')
  }
  // Those have a layout of their own, and are checked by it.
  if (message.kind === 'datagram' || message.kind === 'bundle' || Object.hasOwn(LAID_OUT, message.kind)) {
    throw new InvalidBytesError(`a ${message.kind} in a plain message`)
  }
  const wrong = omegaFault(message as Message) ?? settingsFault(message as Message)
  if (wrong !== null) throw new InvalidBytesError(wrong)
  return message as Message
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
  if (has(HAS_TOKEN) && !has(LEADS)) throw new InvalidBytesError('a token without a lease')
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

export function writeId(writer: Writer, id: NodeId): void {
  if (typeof id === 'number') {
    writer.u8(NUMBER)
    writer.f64(id)
  } else {
    writer.u8(TEXT)
    writer.text(id)
  }
}

export function readId(reader: Reader): NodeId {
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

export function readFlag(reader: Reader): boolean {
  return reader.below(2, 'flag') === 1
}
