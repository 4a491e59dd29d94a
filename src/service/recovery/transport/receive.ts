/**
 * Receives a body block by block. While one write is running, blocks that arrive are collected for the next. When too
 * many wait, the sender is paused.
 */
import type { Readable } from 'node:stream'
import { type BlockParser, totalLength } from './blocks.ts'

/** Bytes that may wait for the disk. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024

/** Resolves when the body is complete, and all of it was written. */
export async function receiveBlocks(
  stream: Readable,
  parser: BlockParser,
  write: (chunks: readonly Uint8Array[]) => Promise<void>,
): Promise<void> {
  const listeners: [string, (...args: never[]) => void][] = []
  const listen = (event: string, listener: (...args: never[]) => void): void => {
    listeners.push([event, listener])
    stream.on(event, listener as () => void)
  }
  let waiting: Uint8Array[] = []
  let waitingBytes = 0
  let isWriting = false
  let hasEnded = false
  try {
    await new Promise<void>((resolve, reject) => {
      const writeWaiting = async (): Promise<void> => {
        isWriting = true
        while (waiting.length > 0) {
          const chunks = waiting
          waiting = []
          waitingBytes = 0
          // oxlint-disable-next-line no-await-in-loop -- in order
          await write(chunks)
          stream.resume()
        }
        isWriting = false
        if (hasEnded) resolve()
      }
      const advance = (): void => {
        if (!isWriting) writeWaiting().catch(reject)
      }
      listen('data', (chunk: Uint8Array) => {
        try {
          const completed = parser.push(chunk)
          if (completed.length === 0) return
          waiting.push(...completed)
          waitingBytes += totalLength(completed)
          if (waitingBytes > MAX_WAITING_BYTES) stream.pause()
          advance()
        } catch (error) {
          reject(error as Error)
        }
      })
      listen('end', () => {
        try {
          parser.end()
          hasEnded = true
          advance()
        } catch (error) {
          reject(error as Error)
        }
      })
      listen('error', reject)
      // A stream that has ended may be closed while its last block is written.
      listen('close', () => hasEnded || reject(new Error('the connection was closed')))
    })
  } finally {
    for (const [event, listener] of listeners) stream.off(event, listener as () => void)
  }
}
