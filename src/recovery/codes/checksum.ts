/**
 * Checksums of columns. CRC-32C is the default. CRC-32 has the same values as `crc32` of zlib, so a caller on Node.js may
 * pass that faster function instead of the one here. README.md compares their speed and what they detect.
 */

export type ChecksumName = 'crc32c' | 'crc32'

/**
 * The checksum of the bytes, after those whose checksum is `previous`: as `crc32` of zlib. An unsigned 32-bit number.
 * Called with at least one byte: zlib ignores `previous` for an empty array.
 */
export type ComputeChecksum = (bytes: Uint8Array, previous?: number) => number

export type Checksums = { readonly [name in ChecksumName]: ComputeChecksum }

/** The polynomials, bits reversed. */
const POLYNOMIALS = { crc32c: 0x82f63b78, crc32: 0xedb88320 } as const

const SLICES = 16
const VALUES = 256
const WORDS_PER_STEP = SLICES / 4
/** Words are read in the processor's byte order; the tables are for little-endian. */
const IS_LITTLE_ENDIAN = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1

export const CHECKSUMS: Checksums = {
  crc32c: createCrc(POLYNOMIALS.crc32c),
  crc32: createCrc(POLYNOMIALS.crc32),
}

function createCrc(polynomial: number): ComputeChecksum {
  // Created at first use: a program that never checks a column does not pay for 16 KiB of tables.
  let tables: Int32Array | null = null
  return (bytes, previous = 0) => {
    tables ??= createTables(polynomial)
    let crc = ~previous
    const toAligned = Math.min((4 - (bytes.byteOffset % 4)) % 4, bytes.length)
    const words = IS_LITTLE_ENDIAN ? Math.floor((bytes.length - toAligned) / SLICES) * WORDS_PER_STEP : 0
    crc = addBytes(tables, bytes.subarray(0, toAligned), crc)
    if (words > 0)
      crc = addWords(tables, new Int32Array(bytes.buffer, bytes.byteOffset + toAligned, words), crc)
    crc = addBytes(tables, bytes.subarray(toAligned + 4 * words), crc)
    return ~crc >>> 0
  }
}

/** Table s: the effect of a byte that s further bytes follow. Slicing-by-16, after M. Kounavis and F. Berry, 2005. */
function createTables(polynomial: number): Int32Array {
  const tables = new Int32Array(SLICES * VALUES)
  for (let value = 0; value < VALUES; value++) {
    let crc = value
    for (let bit = 0; bit < 8; bit++) crc = (crc & 1) === 1 ? (crc >>> 1) ^ polynomial : crc >>> 1
    tables[value] = crc
  }
  for (let index = VALUES; index < tables.length; index++) {
    const crc = tables[index - VALUES] as number
    tables[index] = (crc >>> 8) ^ (tables[crc & 255] as number)
  }
  return tables
}

function addBytes(tables: Int32Array, bytes: Uint8Array, start: number): number {
  let crc = start
  for (let i = 0; i < bytes.length; i++)
    crc = (crc >>> 8) ^ (tables[(crc ^ (bytes[i] as number)) & 255] as number)
  return crc
}

function addWords(t: Int32Array, words: Int32Array, start: number): number {
  let crc = start
  for (let i = 0; i < words.length; i += WORDS_PER_STEP) {
    const a = (words[i] as number) ^ crc
    const b = words[i + 1] as number
    const c = words[i + 2] as number
    const d = words[i + 3] as number
    crc =
      (t[3840 + (a & 255)] as number) ^
      (t[3584 + ((a >>> 8) & 255)] as number) ^
      (t[3328 + ((a >>> 16) & 255)] as number) ^
      (t[3072 + (a >>> 24)] as number) ^
      (t[2816 + (b & 255)] as number) ^
      (t[2560 + ((b >>> 8) & 255)] as number) ^
      (t[2304 + ((b >>> 16) & 255)] as number) ^
      (t[2048 + (b >>> 24)] as number) ^
      (t[1792 + (c & 255)] as number) ^
      (t[1536 + ((c >>> 8) & 255)] as number) ^
      (t[1280 + ((c >>> 16) & 255)] as number) ^
      (t[1024 + (c >>> 24)] as number) ^
      (t[768 + (d & 255)] as number) ^
      (t[512 + ((d >>> 8) & 255)] as number) ^
      (t[256 + ((d >>> 16) & 255)] as number) ^
      (t[d >>> 24] as number)
  }
  return crc
}
