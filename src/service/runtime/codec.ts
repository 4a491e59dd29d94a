/**
 * The byte format of datagrams: docs/reference/wire.md describes it byte by byte. An envelope names sender and
 * receiver. It carries the session and the messages of any number of groups (message-codec.ts).
 */
import { createHash } from 'node:crypto'
import { canonical, type Message, type NodeId } from '../../core/index.ts'
import { type Bundle, type Datagram, datagramFault, type Part } from '../../links/index.ts'
import { readId, type WireFormat, writeId } from '../../protocols/index.ts'
import { InvalidBytesError, Reader, Writer } from './bytes.ts'
import { MessageCodec, PLAIN as PLAIN_MESSAGE, readPlain } from './message-codec.ts'

export type Envelope = {
  readonly from: NodeId
  readonly to: NodeId
  /** A datagram of a session, or a message outside any session. */
  readonly body: Message
  /** The number of messages in it for groups that this process has not joined. */
  readonly foreign: number
}

export const WIRE_VERSION = 2

const ECHO = 0
const BUNDLE = 1
const PLAIN = 2
const KINDS = 3

const MOST_IN_PART = 0xffff

/** A group's name on the wire: the first 53 bits of its digest. */
export function groupDigest(name: string): number {
  const hash = createHash('sha256').update(name).digest()
  return (hash.readUInt32BE(0) >>> 11) * 2 ** 32 + hash.readUInt32BE(4)
}

/** Each message is encoded once, regardless of the number of receivers. */
const encoded = new WeakMap<Message, { readonly kind: number; readonly bytes: Uint8Array }>()

type JoinedGroup = {
  readonly name: string
  readonly digest: number
  readonly messages: MessageCodec
  /** The digest of its configuration here; null where only nodes with the same configuration are read. */
  readonly config: number | null
}

/** Messages for groups that this process has left meanwhile. */
const NO_LAYOUTS: WireFormat = { layouts: [], fault: () => null }

/** A message of a node with another configuration, perhaps of another protocol. It shows only that there is one. */
const UNREAD: Message = { kind: 'unread' }

function createJoinedGroup(name: string, format: WireFormat, config: number | null): JoinedGroup {
  return { name, digest: groupDigest(name), messages: new MessageCodec(format), config }
}

/** Encodes and decodes envelopes for a process that has joined some groups. */
export class Codec {
  readonly #groups = new Map<string, JoinedGroup>()
  readonly #byDigest = new Map<number, JoinedGroup>()
  readonly #writer = new Writer()

  /**
   * Encodes and decodes the messages of this group from now on; those of nodes with another configuration are not read.
   * False when another group has the same digest.
   */
  learn(name: string, format: WireFormat, config: number | null = null): boolean {
    const group = createJoinedGroup(name, format, config)
    const known = this.#byDigest.get(group.digest)
    if (known !== undefined && known.name !== name) return false
    this.#groups.set(name, group)
    this.#byDigest.set(group.digest, group)
    return true
  }

  forget(name: string): void {
    this.#byDigest.delete(groupDigest(name))
    this.#groups.delete(name)
  }

  /** Throws InvalidBytesError when it is too large for a datagram. */
  encode({ from, to, body }: Omit<Envelope, 'foreign'>): Uint8Array {
    const writer = this.#writer.begin()
    const datagram = body.kind === 'datagram' ? (body as unknown as Datagram) : null
    writer.u8(WIRE_VERSION)
    writer.u8(datagram === null ? PLAIN : datagram.body === null ? ECHO : BUNDLE)
    writeId(writer, from)
    writeId(writer, to)
    if (datagram === null) {
      writer.text(canonical(body))
      return writer.end()
    }
    writeSession(writer, datagram)
    if (datagram.body !== null) this.#writeParts(writer, (datagram.body as unknown as Bundle).parts)
    return writer.end()
  }

  decode(bytes: Uint8Array): Envelope | InvalidBytesError {
    try {
      const reader = new Reader(bytes)
      const version = reader.u8()
      if (version !== WIRE_VERSION)
        return new InvalidBytesError(`wire version ${version}; this process uses ${WIRE_VERSION}`)
      const kind = reader.below(KINDS, 'kind')
      const from = readId(reader)
      const to = readId(reader)
      if (kind === PLAIN) {
        const body = readPlain(reader)
        reader.end()
        return { from, to, body, foreign: 0 }
      }
      const session = readSession(reader)
      const wrong = datagramFault(session)
      if (wrong !== null) return new InvalidBytesError(wrong)
      const { parts, foreign } = kind === ECHO ? { parts: null, foreign: 0 } : this.#readParts(reader)
      reader.end()
      const bundle: Bundle | null = parts === null ? null : { kind: 'bundle', parts }
      const { by, for: meant, number, sent, awake, echo } = session
      const datagram: Datagram = {
        kind: 'datagram',
        config: 0,
        by,
        for: meant,
        number,
        sent,
        awake,
        echo,
        body: bundle,
      }
      return { from, to, body: datagram, foreign }
    } catch (error) {
      if (error instanceof InvalidBytesError) return error
      throw error
    }
  }

  #writeParts(writer: Writer, parts: readonly Part[]): void {
    writer.u32(parts.length)
    for (const { group: name, config, body } of parts) {
      const group = this.#groups.get(name) ?? createJoinedGroup(name, NO_LAYOUTS, null)
      let message = encoded.get(body)
      if (message === undefined) {
        message = group.messages.encode(body)
        encoded.set(body, message)
      }
      const { kind, bytes } = message
      if (bytes.length > MOST_IN_PART)
        throw new InvalidBytesError('a message that does not fit into a datagram')
      writer.u53(group.digest)
      writer.u32(config)
      writer.u8(kind)
      writer.u16(bytes.length)
      writer.bytes(bytes)
    }
  }

  /** Skips parts for groups that this process has not joined. */
  #readParts(reader: Reader): { readonly parts: readonly Part[]; readonly foreign: number } {
    const parts: Part[] = []
    const total = reader.count()
    for (let each = 0; each < total; each++) {
      const group = this.#byDigest.get(reader.u53())
      const config = reader.u32()
      const kind = reader.u8()
      const bytes = reader.bytes(reader.u16())
      if (group === undefined) continue
      const isStranger = group.config !== null && group.config !== config
      const body = isStranger ? readStranger(kind, bytes) : group.messages.decode(kind, bytes)
      parts.push({ group: group.name, config, body })
    }
    return { parts, foreign: total - parts.length }
  }
}

/** Only its settings are of interest. Its protocol may have other layouts. */
function readStranger(kind: number, bytes: Uint8Array): Message {
  if (kind !== PLAIN_MESSAGE) return UNREAD
  const reader = new Reader(bytes)
  const body = readPlain(reader)
  reader.end()
  return body
}

const HAS_ECHO = 1
const HAS_SLEPT = 2
const SESSION_FLAGS = 4

function writeSession(writer: Writer, { by, for: meant, number, sent, awake, echo }: Datagram): void {
  writer.u53(by)
  writer.u53(meant)
  writer.u53(number)
  writer.u53(sent)
  writer.u8((echo === null ? 0 : HAS_ECHO) | (awake === null ? 0 : HAS_SLEPT))
  if (echo !== null) {
    writer.u53(echo.sent)
    writer.u53(echo.received)
  }
  if (awake !== null) writer.u53(awake)
}

function readSession(reader: Reader): Omit<Datagram, 'body'> {
  const by = reader.u53()
  const meant = reader.u53()
  const number = reader.u53()
  const sent = reader.u53()
  const flags = reader.below(SESSION_FLAGS, 'session flags')
  const echo = (flags & HAS_ECHO) === 0 ? null : { sent: reader.u53(), received: reader.u53() }
  const awake = (flags & HAS_SLEPT) === 0 ? null : reader.u53()
  if (awake !== null && awake > sent) throw new InvalidBytesError(`awake since ${awake}, but sent at ${sent}`)
  // Each group checks its own configuration.
  return { kind: 'datagram', config: 0, by, for: meant, number, sent, awake, echo }
}
