/**
 * Serves the columns of a node to the other nodes, over HTTP at the TCP port with the number of the node's UDP port.
 *
 * A column to be stored is announced first (`expect: 100-continue`). Only when the request is authentic, the protocol
 * lets the sender store, and a place is free, its bytes are asked for. They are checked block by block, written, and
 * synced; then the protocol records the column; only then it is acknowledged.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { NodeId } from '../../../core/index.ts'
import { rejectOnAbort } from '../../registers/connection.ts'
import { ColumnMissingError, type ColumnStore } from '../store/index.ts'
import { type Credentials, createCredentials, type RequestSecrets } from './authentication.ts'
import { BlockParser, BlockSealer, collectBlocks, cutBlocks, openBlocks, totalLength } from './blocks.ts'
import type { ColumnClient } from './client.ts'
import { Limiter, type TransferLoad } from './limiter.ts'
import type { ColumnOffers } from './offers.ts'
import { receiveBlocks, type WriteChunks } from './receive.ts'
import { assertAllowed, Refusal, reply, statusOf, type Verdict, writeAll } from './replies.ts'
import {
  HEADERS,
  MAX_MESSAGE_BYTES,
  MISSING,
  type Protection,
  parseDetail,
  parseMessagePath,
  parseNode,
  parsePath,
  type Transfer,
  type Upload,
} from './wire.ts'

/** The protocol decides. A refusal is answered with 409. */
export type ColumnGate = {
  /** Before the bytes are sent: refuses a token older than the fence. */
  mayStore(upload: Upload): Promise<Verdict>
  /** After the bytes were synced. Resolves when the protocol has recorded the column. If it refuses, the column is dropped. */
  recordStored(upload: Upload): Promise<Verdict>
  mayRead(transfer: Transfer): Promise<Verdict>
}

export type ServedGroup = {
  readonly store: ColumnStore
  readonly gate: ColumnGate
  /** Answers requests that are not about columns. */
  readonly answer?: (from: NodeId, body: Uint8Array) => Promise<Uint8Array>
}

export type ColumnServerOptions = {
  readonly self: NodeId
  readonly host: string
  readonly port: number
  readonly keys: readonly Uint8Array[]
  readonly isSecret?: boolean
  /** Largest column in bytes. */
  readonly maxColumnBytes?: number
  readonly maxTransfers?: number
  readonly maxWaiting?: number
  /** A connection on which nothing moves for this time is closed. */
  readonly idleMs?: number
  /** Columns that this node is sending. Their holders may fetch them here. */
  readonly offers?: ColumnOffers
  /** Fetches columns that other nodes offer. Without it, their bytes are asked for. */
  readonly fetch?: ColumnClient['fetchOffered']
  /** Called with failures of this node, such as a disk that cannot be read. */
  readonly onProblem?: (error: unknown) => void
}

const DEFAULTS = {
  maxColumnBytes: 2 ** 40,
  maxTransfers: 16,
  maxWaiting: 64,
  idleMs: 30_000,
} as const
const KEEP_ALIVE_MS = 60_000
const MAX_HEADER_BYTES = 8192

type Optional = 'onProblem' | 'offers' | 'fetch'

type Signed = {
  readonly from: NodeId
  readonly token: number
  readonly detail: string
  readonly secrets: RequestSecrets
}

type Authentic = {
  readonly transfer: Transfer
  readonly detail: string
  readonly secrets: RequestSecrets
  readonly kind: 'download' | 'upload' | 'offer'
}

type Admitted = {
  readonly transfer: Transfer
  readonly group: ServedGroup
  readonly secrets: RequestSecrets
  readonly upload: Upload | null
}

type Message = {
  readonly from: NodeId
  readonly secrets: RequestSecrets
  readonly answer: NonNullable<ServedGroup['answer']>
}

export class ColumnServer {
  readonly #options: Required<Omit<ColumnServerOptions, Optional>> & Pick<ColumnServerOptions, Optional>
  readonly #onProblem: (error: unknown) => void
  readonly #server: Server
  readonly #groups = new Map<string, ServedGroup>()
  readonly #credentials: Credentials
  readonly #limiter: Limiter
  readonly #protection: Protection
  readonly #running = new Set<Promise<void>>()

  private constructor(options: ColumnServerOptions) {
    this.#options = { isSecret: false, ...DEFAULTS, ...options }
    this.#onProblem = options.onProblem ?? ((): void => {})
    this.#credentials = createCredentials({ keys: options.keys })
    this.#limiter = new Limiter(this.#options.maxTransfers, this.#options.maxWaiting)
    this.#protection = this.#options.isSecret ? 'secret' : 'authentic'
    const handle = (request: IncomingMessage, response: ServerResponse): void => {
      const running = this.#handle(request, response).finally(() => this.#running.delete(running))
      this.#running.add(running)
    }
    this.#server = createServer(
      { maxHeaderSize: MAX_HEADER_BYTES, highWaterMark: 256 * 1024, noDelay: true },
      handle,
    )
    this.#server.on('checkContinue', handle)
    // A large column takes longer than any fixed time: only a standstill ends a transfer.
    this.#server.requestTimeout = 0
    this.#server.setTimeout(this.#options.idleMs)
    this.#server.keepAliveTimeout = Math.max(KEEP_ALIVE_MS, this.#options.idleMs)
  }

  static async listen(options: ColumnServerOptions): Promise<ColumnServer> {
    const server = new ColumnServer(options)
    server.#server.listen({ host: options.host, port: options.port })
    await once(server.#server, 'listening')
    return server
  }

  get address(): AddressInfo {
    return this.#server.address() as AddressInfo
  }

  get load(): TransferLoad {
    return this.#limiter.load
  }

  /** Serves a group, until the returned function is called. */
  serve(group: string, served: ServedGroup): () => void {
    this.#groups.set(group, served)
    return () => {
      if (this.#groups.get(group) === served) this.#groups.delete(group)
    }
  }

  /** Ends all transfers. */
  async close(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeAllConnections()
    await Promise.all(this.#running)
    await closed
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const gone = new AbortController()
    response.once('close', () => gone.abort(new Error('the connection was closed')))
    let secrets: RequestSecrets | null = null
    try {
      const messages = request.method === 'POST' ? parseMessagePath(request.url ?? '') : null
      if (messages !== null) {
        const message = this.#admitMessage(request, messages)
        ;({ secrets } = message)
        await this.#answer(message, request, response, gone.signal)
        return
      }
      const authentic = this.#authenticate(request)
      ;({ secrets } = authentic)
      if (authentic.kind === 'offer') {
        await this.#sendOffered(authentic, response)
        return
      }
      const admitted = this.#admit(authentic)
      const release = await this.#limiter.acquire(gone.signal)
      if (release === null)
        throw new Refusal(
          503,
          `${this.#options.maxTransfers} transfers are running and ${this.#options.maxWaiting} are waiting; try again`,
        )
      try {
        if (admitted.upload === null) await this.#send(admitted, response, gone.signal)
        else await this.#receive({ ...admitted, upload: admitted.upload }, request, response, gone.signal)
      } finally {
        release()
      }
    } catch (error) {
      this.#fail(error, request, response, secrets)
    }
  }

  /** Checks who sent the request. */
  #verify({ method = '', url: path = '', headers }: IncomingMessage): Signed {
    const text = (name: string): string => {
      const value = headers[name]
      return typeof value === 'string' ? value : ''
    }
    const from = parseNode(text(HEADERS.from))
    if (from === null) throw new Refusal(400, `the header "${HEADERS.from}" must be a node id`)
    if (!/^\d{1,16}$/.test(text(HEADERS.token)))
      throw new Refusal(400, `the header "${HEADERS.token}" must be a non-negative integer`)
    const [token, detail] = [Number(text(HEADERS.token)), text(HEADERS.detail)]
    const parts = { method, path, from, to: this.#options.self, token, detail }
    const secrets = this.#credentials.verify(text('authorization'), parts)
    if (typeof secrets === 'string') throw new Refusal(401, secrets)
    return { from, token, detail, secrets }
  }

  #authenticate(request: IncomingMessage): Authentic {
    const { method = '', url = '' } = request
    if (method !== 'PUT' && method !== 'GET') throw new Refusal(405, `the method ${method} is not allowed`)
    const parsed = parsePath(url)
    if (parsed === null) throw new Refusal(400, 'the path does not name a column')
    const { group, key, isOffer } = parsed
    if (isOffer && method !== 'GET') throw new Refusal(405, `the method ${method} is not allowed`)
    const { from, token, detail, secrets } = this.#verify(request)
    const kind = method === 'PUT' ? 'upload' : isOffer ? 'offer' : 'download'
    return { transfer: { group, key, from, token }, detail, secrets, kind }
  }

  #assertProtection(protection: string): void {
    if (protection !== this.#protection)
      throw new Refusal(
        400,
        `the body must be ${this.#protection}, not ${protection}: give all nodes the same setting for secrecy`,
      )
  }

  /** Checks what the request asks for. */
  #admit({ transfer, detail, secrets, kind }: Authentic): Admitted {
    const group = this.#groups.get(transfer.group)
    if (group === undefined) throw new Refusal(404, `this node does not serve the group "${transfer.group}"`)
    const announced = parseDetail(detail)
    if (announced === null) throw new Refusal(400, `the header "${HEADERS.detail}" is malformed`)
    const { protection, ...upload } = announced
    this.#assertProtection(protection)
    const { maxColumnBytes } = this.#options
    if (upload.size > maxColumnBytes)
      throw new Refusal(413, `the column has ${upload.size} bytes; at most ${maxColumnBytes} are allowed`)
    return { transfer, group, secrets, upload: kind === 'upload' ? { ...transfer, ...upload } : null }
  }

  #admitMessage(request: IncomingMessage, name: string): Message {
    const { from, detail, secrets } = this.#verify(request)
    this.#assertProtection(detail)
    const { answer } = this.#groups.get(name) ?? {}
    if (answer === undefined) throw new Refusal(404, `this node does not serve the group "${name}"`)
    return { from, secrets, answer }
  }

  async #answer(
    { from, secrets, answer }: Message,
    request: IncomingMessage,
    response: ServerResponse,
    signal: AbortSignal,
  ): Promise<void> {
    const { isSecret } = this.#options
    const body = await collectBlocks(openBlocks(request, { key: secrets.requestBody, isSecret }))
    if (body === null) throw new Refusal(413, `a message has at most ${MAX_MESSAGE_BYTES} bytes`)
    const replied = await answer(from, body)
    const size = `${replied.length}`
    response.writeHead(200, {
      'content-type': 'application/octet-stream',
      [HEADERS.size]: size,
      [HEADERS.proof]: secrets.proveReply(200, size),
    })
    const sealer = new BlockSealer({ key: secrets.replyBody, isSecret })
    // oxlint-disable-next-line no-await-in-loop -- blocks go one after the other
    for (const block of cutBlocks([replied])) await writeAll(response, sealer.seal(block), signal)
    await writeAll(response, sealer.end(), signal)
    response.end()
  }

  async #receive(
    { group, secrets, upload }: Admitted & { readonly upload: Upload },
    request: IncomingMessage,
    response: ServerResponse,
    signal: AbortSignal,
  ): Promise<void> {
    const { store, gate } = group
    assertAllowed(await rejectOnAbort(gate.mayStore(upload), signal))
    const writer = await store.create(upload.key, undefined, upload.size)
    try {
      let received = 0
      const write = async (chunks: readonly Uint8Array[]): Promise<void> => {
        received += totalLength(chunks)
        if (received > upload.size)
          throw new Refusal(413, `the body has more than the ${upload.size} bytes announced`)
        await writer.write(chunks)
      }
      if (!(await this.#fetch(upload, request, write, signal))) {
        if (request.headers.expect !== undefined) response.writeContinue()
        const body = { key: secrets.requestBody, isSecret: this.#options.isSecret }
        await receiveBlocks(request, new BlockParser(body), write)
      }
      if (received !== upload.size)
        throw new Refusal(400, `the body has ${received} bytes; ${upload.size} were announced`)
      await writer.finish()
    } finally {
      await writer.abort()
    }
    const recorded = gate.recordStored(upload).then(async (verdict) => {
      if (!verdict.ok) await store.drop(upload.key)
      return verdict
    })
    assertAllowed(await rejectOnAbort(recorded, signal))
    reply(response, 201, { stored: upload.size }, secrets)
  }

  /** False if the column is not offered, or cannot be fetched. */
  async #fetch(
    upload: Upload,
    request: IncomingMessage,
    write: WriteChunks,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { fetch, idleMs } = this.#options
    if (fetch === undefined || request.headers[HEADERS.offer] === undefined) return false
    // Nothing moves on this connection meanwhile: the other one has its own time limit.
    request.socket.setTimeout(0)
    try {
      return await fetch(upload.from, upload, write, signal)
    } finally {
      request.socket.setTimeout(idleMs)
    }
  }

  async #sendOffered({ transfer, detail, secrets }: Authentic, response: ServerResponse): Promise<void> {
    const { from: holder, group, key } = transfer
    const { isSecret, offers } = this.#options
    this.#assertProtection(parseDetail(detail)?.protection ?? 'malformed')
    const offer = offers?.take({ holder, group, key }) ?? null
    if (offer === null) throw new Refusal(404, 'this node does not offer the column')
    const size = `${offer.size}`
    const closed = once(response, 'close')
    response.writeHead(200, {
      'content-type': 'application/octet-stream',
      'content-length': offer.length,
      connection: 'close',
      [HEADERS.size]: size,
      [HEADERS.proof]: secrets.proveReply(200, size),
    })
    // From here on the holder does not ask for the body of its request.
    response.flushHeaders()
    offer.take({ stream: response, sealer: new BlockSealer({ key: secrets.replyBody, isSecret }) })
    await closed
  }

  async #send(
    { transfer, group, secrets }: Admitted,
    response: ServerResponse,
    signal: AbortSignal,
  ): Promise<void> {
    assertAllowed(await rejectOnAbort(group.gate.mayRead(transfer), signal))
    const raw = await group.store.openRaw(transfer.key, signal)
    try {
      const size = `${raw.bytes}`
      response.writeHead(200, {
        'content-type': 'application/octet-stream',
        [HEADERS.size]: size,
        [HEADERS.proof]: secrets.proveReply(200, size),
      })
      const sealer = new BlockSealer({ key: secrets.replyBody, isSecret: this.#options.isSecret })
      for await (const chunk of raw.chunks) await writeAll(response, sealer.seal([chunk]), signal)
      await writeAll(response, sealer.end(), signal)
      response.end()
    } finally {
      await raw.close()
    }
  }

  #fail(
    error: unknown,
    request: IncomingMessage,
    response: ServerResponse,
    secrets: RequestSecrets | null,
  ): void {
    const { status, message } = statusOf(error)
    // An error of the connection is not a problem of this node.
    if (status >= 500 && !response.destroyed && !request.destroyed) this.#onProblem(error)
    if (response.headersSent || response.destroyed) {
      response.destroy()
      return
    }
    response.shouldKeepAlive = false
    const reason = error instanceof ColumnMissingError ? { reason: MISSING } : {}
    reply(response, status, { error: message, ...reason }, secrets)
    // The sender reads the reply, and ends the connection. What it has sent until then is thrown away.
    request.resume()
  }
}
