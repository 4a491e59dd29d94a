/** The content of a checkpoint: bytes in memory, in one piece or in several, or a function that yields them in pieces. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { ContentDigest } from './digest.ts'

export type Pieces = AsyncIterable<Uint8Array> | Iterable<Uint8Array>

/**
 * Bytes in memory must not change until they are stored. A function is called twice, first for the digest and then for
 * the bytes, and must yield the same both times. So a payload that does not fit in memory needs no copy on a disk.
 */
export type Payload = Uint8Array | readonly Uint8Array[] | (() => Pieces)

export type PayloadDescription = { readonly bytes: number; readonly digest: string }

/** Other work of the process runs after each slice. */
const SLICE_BYTES = 4 * 1024 * 1024

export async function describePayload(payload: Payload, signal?: AbortSignal): Promise<PayloadDescription> {
  const content = new ContentDigest()
  for await (const piece of piecesOf(payload)) {
    for (let at = 0; at < piece.length; at += SLICE_BYTES) {
      signal?.throwIfAborted()
      content.update(piece.subarray(at, at + SLICE_BYTES))
      // oxlint-disable-next-line no-await-in-loop -- lets other work run
      if (piece.length > SLICE_BYTES) await nextTurn()
    }
  }
  return { digest: content.digest(), bytes: content.bytes }
}

export function piecesOf(payload: Payload): Pieces {
  if (payload instanceof Uint8Array) return [payload]
  return typeof payload === 'function' ? payload() : payload
}

/** Yields all pieces, and calls `onEnd` with the digest after the last one, before the iteration ends. */
export async function* digestPieces(
  pieces: Pieces,
  onEnd: (description: PayloadDescription) => void,
): AsyncGenerator<Uint8Array> {
  const content = new ContentDigest()
  for await (const piece of pieces) {
    content.update(piece)
    yield piece
  }
  onEnd({ digest: content.digest(), bytes: content.bytes })
}

/** Words are combined 64 bits at a time only if they start at a multiple of this. */
const ALIGNMENT = 8

/**
 * Cuts pieces of any length into parts of the wanted lengths. A part is a view of its piece where possible, and a copy
 * where it crosses the end of a piece or is not aligned.
 */
export class PartCutter {
  readonly #pieces: AsyncIterator<Uint8Array> | Iterator<Uint8Array>
  #rest: Uint8Array = new Uint8Array()

  constructor(pieces: Pieces) {
    this.#pieces = Symbol.asyncIterator in pieces ? pieces[Symbol.asyncIterator]() : pieces[Symbol.iterator]()
  }

  /** Shorter only at the end of the payload. */
  async next(length: number): Promise<Uint8Array> {
    if (this.#rest.length === 0) await this.#advance()
    if (this.#rest.length >= length && this.#rest.byteOffset % ALIGNMENT === 0) return this.#take(length)
    const part = new Uint8Array(length)
    let filled = 0
    while (filled < length) {
      // oxlint-disable-next-line no-await-in-loop -- one piece after the other
      if (this.#rest.length === 0 && !(await this.#advance())) break
      const piece = this.#take(Math.min(this.#rest.length, length - filled))
      part.set(piece, filled)
      filled += piece.length
    }
    return part.subarray(0, filled)
  }

  /** Whether bytes are left. */
  async hasMore(): Promise<boolean> {
    return this.#rest.length > 0 || (await this.#advance())
  }

  /** Lets the source release what it holds. */
  async close(): Promise<void> {
    await this.#pieces.return?.()
  }

  #take(length: number): Uint8Array {
    const taken = this.#rest.subarray(0, length)
    this.#rest = this.#rest.subarray(length)
    return taken
  }

  /** False at the end. */
  async #advance(): Promise<boolean> {
    while (this.#rest.length === 0) {
      // oxlint-disable-next-line no-await-in-loop -- empty pieces are skipped
      const { done, value } = await this.#pieces.next()
      if (done === true) return false
      this.#rest = value
    }
    return true
  }
}
