/**
 * Receives a body block by block. While one write is running, blocks that arrive are collected for the next. When too
 * many wait, the sender is paused.
 */
import type { Readable } from 'node:stream'
import { type BlockParser, totalLength } from './blocks.ts'

/** Bytes that may wait for the disk. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024

type Write = (chunks: readonly Uint8Array[]) => Promise<void>

/** Resolves when the body is complete, and all of it was written. Rejects when the stream is closed before. */
export function receiveBlocks(stream: Readable, parser: BlockParser, write: Write): Promise<void> {
  return new Promise((resolve, reject) => {
    let waiting: Uint8Array[] = []
    let waitingBytes = 0
    let isWriting = false
    let hasEnded = false

    const leave = (): void => {
      stream.off('data', handleData).off('end', handleEnd).off('close', handleClose)
    }
    const fail = (error: unknown): void => {
      leave()
      reject(error)
    }
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
      if (!hasEnded) return
      leave()
      resolve()
    }
    const advance = (): void => {
      if (!isWriting) writeWaiting().catch(fail)
    }
    const handleData = (chunk: Uint8Array): void => {
      try {
        const completed = parser.push(chunk)
        if (completed.length === 0) return
        waiting.push(...completed)
        waitingBytes += totalLength(completed)
        if (waitingBytes > MAX_WAITING_BYTES) stream.pause()
        advance()
      } catch (error) {
        fail(error)
      }
    }
    const handleEnd = (): void => {
      try {
        parser.end()
        hasEnded = true
        advance()
      } catch (error) {
        fail(error)
      }
    }
    // A stream that has ended may be closed while its last block is written.
    const handleClose = (): void => {
      if (!hasEnded) fail(new Error('the connection was closed'))
    }
    stream.on('data', handleData).on('end', handleEnd).on('close', handleClose)
    // Stays: a broken connection may report its error later.
    stream.on('error', fail)
    // The connection may have been lost before anyone listened: its events do not come again.
    if (stream.destroyed) handleClose()
  })
}
