/**
 * A file to which records are appended.
 *
 *   record   4 bytes: length of the content; 4 bytes: CRC-32 of the content; the content
 *
 * A record counts once it is synced. A crash may leave the last record of a file incomplete: loading cuts it off.
 */
import { type FileHandle, open, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { crc32 } from 'node:zlib'
import type { DiskCalls } from '../store/disk.ts'
import { syncFolder } from '../store/spare-files.ts'

/** Where the content of a record is. */
export type Place = { readonly at: number; readonly length: number }

/** `damaged`: complete records that are skipped, or cut off together with others. `cut`: bytes that are cut off. */
export type Losses = { readonly damaged: number; readonly cut: number }

const PREFIX_BYTES = 8

export class RecordFile {
  readonly path: string
  readonly #calls: DiskCalls
  #writer: Promise<FileHandle> | null = null
  #reader: Promise<FileHandle> | null = null
  /** Up to the end of the last record that counts. */
  #size = 0
  /** Bytes of a failed record may follow. */
  #isTorn = false

  constructor(path: string, calls: DiskCalls) {
    this.path = path
    this.#calls = calls
  }

  async load(apply: (content: Buffer, place: Place) => void): Promise<Losses> {
    const bytes = await readFile(this.path)
    let at = 0
    let unusable = 0
    let skipped = 0
    while (at + PREFIX_BYTES <= bytes.length) {
      const length = bytes.readUInt32LE(at)
      const start = at + PREFIX_BYTES
      // A power failure may leave zeros behind: no record is empty.
      if (length === 0 || start + length > bytes.length) break
      const content = bytes.subarray(start, start + length)
      at = start + length
      if (bytes.readUInt32LE(start - 4) === crc32(content)) {
        apply(content, { at: start, length })
        skipped += unusable
        unusable = 0
        this.#size = at
      } else unusable += 1
    }
    const cut = bytes.length - this.#size
    if (cut > 0) await this.#truncate()
    // One unusable record at the end is what a crash leaves behind.
    return { damaged: skipped + (unusable > 1 ? unusable : 0), cut }
  }

  /** One call at a time. If it rejects, the file is as before. */
  async append(content: Uint8Array): Promise<Place> {
    const prefix = Buffer.alloc(PREFIX_BYTES)
    prefix.writeUInt32LE(content.length)
    prefix.writeUInt32LE(crc32(content), 4)
    const file = await this.#openWriter()
    // Without this, what follows a torn record would be lost with it.
    if (this.#isTorn) await this.#truncate()
    const size = PREFIX_BYTES + content.length
    this.#isTorn = true
    try {
      const written = await this.#calls.write(file, [prefix, content])
      // A disk that fills up in the middle of a call accepts a part of it.
      if (written !== size) {
        const problem = `ENOSPC: only ${written} of ${size} bytes were written`
        throw Object.assign(new Error(problem), { code: 'ENOSPC' })
      }
      await this.#calls.sync(file)
    } catch (error) {
      await this.#truncate().catch(() => {})
      throw error
    }
    this.#isTorn = false
    const at = this.#size + PREFIX_BYTES
    this.#size += size
    return { at, length: content.length }
  }

  /** Null if the record is damaged. */
  async read({ at, length }: Place): Promise<Buffer | null> {
    const file = await this.#openReader()
    const record = Buffer.alloc(PREFIX_BYTES + length)
    const { bytesRead } = await file.read(record, 0, record.length, at - PREFIX_BYTES)
    const content = record.subarray(PREFIX_BYTES)
    const isIntact =
      bytesRead === record.length &&
      record.readUInt32LE(0) === length &&
      record.readUInt32LE(4) === crc32(content)
    return isIntact ? content : null
  }

  async close(): Promise<void> {
    const handles = [this.#writer, this.#reader]
    this.#writer = null
    this.#reader = null
    await Promise.all(handles.map(async (opening) => (await opening?.catch(() => null))?.close()))
  }

  async #truncate(): Promise<void> {
    const file = await open(this.path, 'r+')
    try {
      await file.truncate(this.#size)
      this.#isTorn = false
    } finally {
      await file.close()
    }
  }

  #openWriter(): Promise<FileHandle> {
    const opening = this.#writer ?? this.#create()
    this.#writer = opening
    opening.catch(() => {
      if (this.#writer === opening) this.#writer = null
    })
    return opening
  }

  /** Its name must survive a power failure, too. */
  async #create(): Promise<FileHandle> {
    const file = await open(this.path, 'a', 0o600)
    try {
      if (this.#size === 0) await syncFolder(dirname(this.path))
      return file
    } catch (error) {
      await file.close()
      throw error
    }
  }

  /** Calls at the same time share one handle. */
  #openReader(): Promise<FileHandle> {
    const opening = this.#reader ?? open(this.path, 'r')
    this.#reader = opening
    opening.catch(() => {
      if (this.#reader === opening) this.#reader = null
    })
    return opening
  }
}
