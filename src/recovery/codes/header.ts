/**
 * The header of a stored column. README.md describes it byte by byte.
 *
 * An erasure code corrects lost columns, not wrong ones. So the header names what the column belongs to, and checksums
 * find columns that must count as lost. Numbers are big-endian.
 */
import { CHECKSUMS, type ChecksumName, type Checksums } from './checksum.ts'
import { type CodeName, type ErasureCode, InvalidCodeInputError, MOST_COLUMNS } from './code.ts'
import { createEvenOdd, primeFor } from './evenodd.ts'
import { ALIGNMENT, MOST_STRIPE_SIZE, MOST_STRIPES, planLayout, roundUp, stripeUnit } from './layout.ts'
import { createReedSolomon } from './reed-solomon.ts'
import { decodeUtf8, encodeUtf8 } from './utf8.ts'

/** Which checkpoint a column belongs to. */
export type ColumnOwner = {
  readonly job: string
  readonly epoch: number
  /** The number of the view in which it was written; later views have larger numbers. */
  readonly view: number
}

export type ColumnHeader = ColumnOwner & {
  readonly code: CodeName
  readonly checksum: ChecksumName
  readonly columns: number
  readonly dataColumns: number
  readonly column: number
  readonly payloadLength: number
  readonly stripeSize: number
}

/** A header as read: also what follows from it. */
export type DecodedHeader = ColumnHeader & {
  /** The bytes of the header itself. The frames follow. */
  readonly headerLength: number
  /** The length of the whole column, with the header. */
  readonly totalLength: number
  /** Part of the checksum of every frame, so that a frame of another column or checkpoint is not accepted. */
  readonly headerChecksum: number
}

/** A stored column is not what it should be. `field` names the first thing that is wrong. */
export class InvalidColumnError extends Error {
  override readonly name = 'InvalidColumnError'
  readonly field: string

  constructor(field: string, problem: string) {
    super(`${field}: ${problem}`)
    this.field = field
  }
}

export const COLUMN_VERSION = 1
export const MOST_JOB_BYTES = 255

/** "CCOLUMN" and a line feed. */
const MAGIC = [0x43, 0x43, 0x4f, 0x4c, 0x55, 0x4d, 0x4e, 0x0a]
const FIXED_BYTES = 64
const CHECKSUM_BYTES = 4
/** Read this many bytes of a column, or all of it if it is shorter, to decode its header. */
export const MOST_HEADER_BYTES = headerLengthFor(MOST_JOB_BYTES)

const CODES: readonly CodeName[] = ['evenodd', 'reed-solomon']
const CHECKSUM_NAMES: readonly ChecksumName[] = ['crc32c', 'crc32']

/** Where each field starts. */
const AT = {
  version: 8,
  headerLength: 10,
  code: 12,
  checksum: 13,
  columns: 14,
  dataColumns: 16,
  prime: 18,
  column: 20,
  jobLength: 22,
  epoch: 24,
  view: 32,
  payloadLength: 40,
  totalLength: 48,
  stripeSize: 56,
  reserved: 60,
} as const

/** The code that a header names. */
export function createCode(header: Pick<ColumnHeader, 'code' | 'columns' | 'dataColumns'>): ErasureCode {
  if (header.code === 'reed-solomon') return createReedSolomon(header.columns, header.dataColumns)
  const code = createEvenOdd(header.columns)
  if (code.dataColumns !== header.dataColumns)
    throw new InvalidCodeInputError(
      `EVENODD with ${header.columns} columns has ${code.dataColumns} data columns`,
    )
  return code
}

export function encodeHeader(header: ColumnHeader, checksums: Checksums = CHECKSUMS): Uint8Array {
  const job = encodeUtf8(header.job)
  if (job === null) throw new InvalidColumnError('job', 'must be a string without unpaired surrogates')
  const headerLength = headerLengthFor(job.length)
  checkFields(header, job.length)
  const bytes = new Uint8Array(headerLength)
  const view = new DataView(bytes.buffer)
  bytes.set(MAGIC)
  view.setUint16(AT.version, COLUMN_VERSION)
  view.setUint16(AT.headerLength, headerLength)
  view.setUint8(AT.code, 1 + CODES.indexOf(header.code))
  view.setUint8(AT.checksum, 1 + CHECKSUM_NAMES.indexOf(header.checksum))
  view.setUint16(AT.columns, header.columns)
  view.setUint16(AT.dataColumns, header.dataColumns)
  view.setUint16(AT.prime, primeOf(header))
  view.setUint16(AT.column, header.column)
  view.setUint16(AT.jobLength, job.length)
  view.setBigUint64(AT.epoch, BigInt(header.epoch))
  view.setBigUint64(AT.view, BigInt(header.view))
  view.setBigUint64(AT.payloadLength, BigInt(header.payloadLength))
  view.setBigUint64(AT.totalLength, BigInt(totalLengthOf(header, headerLength)))
  view.setUint32(AT.stripeSize, header.stripeSize)
  bytes.set(job, FIXED_BYTES)
  const checked = bytes.subarray(0, headerLength - CHECKSUM_BYTES)
  view.setUint32(headerLength - CHECKSUM_BYTES, checksums[header.checksum](checked))
  return bytes
}

/** Decodes the header at the start of a column; bytes after it are ignored. Throws an InvalidColumnError. */
export function decodeHeader(bytes: Uint8Array, checksums: Checksums = CHECKSUMS): DecodedHeader {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const headerLength = checkStart(bytes, view)
  const checksum = nameOf(CHECKSUM_NAMES, view.getUint8(AT.checksum), 'checksum')
  const headerChecksum = view.getUint32(headerLength - CHECKSUM_BYTES)
  const computed = checksums[checksum](bytes.subarray(0, headerLength - CHECKSUM_BYTES))
  if (computed !== headerChecksum)
    throw new InvalidColumnError('header checksum', `is ${hex(headerChecksum)}, computed ${hex(computed)}`)
  const jobLength = view.getUint16(AT.jobLength)
  if (headerLengthFor(jobLength) !== headerLength)
    throw new InvalidColumnError('header length', `${headerLength} does not fit a job of ${jobLength} bytes`)
  const isZero = (from: number, to: number): boolean => bytes.subarray(from, to).every((byte) => byte === 0)
  if (!isZero(AT.reserved, FIXED_BYTES)) throw new InvalidColumnError('reserved', 'must be zero')
  if (!isZero(FIXED_BYTES + jobLength, headerLength - CHECKSUM_BYTES))
    throw new InvalidColumnError('padding', 'must be zero')
  const job = decodeUtf8(bytes.subarray(FIXED_BYTES, FIXED_BYTES + jobLength))
  if (job === null) throw new InvalidColumnError('job', 'must be valid UTF-8')
  const header: ColumnHeader = {
    code: nameOf(CODES, view.getUint8(AT.code), 'code'),
    checksum,
    columns: view.getUint16(AT.columns),
    dataColumns: view.getUint16(AT.dataColumns),
    column: view.getUint16(AT.column),
    job,
    epoch: Number(view.getBigUint64(AT.epoch)),
    view: Number(view.getBigUint64(AT.view)),
    payloadLength: Number(view.getBigUint64(AT.payloadLength)),
    stripeSize: view.getUint32(AT.stripeSize),
  }
  checkFields(header, jobLength)
  const prime = view.getUint16(AT.prime)
  if (prime !== primeOf(header))
    throw new InvalidColumnError('prime', `is ${prime}, must be ${primeOf(header)} for this code`)
  const totalLength = totalLengthOf(header, headerLength)
  const stored = view.getBigUint64(AT.totalLength)
  if (stored !== BigInt(totalLength))
    throw new InvalidColumnError('total length', `is ${stored}, must be ${totalLength} for this payload`)
  return { ...header, headerLength, totalLength, headerChecksum }
}

/** Checks what must be right before the rest can be read. Returns the length of the header. */
function checkStart(bytes: Uint8Array, view: DataView): number {
  if (MAGIC.some((byte, index) => bytes[index] !== byte && index < bytes.length))
    throw new InvalidColumnError('magic', 'this is not a stored column')
  if (bytes.length < FIXED_BYTES)
    throw new InvalidColumnError(
      'header',
      `truncated: ${bytes.length} bytes, at least ${FIXED_BYTES} expected`,
    )
  const version = view.getUint16(AT.version)
  if (version !== COLUMN_VERSION)
    throw new InvalidColumnError('version', `is ${version}; this program reads version ${COLUMN_VERSION}`)
  const length = view.getUint16(AT.headerLength)
  if (length < headerLengthFor(1) || length > MOST_HEADER_BYTES || length % ALIGNMENT !== 0)
    throw new InvalidColumnError('header length', `${length} is out of bounds`)
  if (bytes.length < length)
    throw new InvalidColumnError('header', `truncated: ${bytes.length} bytes, ${length} expected`)
  return length
}

/** The same bounds when a header is written and when it is read. */
function checkFields(header: ColumnHeader, jobLength: number): void {
  const { columns, dataColumns, column, payloadLength, stripeSize } = header
  const check = (field: string, value: number, least: number, most: number): void => {
    if (!(Number.isInteger(value) && value >= least && value <= most))
      throw new InvalidColumnError(field, `${value} must be a whole number from ${least} to ${most}`)
  }
  check('job length', jobLength, 1, MOST_JOB_BYTES)
  check('columns', columns, header.code === 'evenodd' ? 3 : 1, MOST_COLUMNS)
  const [least, most] = header.code === 'evenodd' ? [columns - 2, columns - 2] : [1, columns]
  check('data columns', dataColumns, least, most)
  check('column', column, 0, columns - 1)
  check('epoch', header.epoch, 0, Number.MAX_SAFE_INTEGER)
  check('view', header.view, 0, Number.MAX_SAFE_INTEGER)
  const unit = stripeUnitOf(header)
  check('stripe size', stripeSize, unit, MOST_STRIPE_SIZE)
  if (stripeSize % unit !== 0)
    throw new InvalidColumnError('stripe size', `${stripeSize} must be a multiple of ${unit}`)
  const mostPayload = Math.min(Number.MAX_SAFE_INTEGER, MOST_STRIPES * dataColumns * stripeSize)
  check('payload length', payloadLength, 0, mostPayload)
}

function headerLengthFor(jobBytes: number): number {
  return roundUp(FIXED_BYTES + jobBytes + CHECKSUM_BYTES, ALIGNMENT)
}

/** 0 for a code without a prime. */
function primeOf({ code, columns }: ColumnHeader): number {
  return code === 'evenodd' ? primeFor(columns) : 0
}

function stripeUnitOf(header: ColumnHeader): number {
  return stripeUnit({ rows: header.code === 'evenodd' ? primeOf(header) - 1 : 1 })
}

function totalLengthOf(header: ColumnHeader, headerLength: number): number {
  const shape = { rows: stripeUnitOf(header) / ALIGNMENT, dataColumns: header.dataColumns }
  const layout = planLayout(shape, header.payloadLength, header.stripeSize)
  return headerLength + layout.frameStart(layout.stripes)
}

function nameOf<Name>(names: readonly Name[], number: number, field: string): Name {
  const name = names[number - 1]
  if (name === undefined) throw new InvalidColumnError(field, `number ${number} is unknown`)
  return name
}

function hex(value: number): string {
  return value.toString(16).padStart(8, '0')
}
