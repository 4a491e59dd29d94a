/**
 * The port for column stores, with two implementations: the node's own disk (disk.ts) and a bucket (s3.ts). Both run the
 * same conformance suite (test/support/column-conformance.ts).
 *
 * A store promises:
 *  - A column is listed and readable only after `finish` resolved or while it runs, and then as a whole.
 *  - A column whose `finish` resolved survives a crash of the process and of the host.
 *  - Nothing is ever written over a column: another content has another key (its digest is a part of the key).
 *  - A write that fails or is given up leaves nothing behind. A write that a crash interrupted is removed by `open`.
 *  - A read checks every byte, or throws an error that names the column.
 */
import type { ColumnKey } from './column-key.ts'

/** A writable column. Chunks may be reused as soon as `write` has resolved. */
export type ColumnWriter = {
  /** Resolves when the writer is ready for more. */
  write(chunks: readonly Uint8Array[]): Promise<void>
  /** Makes the column durable, then visible. Resolves to its size in bytes. */
  finish(): Promise<number>
  /** Gives the write up and releases what it holds. Does nothing after `finish` resolved. Never rejects. */
  abort(): Promise<void>
}

export type StoredColumn = {
  readonly key: ColumnKey
  /** Size in the store, with headers and checksums. */
  readonly bytes: number
}

/** The bytes as they are stored, and unchecked. Iterate once. */
export type RawColumn = {
  readonly bytes: number
  readonly chunks: AsyncIterable<Uint8Array>
  /** Releases the column; also needed after an iteration that ended. Never rejects. */
  close(): Promise<void>
}

export type ColumnStore = {
  /** Location, without secrets. */
  readonly place: string
  /**
   * Starts a column. Rejects, or makes a call on the writer reject, if the store is full or fails. `size`: the expected
   * number of bytes, if it is known.
   */
  create(key: ColumnKey, signal?: AbortSignal, size?: number): Promise<ColumnWriter>
  /** All columns in the store; it does not read them. */
  list(signal?: AbortSignal): Promise<readonly StoredColumn[]>
  /** Unchecked bytes, for a reader that checks them itself. Rejects with ColumnMissingError. */
  openRaw(key: ColumnKey, signal?: AbortSignal): Promise<RawColumn>
  /** Deletes the column if it is there. */
  drop(key: ColumnKey, signal?: AbortSignal): Promise<void>
  /** Gives up all writes and releases the store. */
  close(): Promise<void>
}
