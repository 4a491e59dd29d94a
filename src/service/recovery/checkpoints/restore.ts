/**
 * Reads the stripes of a checkpoint from any sufficient set of good columns. Data columns are preferred: with all of them
 * nothing has to be computed. A column that turns out to be bad is replaced by another one, from the same stripe on.
 */
import type { NodeId } from '../../../core/index.ts'
import { createCode, type DecodedHeader, type ErasureCode } from '../../../recovery/codes/index.ts'
import { planLayout, type StripeLayout } from '../../../recovery/codes/layout.ts'
import type { Commit, Source } from '../../../recovery/manager/types.ts'
import {
  type ColumnKey,
  ColumnMissingError,
  type ColumnReader,
  CorruptColumnError,
  describeCheckpoint,
  describeColumn,
} from '../store/index.ts'
import { type BadColumn, DigestMismatchError, UnrestorableError } from './errors.ts'
import { digestPieces } from './payload.ts'
import type { TransferOptions } from './upload.ts'

/** Opens a column at a node for checked reading. */
export type OpenColumn = (node: NodeId, key: ColumnKey, signal?: AbortSignal) => Promise<ColumnReader>

export type StripeSourceOptions = {
  readonly self: NodeId
  readonly commit: Commit
  readonly sources: readonly Source[]
  /** A column that is not read, because it is to be rebuilt. */
  readonly without?: number
  readonly open: OpenColumn
  readonly signal?: AbortSignal
}

type OpenedSource = { readonly source: Source; readonly reader: ColumnReader }

export class StripeSource {
  readonly code: ErasureCode
  /** Known after `open`. */
  layout: StripeLayout
  /** Any header of the checkpoint. */
  header: DecodedHeader | null = null
  readonly bad: BadColumn[] = []
  readonly #options: StripeSourceOptions
  readonly #candidates: Source[]
  #opened: OpenedSource[] = []
  #stripe = 0
  #isClosed = false
  /** The call in progress. */
  #busy: Promise<unknown> = Promise.resolve()

  constructor(options: StripeSourceOptions) {
    const { commit, sources, self, without } = options
    const { name, columns, data } = commit.code
    this.#options = options
    this.code = createCode({ code: name, columns, dataColumns: data })
    this.layout = planLayout(this.code, 0, 1)
    // Data columns first; among equals, this node's own column costs no transfer.
    const rank = ({ node, column }: Source): number => (column < data ? 0 : 2) + (node === self ? 0 : 1)
    this.#candidates = sources
      .filter(({ column }) => column !== without)
      .sort((a, b) => rank(a) - rank(b) || a.column - b.column)
  }

  /** Opens as many columns as are needed. */
  async open(): Promise<void> {
    await this.#track(this.#openMissing())
    this.header = (this.#opened[0] as OpenedSource).reader.header
    const { payloadLength, stripeSize } = this.header
    this.layout = planLayout(this.code, payloadLength, stripeSize)
  }

  /** The contents of the next stripe by column, null for columns that were not read; null after the last stripe. */
  next(): Promise<(Uint8Array | null)[] | null> {
    return this.#track(this.#next())
  }

  /** Releases all columns, including columns that are being opened. */
  async close(): Promise<void> {
    this.#isClosed = true
    // A read that waits for its node ends when its column is closed.
    await this.#closeOpened()
    await this.#busy
    await this.#closeOpened()
  }

  async #closeOpened(): Promise<void> {
    const opened = this.#opened
    this.#opened = []
    await Promise.all(opened.map(({ reader }) => reader.close()))
  }

  #track<T>(call: Promise<T>): Promise<T> {
    this.#busy = call.catch(() => {})
    return call
  }

  #assertOpen(): void {
    this.#options.signal?.throwIfAborted()
    if (this.#isClosed) throw new Error('the checkpoint is no longer read')
  }

  async #next(): Promise<(Uint8Array | null)[] | null> {
    if (this.#stripe === this.layout.stripes) return null
    const contents: (Uint8Array | null)[] = Array.from({ length: this.code.columns }, () => null)
    await this.#readInto(contents, this.#opened)
    while (this.#opened.length < this.code.dataColumns) {
      // oxlint-disable-next-line no-await-in-loop -- replacements can be bad as well
      const added = await this.#openMissing()
      // oxlint-disable-next-line no-await-in-loop -- replacements can be bad as well
      await this.#readInto(contents, added)
    }
    this.#stripe += 1
    return contents
  }

  async #readInto(contents: (Uint8Array | null)[], from: readonly OpenedSource[]): Promise<void> {
    await Promise.all(
      from.map(async (opened) => {
        try {
          contents[opened.source.column] = await opened.reader.next()
        } catch (error) {
          await this.#replace(opened, error)
        }
      }),
    )
  }

  async #replace(opened: OpenedSource, error: unknown): Promise<void> {
    this.#assertOpen()
    this.#opened = this.#opened.filter((other) => other !== opened)
    this.#reportBad(opened.source, error)
    await opened.reader.close()
  }

  /** Opens further candidates until enough columns are open, each at the present stripe. Returns the new ones. */
  async #openMissing(): Promise<readonly OpenedSource[]> {
    const added: OpenedSource[] = []
    while (this.#opened.length < this.code.dataColumns) {
      const missing = this.code.dataColumns - this.#opened.length
      const next = this.#candidates.splice(0, missing)
      if (next.length === 0) {
        const { id, code } = this.#options.commit
        throw new UnrestorableError(describeCheckpoint(id), code.data, this.#opened.length, this.bad)
      }
      // Waits for all of them: a column that is opened after a failure must be closed as well.
      // oxlint-disable-next-line no-await-in-loop -- only as many as are needed
      const settled = await Promise.all(next.map((source) => this.#tryOpen(source)))
      const opened = settled.filter((each) => each !== null)
      added.push(...opened)
      this.#opened.push(...opened)
      this.#assertOpen()
    }
    return added
  }

  /** Null if it is bad. Never rejects. */
  async #tryOpen(source: Source): Promise<OpenedSource | null> {
    const { commit, open, signal } = this.#options
    const key = { id: commit.id, column: source.column, digest: commit.digest }
    let reader: ColumnReader | null = null
    try {
      reader = await open(source.node, key, signal)
      checkHeader(reader.header, key, commit, source.node)
      // oxlint-disable-next-line no-await-in-loop -- skips stripes that were read from another column
      for (let stripe = 0; stripe < this.#stripe; stripe++) await reader.next()
      return { source, reader }
    } catch (error) {
      await reader?.close()
      this.#reportBad(source, error)
      return null
    }
  }

  #reportBad({ node, column }: Source, error: unknown): void {
    const isLost = error instanceof CorruptColumnError || error instanceof ColumnMissingError
    this.bad.push({ node, column, problem: error instanceof Error ? error.message : String(error), isLost })
  }
}

function checkHeader(header: DecodedHeader, key: ColumnKey, { code, bytes }: Commit, node: NodeId): void {
  const isExpected =
    header.code === code.name &&
    header.columns === code.columns &&
    header.dataColumns === code.data &&
    header.payloadLength === bytes
  if (!isExpected)
    throw new CorruptColumnError(
      describeColumn(key),
      `node ${node}`,
      'its code or length is not that of the checkpoint',
    )
}

/** The payload in pieces. Throws after the last piece if the digest is wrong: use nothing of it before the end. */
export async function* restorePieces(
  source: StripeSource,
  { id, digest, bytes }: Commit,
  { onProgress }: TransferOptions = {},
): AsyncGenerator<Uint8Array> {
  yield* digestPieces(decodeStripes(source, bytes, onProgress), (found) => {
    if (found.digest !== digest) throw new DigestMismatchError(describeCheckpoint(id), found.digest, digest)
  })
}

async function* decodeStripes(
  source: StripeSource,
  total: number,
  onProgress: TransferOptions['onProgress'],
): AsyncGenerator<Uint8Array> {
  let done = 0
  let reading = source.next()
  for (let stripe = 0; ; stripe++) {
    // oxlint-disable-next-line no-await-in-loop -- stripe by stripe
    const contents = await reading
    if (contents === null) return
    // The next stripe arrives while this one is decoded and used.
    reading = source.next()
    reading.catch(() => {})
    const columns = completeData(source.code, contents)
    const length = source.layout.columnBytes(stripe)
    const wanted = source.layout.payloadBytes(stripe)
    for (const [column, content] of columns.entries()) {
      const piece = content.subarray(0, Math.max(0, wanted - column * length))
      if (piece.length > 0) yield piece
    }
    done += wanted
    onProgress?.({ done, total })
  }
}

/** The data columns of a stripe. */
function completeData(code: ErasureCode, contents: readonly (Uint8Array | null)[]): readonly Uint8Array[] {
  const data = contents.slice(0, code.dataColumns)
  return data.includes(null) ? code.reconstruct(contents).slice(0, code.dataColumns) : (data as Uint8Array[])
}
