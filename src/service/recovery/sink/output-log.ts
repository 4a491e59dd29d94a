/**
 * The outputs of jobs on the disk of one node: one file of records per submitted job. A record is an encoded value, and
 * counts once it is synced.
 */
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { JOB_NAME } from '../../../recovery/manager/types.ts'
import { makeFolder } from '../../runtime/index.ts'
import { decodeValue, encodeValue } from '../jobs/value.ts'
import { type DiskCalls, REAL_CALLS } from '../store/disk.ts'
import { SinkFailedError } from './errors.ts'
import { type Place, RecordFile } from './record-file.ts'
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

type LogRecord = { readonly seq: number | null; readonly token: number; readonly value: Uint8Array | null }

export type LogOptions = {
  readonly calls?: DiskCalls
  /** Records were found damaged. */
  readonly warn?: (detail: string) => void
}

/** The outputs of one submitted job. */
export class JobLog {
  readonly file: string
  readonly submission: string
  token = 0
  readonly #records: RecordFile
  readonly #warn: (detail: string) => void
  #result: Place | null = null
  readonly #outputs = new Map<number, Place>()
  /** One record after the other. */
  #queue: Promise<unknown> = Promise.resolve()

  constructor(file: string, submission: string, { calls, warn }: Required<LogOptions>) {
    this.file = file
    this.submission = submission
    this.#records = new RecordFile(file, calls)
    this.#warn = warn
  }

  get size(): number {
    return this.#outputs.size
  }

  /** Equal for equal sets of numbers: exclusive or of their checksums. */
  get numbers(): number {
    let sum = 0
    for (const seq of this.#outputs.keys()) sum ^= crc32(String(seq))
    return sum
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
    const place = this.#placeOf(seq)
    if (place === null) return null
    const content = await this.#records.read(place)
    if (content !== null) return (decodeValue(content) as LogRecord).value
    // Other nodes have it: this node fetches it again.
    if (this.#placeOf(seq) === place) {
      this.#warn(`${this.file}: the record at byte ${place.at} is damaged; it is fetched from another node`)
      if (seq === null) this.#result = null
      else this.#outputs.delete(seq)
    }
    return null
  }

  async load(): Promise<void> {
    const { damaged, cut } = await this.#records.load((content, place) =>
      this.#apply(decodeValue(content) as LogRecord, place),
    )
    if (damaged > 0)
      this.#warn(
        `${this.file}: ${damaged} records are damaged, and ${cut} bytes were cut off; they are fetched from other nodes`,
      )
  }

  accept(record: LogRecord): Promise<Acceptance> {
    const accepting = this.#queue.then(() => this.#accept(record))
    this.#queue = accepting.catch(() => {})
    return accepting
  }

  async close(): Promise<void> {
    await this.#queue
    await this.#records.close()
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
    this.#apply(record, await this.#records.append(encodeValue(record, 'output')))
  }

  #placeOf(seq: number | null): Place | null {
    return seq === null ? this.#result : (this.#outputs.get(seq) ?? null)
  }

  #apply({ seq, token, value }: LogRecord, place: Place): void {
    this.token = Math.max(this.token, token)
    if (value === null) return
    if (seq === null) this.#result = place
    else this.#outputs.set(seq, place)
  }
}

export type LogSummary = {
  readonly job: string
  readonly submission: string
  readonly token: number
  readonly outputs: number
  readonly numbers: number
  readonly hasResult: boolean
}

export class OutputLog {
  readonly place: string
  /** By job, then by submission. */
  readonly #jobs = new Map<string, Map<string, JobLog>>()

  readonly #options: Required<LogOptions>

  private constructor(place: string, options: Required<LogOptions>) {
    this.place = place
    this.#options = options
  }

  static async open(
    folder: string,
    { calls = REAL_CALLS, warn = () => {} }: LogOptions = {},
  ): Promise<OutputLog> {
    makeFolder(folder)
    const log = new OutputLog(folder, { calls, warn })
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
      [...logs.values()].map(({ submission, token, size, numbers, hasResult }) => ({
        job,
        submission,
        token,
        outputs: size,
        numbers,
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
    const log = new JobLog(join(this.place, `${job}~${submission}.log`), submission, this.#options)
    logs.set(submission, log)
    return log
  }
}
