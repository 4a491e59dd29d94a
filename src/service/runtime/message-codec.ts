/**
 * The byte format of the messages of a group. A protocol may define layouts for its messages (`hosting.wire`). Every
 * other message is sent as canonical JSON.
 */
import { canonical, type Message, type Plain, whyNotPlain } from '../../core/index.ts'
import { settingsFault } from '../../links/index.ts'
import type { MessageLayout, WireFormat } from '../../protocols/index.ts'
import { InvalidBytesError, Reader, Writer } from './bytes.ts'

/** The kind byte of a message without a layout. Kinds with a layout are numbered from 1 in the order of the format. */
export const PLAIN = 0

/** Reused, because creating one costs more than encoding a message. */
const own = new Writer()

type Written = { readonly kind: number; readonly bytes: Uint8Array }

/** Encodes and decodes the messages of one protocol. */
export class MessageCodec {
  readonly #layouts: readonly MessageLayout[]
  readonly #numbers: ReadonlyMap<string, number>
  readonly #fault: WireFormat['fault']

  constructor({ layouts, fault }: WireFormat) {
    this.#layouts = layouts
    this.#numbers = new Map(layouts.map(({ kind }, place) => [kind, place + 1]))
    this.#fault = fault
  }

  /** Writes the kind byte and the message. */
  encode(body: Message): Written {
    const writer = own.begin()
    const kind = this.#numbers.get(body.kind) ?? PLAIN
    if (kind === PLAIN) writer.text(canonical(body))
    else (this.#layouts[kind - 1] as MessageLayout).write(writer, body)
    return { kind, bytes: writer.end() }
  }

  /** Throws InvalidBytesError when the bytes are not a message of the protocol. */
  decode(kind: number, bytes: Uint8Array): Message {
    const reader = new Reader(bytes)
    const body = kind === PLAIN ? this.#readPlain(reader) : this.#layoutOf(kind).read(reader)
    reader.end()
    const wrong = this.#fault(body)
    if (wrong !== null) throw new InvalidBytesError(wrong)
    return body
  }

  #layoutOf(kind: number): MessageLayout {
    const layout = this.#layouts[kind - 1]
    if (layout === undefined) throw new InvalidBytesError(`kind ${kind} is unknown`)
    return layout
  }

  #readPlain(reader: Reader): Message {
    const body = readPlain(reader)
    // Decoding checks a message with a layout.
    if (this.#numbers.has(body.kind)) throw new InvalidBytesError(`a ${body.kind} in a plain message`)
    return body
  }
}

/** The deepest message of a hosted protocol has seven levels. */
const MOST_DEPTH = 12

/**
 * The nesting depth of a JSON text. Checked before parsing, because code that processes the value recurses, including
 * the `JSON.stringify` of applications.
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
  // Kinds with a layout are checked by it.
  if (message.kind === 'datagram' || message.kind === 'bundle') {
    throw new InvalidBytesError(`a ${message.kind} in a plain message`)
  }
  const wrong = settingsFault(message as Message)
  if (wrong !== null) throw new InvalidBytesError(wrong)
  return message as Message
}
