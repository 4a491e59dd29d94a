/**
 * Fetches an offered column over a raw connection into slabs (slabs.ts). The request and the head of the reply are
 * HTTP/1.1, so the other end is an ordinary HTTP server. The server's reply has a length and is the last on its connection.
 */
import { connect, type Socket } from 'node:net'
import type { BlockParser } from './blocks.ts'
import { BlockReceiver, type WriteChunks } from './receive.ts'
import { type SlabPool, SlabQueue } from './slabs.ts'

export type FetchParts = {
  readonly address: { readonly host: string; readonly port: number }
  readonly path: string
  readonly headers: { readonly [name: string]: string }
  readonly pool: SlabPool
  /** Nothing moves for this time: the connection is closed. */
  readonly idleMs: number
  /** Throws unless the headers prove that the other node has the group's key. */
  checkHead(headers: { readonly [name: string]: string }): void
  createParser(): BlockParser
}

const MAX_HEAD_BYTES = 8192
/** The holder waits for the body of the request if it cannot connect. */
const CONNECT_MS = 1000
const HEAD_FORM = /^HTTP\/1\.1 200 [^\r\n]*\r\n(?<lines>[\s\S]*)\r\n\r\n$/

/** Unless it is `fetched`, nothing was written. A node that replied is not `unreachable`. */
export type FetchOutcome = 'fetched' | 'refused' | 'unreachable'

/** Resolves to `fetched` when all blocks have arrived and were written. Rejects if the transfer breaks off. */
export function fetchBlocks(
  parts: FetchParts,
  write: WriteChunks,
  signal: AbortSignal,
): Promise<FetchOutcome> {
  return new BlockFetch(parts, write).run(signal)
}

class BlockFetch {
  readonly #parts: FetchParts
  readonly #slabs: SlabQueue
  readonly #parser: BlockParser
  readonly #receiver: BlockReceiver
  readonly #socket: Socket
  #head: Buffer | null = Buffer.alloc(0)
  #hasReply = false
  #isPaused = false

  constructor(parts: FetchParts, write: WriteChunks) {
    this.#parts = parts
    this.#slabs = new SlabQueue(parts.pool)
    this.#parser = parts.createParser()
    const writeAndRelease: WriteChunks = async (chunks) => {
      await write(chunks)
      this.#slabs.releaseBefore(chunks.at(-1) as Uint8Array)
    }
    this.#receiver = new BlockReceiver(this.#parser, writeAndRelease, {
      pause: () => {
        this.#isPaused = true
      },
      resume: () => {
        this.#isPaused = false
        this.#socket.resume()
      },
    })
    this.#socket = connect({
      ...parts.address,
      noDelay: true,
      onread: { buffer: () => this.#slabs.next(), callback: (length) => this.#read(length) },
    })
  }

  async run(signal: AbortSignal): Promise<FetchOutcome> {
    const { path, headers, address, idleMs } = this.#parts
    const socket = this.#socket
    const receiver = this.#receiver
    const abort = (): void => void socket.destroy(signal.reason as Error)
    signal.addEventListener('abort', abort)
    if (signal.aborted) abort()
    const lines = Object.entries({ host: `${address.host}:${address.port}`, ...headers })
    socket.once('connect', () => {
      socket.setTimeout(idleMs)
      socket.write(
        `GET ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`,
      )
    })
    socket.setTimeout(Math.min(CONNECT_MS, idleMs), () =>
      socket.destroy(new Error(`nothing moved for ${socket.timeout} ms`)),
    )
    socket.on('error', (error) => receiver.fail(error)).on('close', () => receiver.handleClose())
    try {
      await receiver.done
      this.#slabs.close()
      return 'fetched'
    } catch (error) {
      if (this.#head !== null && !signal.aborted) return this.#hasReply ? 'refused' : 'unreachable'
      // A write may still use the slabs: they are left to the garbage collector.
      throw error
    } finally {
      signal.removeEventListener('abort', abort)
      socket.destroy()
    }
  }

  /** False stops the reading. */
  #read(length: number): boolean {
    this.#hasReply = true
    const bytes = this.#slabs.fill(length)
    const body = this.#head === null ? bytes : this.#readHead(this.#head, bytes)
    if (body.length > 0) this.#receiver.push(body)
    if (this.#parser.isComplete) this.#receiver.end()
    return !this.#isPaused
  }

  /** Returns what follows the head. */
  #readHead(before: Buffer, bytes: Uint8Array): Uint8Array {
    const all = Buffer.concat([before, bytes.subarray(0, MAX_HEAD_BYTES)])
    const end = all.indexOf('\r\n\r\n')
    try {
      if (end === -1 && all.length >= MAX_HEAD_BYTES) throw new Error('the head of the reply is too long')
      if (end === -1) {
        this.#head = all
        return bytes.subarray(bytes.length)
      }
      const length = end + 4
      this.#parts.checkHead(parseHead(all.toString('latin1', 0, length)))
      this.#head = null
      return bytes.subarray(length - before.length)
    } catch (error) {
      this.#receiver.fail(error)
      return bytes.subarray(bytes.length)
    }
  }
}

function parseHead(head: string): { readonly [name: string]: string } {
  const { lines } = HEAD_FORM.exec(head)?.groups ?? {}
  if (lines === undefined) throw new Error('the column is not offered')
  const fields = lines.split('\r\n').map((line): [string, string] => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
  })
  return Object.fromEntries(fields)
}
