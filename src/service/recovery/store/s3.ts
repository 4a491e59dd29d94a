/**
 * Columns in a bucket of S3 or a compatible store, one object each. An object appears as a whole or not at all, so no
 * rename is needed. Small columns are one request; larger ones are uploaded in parts, of which one is in memory at a
 * time. Uploads that a crash interrupted are aborted when the store is opened.
 *
 * Several nodes can share a bucket; each needs a prefix of its own.
 */
import type { S3Options } from '../../registers/s3.ts'
import { type ColumnKey, columnName, describeColumn, parseColumnName } from './column-key.ts'
import type { ColumnStore, ColumnWriter, RawColumn, StoredColumn } from './column-store.ts'
import { ColumnMissingError, ColumnStoreFailedError } from './errors.ts'
import { S3Client } from './s3-client.ts'

export type S3StoreOptions = S3Options & {
  /** Bytes per part. S3 requires at least 5 MiB for all but the last part. */
  readonly partBytes?: number
}

const DEFAULT_PART_BYTES = 8 * 1024 * 1024

export async function openS3Store(options: S3StoreOptions): Promise<ColumnStore> {
  const client = await S3Client.open(options)
  try {
    await abortUnfinished(client)
  } catch (error) {
    client.close()
    throw error
  }
  return new S3Store(client, options.partBytes ?? DEFAULT_PART_BYTES)
}

async function abortUnfinished(client: S3Client): Promise<void> {
  const uploads = await client.listUploads()
  await Promise.all(uploads.map(({ name, upload }) => client.abortUpload(name, upload)))
}

class S3Store implements ColumnStore {
  readonly place: string
  readonly #client: S3Client
  readonly #partBytes: number
  readonly #writers = new Set<S3Writer>()

  constructor(client: S3Client, partBytes: number) {
    this.place = client.place
    this.#client = client
    this.#partBytes = partBytes
  }

  async create(key: ColumnKey, signal?: AbortSignal): Promise<ColumnWriter> {
    const name = columnName(key)
    signal?.throwIfAborted()
    this.#client.assertOpen()
    const writer = new S3Writer({
      key,
      name,
      client: this.#client,
      partBytes: this.#partBytes,
      onEnd: () => this.#writers.delete(writer),
      ...(signal === undefined ? {} : { signal }),
    })
    this.#writers.add(writer)
    return writer
  }

  async list(signal?: AbortSignal): Promise<readonly StoredColumn[]> {
    const objects = await this.#client.list(signal)
    return objects.flatMap(({ name, bytes }) => {
      const key = parseColumnName(name)
      return key === null ? [] : [{ key, bytes }]
    })
  }

  async openRaw(key: ColumnKey, signal?: AbortSignal): Promise<RawColumn> {
    const found = await this.#client.get(columnName(key), signal)
    if (found === null) throw new ColumnMissingError(describeColumn(key), this.place)
    return found
  }

  drop(key: ColumnKey, signal?: AbortSignal): Promise<void> {
    return this.#client.remove(columnName(key), signal)
  }

  async close(): Promise<void> {
    await Promise.all([...this.#writers].map((writer) => writer.abort()))
    this.#client.close()
  }
}

type WriterParts = {
  readonly key: ColumnKey
  readonly name: string
  readonly client: S3Client
  readonly partBytes: number
  readonly signal?: AbortSignal
  onEnd(): void
}

class S3Writer implements ColumnWriter {
  readonly #parts: WriterParts
  readonly #tags: string[] = []
  /** Aborts the request in progress. */
  readonly #givingUp = new AbortController()
  readonly #signal: AbortSignal
  #buffer: Buffer
  #filled = 0
  #bytes = 0
  #upload: string | null = null
  #busy: Promise<unknown> = Promise.resolve()
  #ended: Promise<void> | null = null

  constructor(parts: WriterParts) {
    this.#parts = parts
    this.#buffer = Buffer.allocUnsafeSlow(parts.partBytes)
    const { signal } = this.#givingUp
    this.#signal = parts.signal === undefined ? signal : AbortSignal.any([signal, parts.signal])
  }

  write(chunks: readonly Uint8Array[]): Promise<void> {
    return this.#attempt(async () => {
      for (const chunk of chunks) {
        let rest = chunk
        while (rest.length > 0) {
          // oxlint-disable-next-line no-await-in-loop -- the parts are sent in order
          if (this.#filled === this.#buffer.length) await this.#sendPart()
          const taken = rest.subarray(0, this.#buffer.length - this.#filled)
          this.#buffer.set(taken, this.#filled)
          this.#filled += taken.length
          this.#bytes += taken.length
          rest = rest.subarray(taken.length)
        }
      }
    })
  }

  async finish(): Promise<number> {
    await this.#attempt(async () => {
      const { client, name } = this.#parts
      if (this.#upload === null) await client.put(name, this.#content(), this.#signal)
      else {
        await this.#sendPart()
        await client.completeUpload(name, this.#upload, this.#tags, this.#signal)
      }
    })
    await this.#end(false)
    return this.#bytes
  }

  async abort(): Promise<void> {
    this.#givingUp.abort(this.#givenUp())
    await this.#end(true)
  }

  #content(): Buffer {
    return this.#buffer.subarray(0, this.#filled)
  }

  async #sendPart(): Promise<void> {
    const { client, name } = this.#parts
    this.#upload ??= await client.startUpload(name, this.#signal)
    const number = this.#tags.length + 1
    this.#tags.push(
      await client.putPart(name, { upload: this.#upload, number, body: this.#content() }, this.#signal),
    )
    this.#filled = 0
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    const working = (async (): Promise<void> => {
      this.#signal.throwIfAborted()
      if (this.#ended !== null) throw this.#givenUp()
      await work()
    })()
    this.#busy = working.catch(() => {})
    try {
      await working
    } catch (error) {
      await this.#end(true)
      throw error
    }
  }

  #givenUp(): Error {
    const { key, client } = this.#parts
    return new ColumnStoreFailedError(`write ${describeColumn(key)}`, client.place, 'the write was given up')
  }

  #end(isGivenUp: boolean): Promise<void> {
    this.#ended ??= (async (): Promise<void> => {
      const { client, name, onEnd } = this.#parts
      await this.#busy
      this.#buffer = Buffer.alloc(0)
      // An upload that cannot be aborted now is aborted when the store is opened again.
      if (isGivenUp && this.#upload !== null) await client.abortUpload(name, this.#upload).catch(() => {})
      onEnd()
    })()
    return this.#ended
  }
}
