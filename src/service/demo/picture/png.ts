/** Encodes a picture as PNG (RFC 2083): 8 bits per channel, red, green and blue. */
import { crc32, deflateSync } from 'node:zlib'
import { BYTES_PER_PIXEL } from './mandelbrot.ts'

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const BIT_DEPTH = 8
const TRUE_COLOUR = 2
/** The filter byte before each row: the bytes are stored as they are. */
const NO_FILTER = 0

/** `pixels`: red, green and blue of each pixel, row by row. */
export function encodePng(width: number, height: number, pixels: Uint8Array): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header[8] = BIT_DEPTH
  header[9] = TRUE_COLOUR
  const stride = width * BYTES_PER_PIXEL
  const rows = Buffer.alloc((stride + 1) * height)
  for (let row = 0; row < height; row++) {
    const at = row * (stride + 1)
    rows[at] = NO_FILTER
    rows.set(pixels.subarray(row * stride, (row + 1) * stride), at + 1)
  }
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

/** Length, type, content, and the checksum of type and content. */
function chunk(type: string, content: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), content])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(content.length)
  const checksum = Buffer.alloc(4)
  checksum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, checksum])
}
