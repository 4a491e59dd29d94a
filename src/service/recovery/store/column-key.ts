/**
 * Identifies one column of one checkpoint, and names it in files, object keys and URLs. One encoding serves all three:
 * `JOB~ASSIGNMENT~N~EPOCH~TOKEN~COLUMN~DIGEST`. Letters, digits, `-`, `_` and `.` of the job stay, other bytes become
 * `=XX`, so that no job name can leave the folder. A name decodes to exactly one key.
 *
 * The digest of the content is a part of the key. A checkpoint that failed can be tried again with another state under
 * the same id: its columns lie beside the older ones, never over them.
 */
import type { CheckpointId } from '../../../recovery/manager/types.ts'
import { InvalidColumnKeyError } from './errors.ts'

export type ColumnKey = {
  readonly id: CheckpointId
  readonly column: number
  /** Of the whole checkpoint, in hexadecimal. */
  readonly digest: string
}

/** With five numbers and a digest, a name stays below 255 bytes, the limit of most file systems. */
const MAX_JOB_CHARACTERS = 100
const MAX_COLUMNS = 256
const DIGEST_FORM = /^[0-9a-f]{32,64}$/

export function columnName(key: ColumnKey): string {
  const { id, column, digest } = key
  const job = encodeJob(id.job)
  if (job === '') throw new InvalidColumnKeyError('the job name must be a non-empty string')
  if (job.length > MAX_JOB_CHARACTERS)
    throw new InvalidColumnKeyError(
      `the job name "${id.job.slice(0, 40)}..." has ${job.length} characters when encoded; at most ${MAX_JOB_CHARACTERS} are allowed`,
    )
  const numbers = [...id.assignment, id.epoch, id.token, column]
  for (const value of numbers) {
    if (!Number.isSafeInteger(value) || value < 0)
      throw new InvalidColumnKeyError(
        `a column of job "${id.job}" has the number ${value}: it must be a non-negative integer`,
      )
  }
  if (column >= MAX_COLUMNS)
    throw new InvalidColumnKeyError(`column ${column} of job "${id.job}" must be less than ${MAX_COLUMNS}`)
  if (!DIGEST_FORM.test(digest))
    throw new InvalidColumnKeyError(
      `the digest "${digest.slice(0, 80)}" of job "${id.job}" must have 32 to 64 hexadecimal digits`,
    )
  return `${job}~${numbers.join('~')}~${digest}`
}

const NAME_FORM = /^(?<job>[\w.=-]+)~(?<numbers>\d{1,16}(?:~\d{1,16}){4})~(?<digest>[0-9a-f]+)$/

/** Null if `columnName` does not make such a name. */
export function parseColumnName(name: string): ColumnKey | null {
  const { job: encoded, numbers, digest } = NAME_FORM.exec(name)?.groups ?? {}
  if (encoded === undefined || numbers === undefined || digest === undefined) return null
  const job = decodeJob(encoded)
  if (job === null) return null
  const [view = 0, n = 0, epoch = 0, token = 0, column = 0] = numbers.split('~').map(Number)
  const key: ColumnKey = { id: { job, assignment: [view, n], epoch, token }, column, digest }
  // Leading zeros, needless escapes and numbers out of range are not names of this store.
  try {
    return columnName(key) === name ? key : null
  } catch {
    return null
  }
}

/** All columns of the checkpoint have this name in common. */
export function checkpointName({ id, digest }: Pick<ColumnKey, 'id' | 'digest'>): string {
  return [encodeJob(id.job), ...id.assignment, id.epoch, id.token, digest].join('~')
}

/** A leading dot is escaped as well: it marks files that are still being written. */
function encodeJob(job: string): string {
  return Array.from(new TextEncoder().encode(job), (byte, at) => {
    const char = String.fromCodePoint(byte)
    const stays = at === 0 ? /[\w-]/ : /[\w.-]/
    return stays.test(char) ? char : `=${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }).join('')
}

function decodeJob(encoded: string): string | null {
  const bytes: number[] = []
  for (let at = 0; at < encoded.length; at++) {
    if (encoded[at] === '=') {
      const digits = /^[0-9A-F]{2}$/.exec(encoded.slice(at + 1, at + 3))?.[0]
      if (digits === undefined) return null
      bytes.push(Number.parseInt(digits, 16))
      at += 2
    } else bytes.push(encoded.codePointAt(at) as number)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(new Uint8Array(bytes))
  } catch {
    return null
  }
}

/** For messages. */
export function describeColumn({ id, column }: Pick<ColumnKey, 'id' | 'column'>): string {
  return `column ${column} of job "${id.job}" (assignment ${id.assignment.join('.')}, epoch ${id.epoch}, token ${id.token})`
}

/** For messages. */
export function describeCheckpoint(id: CheckpointId): string {
  return `checkpoint ${id.epoch} of job "${id.job}" (assignment ${id.assignment.join('.')}, token ${id.token})`
}
