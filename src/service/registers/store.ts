/**
 * The port for register backends: small text cells that are read all at once and written by compare-and-swap. Everything
 * else, from incarnations to checksums, is built on this in registers.ts. So a backend is one short file, and every
 * backend runs the same conformance suite (test/support/conformance.ts).
 *
 * A store promises:
 *  - A read returns, for each cell, the value last written before the read started, or one written during the read
 *    (a regular register). A cell that was ever written is never left out.
 *  - A write with a stale expected version changes nothing.
 *  - An acknowledged write is not lost.
 *  - An operation with an unknown outcome throws. The store never retries it: a retry could overwrite a newer value.
 */

/** Opaque version of a cell's value. */
export type Version = string

export type Cell = { readonly name: string; readonly version: Version; readonly body: string }

export type CellStore = {
  readonly facts: StoreFacts
  /** Every cell of the group. */
  read(signal: AbortSignal): Promise<readonly Cell[]>
  /** Returns the new version, or null if the cell's version is not `expected` (null: the cell must not exist). */
  write(name: string, body: string, expected: Version | null, signal: AbortSignal): Promise<Version | null>
  /** Deletes a cell. Only for test groups. */
  remove(name: string, expected: Version, signal: AbortSignal): Promise<void>
  /**
   * Only for stores that lock a cell for its writer: releases the lock after this process's pending writes.
   */
  release?(name: string): void
  close(): Promise<void>
}

/** Properties of a store, determined when it is opened. */
export type StoreFacts = {
  readonly kind: StoreKind
  /** Location, without secrets. */
  readonly place: string
  /** Verified properties that make it a register. */
  readonly sound: readonly string[]
  /** Missing properties that the user accepted. */
  readonly weak: readonly string[]
  /** Properties that cannot be verified and must hold. */
  readonly assumed: readonly string[]
}

export type StoreKind = 'memory' | 'file' | 'postgres' | 'redis' | 'etcd' | 'nats' | 's3'

/** Encodes any text as a file name, key or subject: letters, digits, - and _ stay; other bytes become =XX. */
export function safeName(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) => {
    const char = String.fromCodePoint(byte)
    return /[\w-]/.test(char) ? char : `=${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }).join('')
}

/** The table or bucket of a trial (openStore): both stores of an experiment find the same. */
export function trialName(group: string): string {
  return `conclave_trial_${group.replaceAll(/[^a-z0-9]/g, '_')}`
}
