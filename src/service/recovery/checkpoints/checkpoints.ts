/**
 * Stores, restores, repairs and re-encodes checkpoints. This is the data path: which node holds what, and when a
 * checkpoint counts, is decided by the fault manager.
 */
import type { NodeId } from '../../../core/index.ts'
import {
  type CheckpointId,
  type Commit,
  isSameCheckpoint,
  type Source,
} from '../../../recovery/manager/types.ts'
import {
  type ColumnKey,
  type ColumnReader,
  type ColumnStore,
  describeCheckpoint,
  openColumnReader,
  readColumn,
} from '../store/index.ts'
import type { ColumnClient, Upload, Verdict } from '../transport/index.ts'
import { type BadColumn, PayloadChangedError } from './errors.ts'
import { digestPieces, type Payload, type Pieces, piecesOf } from './payload.ts'
import { rebuildColumn } from './repair.ts'
import { restorePieces, StripeSource } from './restore.ts'
import {
  type AnnouncedColumn,
  type TransferOptions,
  type UploadOutcome,
  type UploadPlan,
  uploadPieces,
} from './upload.ts'

export type CheckpointsOptions = {
  readonly self: NodeId
  readonly group: string
  readonly store: ColumnStore
  readonly client: ColumnClient
  /** The token of the node's present view. */
  getToken(): number
  /** Tells the protocol that this node has stored a column: its command `held`. */
  recordStored(upload: Upload): Promise<Verdict>
}

export type Restored = { readonly payload: Uint8Array; readonly bad: readonly BadColumn[] }

export class Checkpoints {
  readonly #options: CheckpointsOptions

  constructor(options: CheckpointsOptions) {
    this.#options = options
  }

  /**
   * Encodes the payload and sends every column to its holder. Resolves when all holders have answered or failed; the
   * outcome says which columns are acknowledged. Rejects if the payload is not as announced, or on abort.
   */
  upload(plan: UploadPlan, payload: Payload, options: TransferOptions = {}): Promise<UploadOutcome> {
    const pieces = piecesOf(payload)
    // Bytes in memory were hashed for the plan. A function may yield something else the second time.
    const checked = typeof payload === 'function' ? checkDigest(pieces, plan) : pieces
    return this.#uploadPieces(plan, checked, options)
  }

  /** Restores the payload in memory. Rejects with UnrestorableError if too few columns are good. */
  async restore(
    commit: Commit,
    sources: readonly Source[],
    options: TransferOptions = {},
  ): Promise<Restored> {
    const payload = new Uint8Array(commit.bytes)
    let filled = 0
    const bad = await this.restoreTo(
      commit,
      sources,
      (piece) => {
        payload.set(piece, filled)
        filled += piece.length
      },
      options,
    )
    return { payload, bad }
  }

  /**
   * Restores the payload in pieces, for payloads that do not fit in memory. The digest is known only after the last
   * piece: use nothing before the promise resolves. Resolves to the columns that were found bad.
   */
  async restoreTo(
    commit: Commit,
    sources: readonly Source[],
    write: (piece: Uint8Array) => void | Promise<void>,
    options: TransferOptions = {},
  ): Promise<readonly BadColumn[]> {
    const source = this.#createSource(commit, sources, options)
    try {
      await source.open()
      for await (const piece of restorePieces(source, commit, options)) await write(piece)
      return source.bad
    } finally {
      await source.close()
    }
  }

  /** Rebuilds this node's column from the others, and stores it in place of the damaged one. */
  async repair(
    commit: Commit,
    column: number,
    sources: readonly Source[],
    options: TransferOptions = {},
  ): Promise<readonly BadColumn[]> {
    const source = this.#createSource(commit, sources, options, column)
    const { signal } = options
    try {
      await source.open()
      const { store } = this.#options
      const key = { id: commit.id, column, digest: commit.digest }
      const writer = await store.create(key, signal)
      try {
        await rebuildColumn(source, commit, column, writer, options)
        const size = await writer.finish()
        await this.#recordOwn({ key, code: commit.code, bytes: commit.bytes, size })
      } finally {
        await writer.abort()
      }
      return source.bad
    } finally {
      await source.close()
    }
  }

  /** Stores a committed checkpoint again, for other holders. The content and its digest stay the same. */
  async reencode(
    commit: Commit,
    sources: readonly Source[],
    plan: Pick<UploadPlan, 'id' | 'code' | 'holders'>,
    options: TransferOptions = {},
  ): Promise<UploadOutcome & { readonly bad: readonly BadColumn[] }> {
    const source = this.#createSource(commit, sources, options)
    try {
      await source.open()
      const { bytes, digest } = commit
      const pieces = restorePieces(source, commit)
      const outcome = await this.#uploadPieces({ ...plan, bytes, digest }, pieces, options)
      return { ...outcome, bad: source.bad }
    } finally {
      await source.close()
    }
  }

  /** Deletes all columns of these checkpoints on this node. Resolves to what was deleted. */
  async drop(ids: readonly CheckpointId[]): Promise<readonly ColumnKey[]> {
    const { store } = this.#options
    const stored = (await store.list()).map(({ key }) => key)
    const dropped = stored.filter(({ id }) => ids.some((each) => isSameCheckpoint(each, id)))
    await Promise.all(dropped.map((key) => store.drop(key)))
    return dropped
  }

  #uploadPieces(
    plan: UploadPlan,
    pieces: Parameters<typeof uploadPieces>[1],
    options: TransferOptions,
  ): Promise<UploadOutcome> {
    const { self, group, store, client, getToken } = this.#options
    return uploadPieces(
      plan,
      pieces,
      {
        open: (holder, column, writes, signal) =>
          holder === self
            ? store.create(column.key, signal, column.size)
            : client.put(holder, { ...column, group, token: getToken(), writes }, signal),
        // Other holders have told their own protocol before they acknowledged.
        confirm: async (holder, column) => {
          if (holder === self) await this.#recordOwn(column)
        },
      },
      options,
    )
  }

  async #recordOwn(column: AnnouncedColumn): Promise<void> {
    const { self, group, store, getToken, recordStored } = this.#options
    const verdict = await recordStored({ ...column, group, from: self, token: getToken() })
    if (verdict.ok) return
    await store.drop(column.key)
    throw new Error(verdict.reason)
  }

  #createSource(
    commit: Commit,
    sources: readonly Source[],
    { signal }: TransferOptions,
    without?: number,
  ): StripeSource {
    return new StripeSource({
      self: this.#options.self,
      commit,
      sources,
      open: (node, key) => this.#openColumn(node, key, signal),
      ...(signal === undefined ? {} : { signal }),
      ...(without === undefined ? {} : { without }),
    })
  }

  async #openColumn(node: NodeId, key: ColumnKey, signal: AbortSignal | undefined): Promise<ColumnReader> {
    const { self, group, store, client, getToken } = this.#options
    if (node === self) return readColumn(store, key, signal)
    const raw = await client.get(node, { group, token: getToken(), key }, signal)
    return openColumnReader(key, raw, `node ${JSON.stringify(node)}`)
  }
}

/** Throws at the end if the pieces are not those of the plan. */
function checkDigest(pieces: Pieces, { id, bytes, digest }: UploadPlan): AsyncGenerator<Uint8Array> {
  return digestPieces(pieces, (found) => {
    const problem =
      found.bytes === bytes
        ? `its digest is ${found.digest}, was ${digest}`
        : `it has ${found.bytes} bytes, had ${bytes}`
    if (found.digest !== digest) throw new PayloadChangedError(describeCheckpoint(id), problem)
  })
}
