/** Calls `onLine` for each line of a stream until it ends or fails. Listen to the stream itself to learn about its end. */
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

export function readLines(input: Readable, onLine: (line: string) => void): void {
  // readline repeats each error of the stream; without a listener it would crash the process.
  createInterface({ input })
    .on('line', onLine)
    .on('error', () => {})
}
