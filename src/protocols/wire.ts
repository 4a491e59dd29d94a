/** How a protocol encodes its messages as bytes: the interface of the runtime's codec, and common parts of layouts. */
import type { Message, NodeId } from '../core/index.ts'

/** Writes values in a fixed layout, big-endian. */
export type WireWriter = {
  u8(value: number): void
  u16(value: number): void
  u32(value: number): void
  i32(value: number): void
  /** A whole number below 2^53, in eight bytes. */
  u53(value: number): void
  f64(value: number): void
  text(value: string): void
}

/** Reads the same values. Every method throws if the bytes do not hold such a value. */
export type WireReader = {
  u8(): number
  u16(): number
  u32(): number
  i32(): number
  u53(): number
  f64(): number
  text(): string
  /** A byte below `limit`; `what` names it in the error. */
  below(limit: number, what: string): number
  /** The length of a list; never more than the number of remaining bytes. */
  count(): number
  /** Refuses the message: its values are inconsistent. */
  refuse(why: string): never
}

/** The layout of one kind of message. `kind` is not encoded: the codec numbers the layouts of a protocol. */
export type MessageLayout = {
  readonly kind: string
  write(writer: WireWriter, message: Message): void
  read(reader: WireReader): Message
}

/** The wire format of a protocol. Messages without a layout are sent as canonical JSON. */
export type WireFormat = {
  readonly layouts: readonly MessageLayout[]
  /** What is wrong with a message of a peer; null if it is valid. Every message is checked before it is used. */
  fault(message: Message): string | null
}

const NUMBER = 0
const TEXT = 1

export function writeId(writer: WireWriter, id: NodeId): void {
  if (typeof id === 'number') {
    writer.u8(NUMBER)
    writer.f64(id)
  } else {
    writer.u8(TEXT)
    writer.text(id)
  }
}

export function readId(reader: WireReader): NodeId {
  return reader.below(2, 'kind of id') === NUMBER ? reader.f64() : reader.text()
}

export function writeIds(writer: WireWriter, ids: readonly NodeId[]): void {
  writeList(writer, ids, (id) => writeId(writer, id))
}

export function readIds(reader: WireReader): readonly NodeId[] {
  return readList(reader, () => readId(reader))
}

export function writeList<T>(writer: WireWriter, list: readonly T[], write: (item: T) => void): void {
  writer.u32(list.length)
  for (const item of list) write(item)
}

export function readList<T>(reader: WireReader, read: () => T): readonly T[] {
  const list: T[] = []
  for (let left = reader.count(); left > 0; left--) list.push(read())
  return list
}

export function writeOptional<T>(writer: WireWriter, value: T | null, write: (value: T) => void): void {
  writer.u8(value === null ? 0 : 1)
  if (value !== null) write(value)
}

export function readOptional<T>(reader: WireReader, read: () => T): T | null {
  return readFlag(reader) ? read() : null
}

export function writeFlag(writer: WireWriter, value: boolean): void {
  writer.u8(value ? 1 : 0)
}

export function readFlag(reader: WireReader): boolean {
  return reader.below(2, 'flag') === 1
}
