/** Writes and reads bytes in a fixed layout, big-endian. A reader validates everything that it reads. */
import { fail } from '../../core/index.ts'

/** The bytes do not match the layout. */
export class InvalidBytesError extends Error {
  override readonly name = 'InvalidBytesError'
}

/** A UDP datagram over IPv4 holds 65,507 bytes; a seal takes up to 33 of them. */
const MOST = 65_507 - 33

/** Strings up to this length are decoded byte by byte, which is faster than TextDecoder. */
const SHORT = 32

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { fatal: true })

export class Writer {
  #bytes = new Uint8Array(512)
  #view = new DataView(this.#bytes.buffer)
  #length = 0

  u8(value: number): void {
    this.#room(1)
    this.#bytes[this.#length++] = value
  }

  u16(value: number): void {
    this.#room(2)
    this.#view.setUint16(this.#length, value)
    this.#length += 2
  }

  u32(value: number): void {
    this.#room(4)
    this.#view.setUint32(this.#length, value)
    this.#length += 4
  }

  i32(value: number): void {
    this.#room(4)
    this.#view.setInt32(this.#length, value)
    this.#length += 4
  }

  /** A whole number below 2^53, in eight bytes. Asserted: a receiver would refuse the message, or misread it. */
  u53(value: number): void {
    if (!(value >= 0 && Number.isSafeInteger(value))) fail(`${value} cannot be sent as a number below 2^53`)
    this.#room(8)
    this.#view.setUint32(this.#length, Math.floor(value / 2 ** 32))
    this.#view.setUint32(this.#length + 4, value % 2 ** 32)
    this.#length += 8
  }

  f64(value: number): void {
    this.#room(8)
    this.#view.setFloat64(this.#length, value)
    this.#length += 8
  }

  text(value: string): void {
    const { length } = value
    this.#room(4 + length)
    // Names are usually short ASCII strings.
    for (let index = 0; index < length; index++) {
      const code = value.charCodeAt(index)
      if (code > 127) {
        const bytes = encoder.encode(value)
        this.u32(bytes.length)
        this.bytes(bytes)
        return
      }
      this.#bytes[this.#length + 4 + index] = code
    }
    this.u32(length)
    this.#length += length
  }

  bytes(bytes: Uint8Array): void {
    this.#room(bytes.length)
    this.#bytes.set(bytes, this.#length)
    this.#length += bytes.length
  }

  /** A copy of what was written; the writer can be reused. */
  end(): Uint8Array {
    const written = this.#bytes.slice(0, this.#length)
    this.#length = 0
    return written
  }

  /** Discards unfinished output. */
  begin(): Writer {
    this.#length = 0
    return this
  }

  #room(more: number): void {
    const needed = this.#length + more
    if (needed > MOST)
      throw new InvalidBytesError(`a message of more than ${MOST} bytes does not fit into a datagram`)
    if (needed <= this.#bytes.length) return
    const larger = new Uint8Array(Math.min(MOST, Math.max(needed, this.#bytes.length * 2)))
    larger.set(this.#bytes)
    this.#bytes = larger
    this.#view = new DataView(larger.buffer)
  }
}

export class Reader {
  readonly #bytes: Uint8Array
  readonly #view: DataView
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  u8(): number {
    return this.#view.getUint8(this.#take(1))
  }

  u16(): number {
    return this.#view.getUint16(this.#take(2))
  }

  u32(): number {
    return this.#view.getUint32(this.#take(4))
  }

  i32(): number {
    return this.#view.getInt32(this.#take(4))
  }

  u53(): number {
    const at = this.#take(8)
    const high = this.#view.getUint32(at)
    if (high >= 2 ** 21) throw new InvalidBytesError('a number of 2^53 or more')
    return high * 2 ** 32 + this.#view.getUint32(at + 4)
  }

  f64(): number {
    const value = this.#view.getFloat64(this.#take(8))
    if (!Number.isFinite(value) || Object.is(value, -0)) throw new InvalidBytesError('not a finite number')
    return value
  }

  /** A byte below a limit. */
  below(limit: number, what: string): number {
    const value = this.u8()
    if (value >= limit) throw new InvalidBytesError(`${what} ${value} is unknown`)
    return value
  }

  /** Refuses what was read: its values do not fit together. */
  refuse(why: string): never {
    throw new InvalidBytesError(why)
  }

  /** The number of items that follow; each takes at least one byte. */
  count(): number {
    const count = this.u32()
    if (count > this.#bytes.length - this.#at)
      throw new InvalidBytesError(`${count} items are declared, but fewer bytes are left`)
    return count
  }

  bytes(length: number): Uint8Array {
    const at = this.#take(length)
    return this.#bytes.subarray(at, at + length)
  }

  text(): string {
    const length = this.count()
    const at = this.#take(length)
    const short = length <= SHORT ? this.#plainText(at, length) : null
    if (short !== null) return short
    try {
      return decoder.decode(this.#bytes.subarray(at, at + length))
    } catch {
      throw new InvalidBytesError('text that is not UTF-8')
    }
  }

  /** ASCII text; null if it is not ASCII. */
  #plainText(at: number, length: number): string | null {
    let text = ''
    for (let index = at; index < at + length; index++) {
      const code = this.#bytes[index] as number
      if (code > 127) return null
      text += String.fromCharCode(code)
    }
    return text
  }

  /** Nothing may be left. */
  end(): void {
    const left = this.#bytes.length - this.#at
    if (left > 0) throw new InvalidBytesError(`${left} bytes left over`)
  }

  #take(length: number): number {
    const at = this.#at
    if (at + length > this.#bytes.length) throw new InvalidBytesError('truncated')
    this.#at = at + length
    return at
  }
}
