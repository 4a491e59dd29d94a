/** Lines out of a stream, until it ends, however it ends: whoever must know of that listens to the stream itself. */
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

export function linesOf(input: Readable, onLine: (line: string) => void): void {
  // The reader of lines has an error of its own for each of the stream's, and nobody to hear it.
  createInterface({ input })
    .on('line', onLine)
    .on('error', () => {})
}
