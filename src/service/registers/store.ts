/**
 * What a store must offer to hold registers: small cells of text, read all at once, each written only if it is still
 * the one that the writer knows. Everything else, from incarnations to checksums, is made of this (registers.ts), so a
 * backend is one short file, and every backend runs the same suite (test/support/conformance.ts).
 *
 * What a store promises:
 *  - A read returns, for each cell, the value last written before the read began, or one written while it lasts; a
 *    cell that was ever written is never left out.
 *  - A write whose expected version is not the cell's present one changes nothing.
 *  - A write that was answered is not lost.
 *  - An operation whose outcome is not known throws. It is never tried again by itself: a second attempt that lands
 *    late is a write that nobody waits for.
 */

/** Tells a cell's values apart. Only the store that gave it knows what it means. */
export type Version = string

export type Cell = { readonly name: string; readonly version: Version; readonly body: string }

export type CellStore = {
  readonly facts: StoreFacts
  /** Every cell of the group. */
  read(signal: AbortSignal): Promise<readonly Cell[]>
  /** The new version, or null where the cell is not as expected (null: where it exists already). */
  write(name: string, body: string, expected: Version | null, signal: AbortSignal): Promise<Version | null>
  /** Takes a cell away for good: only for groups that were made for a trial. */
  remove(name: string, expected: Version, signal: AbortSignal): Promise<void>
  /**
   * Only where writing a cell keeps other processes out of it: lets them in again, once the writes of this process that
   * are under way have ended.
   */
  release?(name: string): void
  close(): Promise<void>
}

/** What was found out about a store when it was opened. */
export type StoreFacts = {
  readonly kind: StoreKind
  /** Where it is, without secrets. */
  readonly place: string
  /** What makes it a register. */
  readonly sound: readonly string[]
  /** What it does not give, and was accepted. */
  readonly weak: readonly string[]
  /** What cannot be found out from here and must be so. */
  readonly assumed: readonly string[]
}

export type StoreKind = 'memory' | 'file' | 'postgres' | 'redis' | 'etcd' | 'nats' | 's3'

/** One file name, key or subject for any text: letters, digits, - and _ stay, the rest is =XX in UTF-8. */
export function safeName(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) => {
    const char = String.fromCodePoint(byte)
    return /[\w-]/.test(char) ? char : `=${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }).join('')
}
