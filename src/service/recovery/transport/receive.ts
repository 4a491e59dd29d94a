/**
 * Receives a body block by block. Blocks are collected until a write is worth its cost, and while another write is
 * running. When too many wait, the sender is paused.
 */
import type { Readable } from 'node:stream'
import { type BlockParser, totalLength } from './blocks.ts'

/** Each write wakes a thread. */
const MIN_WRITE_BYTES = 1024 * 1024
/** Bytes that may wait for the disk. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024

export type WriteChunks = (chunks: readonly Uint8Array[]) => Promise<void>

export type Flow = { pause(): void; resume(): void }

export class BlockReceiver {
  /** Resolves when the body is complete, and all of it was written. */
  readonly done: Promise<void>
  readonly #parser: BlockParser
  readonly #write: WriteChunks
  readonly #flow: Flow
  #waiting: Uint8Array[] = []
  #waitingBytes = 0
  #isWriting = false
  #hasEnded = false
  #resolve: () => void = () => {}
  #reject: (error: unknown) => void = () => {}

  constructor(parser: BlockParser, write: WriteChunks, flow: Flow) {
    this.#parser = parser
    this.#write = write
    this.#flow = flow
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    this.done.catch(() => {})
  }

  push(chunk: Uint8Array): void {
    try {
      const completed = this.#parser.push(chunk)
      if (completed.length === 0) return
      for (const each of completed) this.#waiting.push(each)
      this.#waitingBytes += totalLength(completed)
      if (this.#waitingBytes > MAX_WAITING_BYTES) this.#flow.pause()
      if (this.#waitingBytes >= MIN_WRITE_BYTES) this.#advance()
    } catch (error) {
      this.fail(error)
    }
  }

  /** Call it after the last chunk. */
  end(): void {
    try {
      this.#parser.end()
      this.#hasEnded = true
      this.#advance()
    } catch (error) {
      this.fail(error)
    }
  }

  /** Call it when no chunks come any more. Does nothing after `end`. */
  handleClose(): void {
    if (!this.#hasEnded) this.fail(new Error('the connection was closed'))
  }

  fail(error: unknown): void {
    this.#reject(error)
  }

  #advance(): void {
    if (!this.#isWriting) this.#writeWaiting().catch((error: unknown) => this.fail(error))
  }

  async #writeWaiting(): Promise<void> {
    this.#isWriting = true
    while (this.#waitingBytes >= (this.#hasEnded ? 1 : MIN_WRITE_BYTES)) {
      const chunks = this.#waiting
      this.#waiting = []
      this.#waitingBytes = 0
      // oxlint-disable-next-line no-await-in-loop -- in order
      await this.#write(chunks)
      this.#flow.resume()
    }
    this.#isWriting = false
    if (this.#hasEnded) this.#resolve()
  }
}

/** Resolves when the body is complete, and all of it was written. Rejects when the stream is closed before. */
export async function receiveBlocks(
  stream: Readable,
  parser: BlockParser,
  write: WriteChunks,
): Promise<void> {
  const receiver = new BlockReceiver(parser, write, stream)
  const handleData = (chunk: Uint8Array): void => receiver.push(chunk)
  const handleEnd = (): void => receiver.end()
  // A stream that has ended may be closed while its last block is written.
  const handleClose = (): void => receiver.handleClose()
  stream.on('data', handleData).on('end', handleEnd).on('close', handleClose)
  // Stays: a broken connection may report its error later.
  stream.on('error', (error) => receiver.fail(error))
  // The connection may have been lost before anyone listened: its events do not come again.
  if (stream.destroyed) handleClose()
  try {
    await receiver.done
  } finally {
    stream.off('data', handleData).off('end', handleEnd).off('close', handleClose)
  }
}
