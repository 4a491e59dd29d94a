/**
 * The outputs of jobs on the disk of one node: one file per submitted job, to which records are appended.
 *
 *   record   4 bytes: length of the content; 4 bytes: CRC-32 of the content; the content, an encoded value
 *
 * A record counts once it is synced. A crash may leave the last record of a file incomplete: opening cuts it off.
 */
import { type FileHandle, open, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { JOB_NAME } from '../../../recovery/manager/types.ts'
import { makeFolder } from '../../runtime/index.ts'
import { decodeValue, encodeValue } from '../jobs/value.ts'
import { SinkFailedError } from './errors.ts'
import type { Acceptance } from './sink.ts'
import { SUBMISSION_FORM } from './submission.ts'

/** `value` is encoded. The result of a job has no number. */
export type LogEntry = {
  readonly job: string
  readonly submission: string
  readonly seq: number | null
  readonly token: number
  readonly value: Uint8Array
}

/** Where a record is in its file. */
type Place = { readonly at: number; readonly length: number }

type LogRecord = { readonly seq: number | null; readonly token: number; readonly value: Uint8Array | null }

const PREFIX_BYTES = 8

/** The outputs of one submitted job. */
class JobLog {
  readonly file: string
  readonly submission: string
  token = 0
  #result: Place | null = null
  readonly #outputs = new Map<number, Place>()
  #handle: FileHandle | null = null
  /** One record after the other. */
  #queue: Promise<unknown> = Promise.resolve()

  constructor(file: string, submission: string) {
    this.file = file
    this.submission = submission
  }

  get size(): number {
    return this.#outputs.size
  }

  get hasResult(): boolean {
    return this.#result !== null
  }

  get seqs(): readonly number[] {
    return [...this.#outputs.keys()]
  }

  has(seq: number): boolean {
    return this.#outputs.has(seq)
  }

  /** The output of this number; with null, the result. Null if it is not there. */
  async read(seq: number | null): Promise<Uint8Array | null> {
    const place = seq === null ? this.#result : this.#outputs.get(seq)
    if (place === undefined || place === null) return null
    this.#handle ??= await open(this.file, 'a+', 0o600)
    const content = Buffer.allocUnsafe(place.length)
    await this.#handle.read(content, 0, place.length, place.at)
    return (decodeValue(content) as LogRecord).value
  }

  async load(): Promise<void> {
    const bytes = await readFile(this.file)
    let at = 0
    while (at + PREFIX_BYTES <= bytes.length) {
      const length = bytes.readUInt32LE(at)
      const end = at + PREFIX_BYTES + length
      const content = bytes.subarray(at + PREFIX_BYTES, end)
      if (end > bytes.length || bytes.readUInt32LE(at + 4) !== crc32(content)) break
      this.#apply(decodeValue(content) as LogRecord, { at: at + PREFIX_BYTES, length })
      at = end
    }
    if (at < bytes.length) {
      const handle = await open(this.file, 'r+')
      await handle.truncate(at)
      await handle.close()
    }
  }

  accept(record: LogRecord): Promise<Acceptance> {
    const accepting = this.#queue.then(() => this.#accept(record))
    this.#queue = accepting.catch(() => {})
    return accepting
  }

  async #accept(record: LogRecord): Promise<Acceptance> {
    const { seq, token } = record
    if (token < this.token) return 'fenced'
    const isKnown = seq === null ? this.hasResult : this.has(seq)
    if (!isKnown) await this.#append(record)
    // A run that repeats outputs fences the earlier run, too.
    else if (token > this.token) await this.#append({ seq: null, token, value: null })
    return isKnown ? 'duplicate' : 'accepted'
  }

  async #append(record: LogRecord): Promise<void> {
    const content = encodeValue(record, 'output')
    const prefix = Buffer.alloc(PREFIX_BYTES)
    prefix.writeUInt32LE(content.length)
    prefix.writeUInt32LE(crc32(content), 4)
    this.#handle ??= await open(this.file, 'a+', 0o600)
    const { size } = await this.#handle.stat()
    try {
      await this.#handle.writev([prefix, content])
      await this.#handle.datasync()
    } catch (error) {
      // Without this, what follows a torn record would be lost with it.
      await this.#handle.truncate(size).catch(() => {})
      throw error
    }
    this.#apply(record, { at: size + PREFIX_BYTES, length: content.length })
  }

  #apply({ seq, token, value }: LogRecord, place: Place): void {
    this.token = Math.max(this.token, token)
    if (value === null) return
    if (seq === null) this.#result = place
    else this.#outputs.set(seq, place)
  }

  async close(): Promise<void> {
    await this.#queue
    await this.#handle?.close()
    this.#handle = null
  }
}

export type LogSummary = {
  readonly job: string
  readonly submission: string
  readonly token: number
  readonly outputs: number
  readonly hasResult: boolean
}

export class OutputLog {
  readonly place: string
  /** By job, then by submission. */
  readonly #jobs = new Map<string, Map<string, JobLog>>()

  private constructor(place: string) {
    this.place = place
  }

  static async open(folder: string): Promise<OutputLog> {
    makeFolder(folder)
    const log = new OutputLog(folder)
    for (const name of await readdir(folder)) {
      const [job = '', submission = ''] = name.replace(/\.log$/, '').split('~')
      if (!name.endsWith('.log') || !JOB_NAME.test(job) || !SUBMISSION_FORM.test(submission)) continue
      // oxlint-disable-next-line no-await-in-loop -- one file at a time bounds the memory of the start
      await log.#logOf(job, submission).load()
    }
    return log
  }

  async accept({ job, submission, seq, token, value }: LogEntry): Promise<Acceptance> {
    const logs = this.#jobs.get(job)
    // Another job has taken the name.
    if (logs !== undefined && [...logs.keys()].some((other) => other > submission)) return 'fenced'
    try {
      const acceptance = await this.#logOf(job, submission).accept({ seq, token, value })
      for (const log of this.#jobs.get(job)?.values() ?? [])
        if (log.submission < submission) this.#drop(job, log).catch(() => {})
      return acceptance
    } catch (error) {
      throw new SinkFailedError(this.place, error)
    }
  }

  /** Deletes the outputs of a job that the group has forgotten. */
  async forget(job: string): Promise<void> {
    await Promise.all([...(this.#jobs.get(job)?.values() ?? [])].map((log) => this.#drop(job, log)))
  }

  async #drop(job: string, log: JobLog): Promise<void> {
    this.#jobs.get(job)?.delete(log.submission)
    await log.close()
    await rm(log.file, { force: true })
  }

  find(job: string, submission: string): JobLog | null {
    return this.#jobs.get(job)?.get(submission) ?? null
  }

  summaries(): readonly LogSummary[] {
    return [...this.#jobs].flatMap(([job, logs]) =>
      [...logs.values()].map(({ submission, token, size, hasResult }) => ({
        job,
        submission,
        token,
        outputs: size,
        hasResult,
      })),
    )
  }

  async close(): Promise<void> {
    await Promise.all(
      [...this.#jobs.values()].flatMap((logs) => [...logs.values()].map((log) => log.close())),
    )
  }

  #logOf(job: string, submission: string): JobLog {
    const logs = this.#jobs.get(job) ?? new Map<string, JobLog>()
    this.#jobs.set(job, logs)
    const known = logs.get(submission)
    if (known !== undefined) return known
    const log = new JobLog(join(this.place, `${job}~${submission}.log`), submission)
    logs.set(submission, log)
    return log
  }
}
