/**
 * Memory for bytes that arrive, used again and again. Node.js allocates 64 KiB for each read of an ordinary socket, and
 * garbage collection and page faults of these cost more than all checks of the bytes.
 */

const SLAB_BYTES = 1024 * 1024
/** A slab with less space is full: a short read costs as much as a long one. */
const LEAST_SPACE = 128 * 1024
/** Slabs that are kept when no transfer uses them. */
const MAX_FREE = 8

export class SlabPool {
  readonly #free: Buffer[] = []

  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(SLAB_BYTES)
  }

  give(slabs: readonly Buffer[]): void {
    this.#free.push(...slabs.slice(0, MAX_FREE - this.#free.length))
  }
}

/** The slabs of one transfer, filled and released in order. */
export class SlabQueue {
  readonly #pool: SlabPool
  readonly #slabs: Buffer[]
  #filled = 0

  constructor(pool: SlabPool) {
    this.#pool = pool
    this.#slabs = [pool.take()]
  }

  /** Where the next bytes go. */
  next(): Uint8Array {
    if (SLAB_BYTES - this.#filled < LEAST_SPACE) {
      this.#slabs.push(this.#pool.take())
      this.#filled = 0
    }
    return (this.#slabs.at(-1) as Buffer).subarray(this.#filled)
  }

  /** The bytes that have arrived there. */
  fill(length: number): Uint8Array {
    const start = this.#filled
    this.#filled += length
    return (this.#slabs.at(-1) as Buffer).subarray(start, this.#filled)
  }

  /** Bytes are used in the order of arrival: all slabs before that of the chunk are no longer needed. */
  releaseBefore(chunk: Uint8Array): void {
    const needed = this.#slabs.findIndex(({ buffer }) => buffer === chunk.buffer)
    // Decrypted chunks are copies.
    this.#pool.give(this.#slabs.splice(0, needed === -1 ? this.#slabs.length - 1 : needed))
  }

  /** Call it when nothing reads or fills the slabs any more. */
  close(): void {
    this.#pool.give(this.#slabs.splice(0))
  }
}
