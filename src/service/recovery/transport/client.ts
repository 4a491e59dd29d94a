/**
 * Sends columns to other nodes and fetches them. A call that is given up, by its signal, its timeout or `abort`, closes
 * its connection.
 */
import { Agent, type ClientRequest, type IncomingMessage, request as openRequest } from 'node:http'
import type { NodeId } from '../../../core/index.ts'
import { ColumnMissingError, type ColumnWriter, describeColumn, type RawColumn } from '../store/index.ts'
import { createCredentials, type RequestSecrets, type SignedParts } from './authentication.ts'
import { BlockSealer, bodyLength, collectBlocks, cutBlocks, openBlocks } from './blocks.ts'
import { StaleTokenError, TransferFailedError, TransferRefusedError } from './errors.ts'
import {
  type Detail,
  encodeDetail,
  encodeNode,
  HEADERS,
  MISSING,
  messagePathOf,
  type Protection,
  pathOf,
  type Upload,
} from './wire.ts'

export type ColumnClientOptions = {
  readonly self: NodeId
  readonly keys: readonly Uint8Array[]
  readonly isSecret?: boolean
  /** Where a node listens; null if it is unknown. */
  addressOf(node: NodeId): { readonly host: string; readonly port: number } | null
  /** A call on which nothing moves for this time fails. */
  readonly idleMs?: number
}

export type Outgoing = Omit<Upload, 'from'> & {
  /** How often `write` will be called, if that is known: then the body needs no chunked encoding. */
  readonly writes?: number
}
export type Wanted = Pick<Outgoing, 'group' | 'token' | 'key'>

const DEFAULT_IDLE_MS = 30_000
/** Less than the server's, so that a connection is not used while the server closes it. */
const KEEP_ALIVE_MS = 30_000
const MAX_REPLY_BYTES = 65_536
/** For requests without a body. */
const NO_UPLOAD: Omit<Detail, 'protection'> = {
  code: { name: 'reed-solomon', columns: 1, data: 1 },
  bytes: 0,
  size: 0,
}

type RequestParts = Pick<SignedParts, 'path' | 'token' | 'detail'> & {
  readonly headers?: { readonly [name: string]: string }
}

type Call = { readonly request: ClientRequest; readonly secrets: RequestSecrets; readonly peer: string }

export class ColumnClient {
  readonly #options: ColumnClientOptions
  readonly #agent = new Agent({ keepAlive: true, timeout: KEEP_ALIVE_MS, noDelay: true })
  readonly #credentials
  readonly #protection: Protection
  readonly #idleMs: number

  constructor(options: ColumnClientOptions) {
    this.#options = options
    this.#credentials = createCredentials({ keys: options.keys })
    this.#protection = options.isSecret === true ? 'secret' : 'authentic'
    this.#idleMs = options.idleMs ?? DEFAULT_IDLE_MS
  }

  /** Asks the node to store a column. Resolves when the node is ready for its bytes. */
  async put(node: NodeId, column: Outgoing, signal?: AbortSignal): Promise<ColumnWriter> {
    const { size, writes } = column
    const length =
      writes === undefined
        ? { 'transfer-encoding': 'chunked' }
        : { 'content-length': `${bodyLength(size, writes)}` }
    const headers = { expect: '100-continue', ...length }
    const parts = this.#partsOf(column, { ...column, protection: this.#protection })
    const call = this.#begin('PUT', node, { ...parts, headers }, signal)
    call.request.flushHeaders()
    const upload = new RemoteWriter(call, this.#protection === 'secret', column.size)
    await upload.waitUntilReady()
    return upload
  }

  /** Asks the node for a column. Its bytes are authentic, but the column may be damaged. */
  async get(node: NodeId, wanted: Wanted, signal?: AbortSignal): Promise<RawColumn> {
    const parts = this.#partsOf(wanted, { ...NO_UPLOAD, protection: this.#protection })
    const call = this.#begin('GET', node, parts, signal)
    const { request, secrets, peer } = call
    request.end()
    const response = await waitForResponse(call)
    if (response.statusCode !== 200) {
      const refusal = await readRefusal(call, response)
      if (refusal.reason === MISSING && refusal.isProven)
        throw new ColumnMissingError(describeColumn(wanted.key), peer)
      throw refusal.error
    }
    const size = provenSize(call, response)
    const body = { key: secrets.replyBody, isSecret: this.#protection === 'secret' }
    return {
      bytes: size,
      chunks: nameFailures(openBlocks(response, body), call),
      // The connection of a response that has arrived returns to the pool once it is read to its end.
      close: async () => void (response.complete ? response.resume() : request.destroy()),
    }
  }

  /** Sends a request to the code of the node, and resolves to its reply. */
  async call(
    node: NodeId,
    { group, token }: Pick<Wanted, 'group' | 'token'>,
    body: Uint8Array,
    signal?: AbortSignal,
  ): Promise<Uint8Array> {
    const call = this.#begin(
      'POST',
      node,
      { path: messagePathOf(group), token, detail: this.#protection },
      signal,
    )
    const { request, secrets } = call
    const isSecret = this.#protection === 'secret'
    const sealer = new BlockSealer({ key: secrets.requestBody, isSecret })
    const response = waitForResponse(call)
    for (const block of cutBlocks([body])) for (const chunk of sealer.seal(block)) request.write(chunk)
    for (const chunk of sealer.end()) request.write(chunk)
    request.end()
    const replied = await response
    if (replied.statusCode !== 200) throw (await readRefusal(call, replied)).error
    provenSize(call, replied)
    const blocks = openBlocks(replied, { key: secrets.replyBody, isSecret })
    const bytes = await collectBlocks(blocks).catch((error: unknown) => {
      throw failure(call, error)
    })
    if (bytes === null) throw new TransferFailedError(call.peer, 'the reply is too long')
    return bytes
  }

  /** Closes all connections; calls that are running fail. */
  close(): void {
    this.#agent.destroy()
  }

  #partsOf({ group, token, key }: Wanted, detail: Detail): RequestParts {
    return { path: pathOf(group, key), token, detail: encodeDetail(detail) }
  }

  #begin(
    method: string,
    node: NodeId,
    { path, token, detail, headers }: RequestParts,
    signal?: AbortSignal,
  ): Call {
    signal?.throwIfAborted()
    const peer = `node ${JSON.stringify(node)}`
    const address = this.#options.addressOf(node)
    if (address === null) throw new TransferFailedError(peer, 'its address is unknown')
    const { self } = this.#options
    const signed = this.#credentials.sign({ method, path, from: self, to: node, token, detail })
    const request = openRequest({
      ...address,
      method,
      path,
      agent: this.#agent,
      headers: {
        authorization: signed.header,
        [HEADERS.from]: encodeNode(self),
        [HEADERS.token]: token,
        [HEADERS.detail]: detail,
        ...headers,
      },
    })
    if (signal !== undefined) destroyOnAbort(request, signal)
    request.setTimeout(this.#idleMs, () => request.destroy(new Error(`nothing moved for ${this.#idleMs} ms`)))
    return { request, secrets: signed.secrets, peer }
  }
}

function waitForResponse(call: Call): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    call.request.on('response', resolve)
    call.request.on('error', (error) => reject(failure(call, error)))
  })
}

/** The size that a holder of the key announces. */
function provenSize({ request, secrets, peer }: Call, { headers }: IncomingMessage): number {
  const size = headers[HEADERS.size]
  if (typeof size === 'string' && headers[HEADERS.proof] === secrets.proveReply(200, size))
    return Number(size)
  request.destroy()
  throw new TransferFailedError(peer, 'the reply does not bear the key of this group')
}

class RemoteWriter implements ColumnWriter {
  readonly #call: Call
  readonly #sealer: BlockSealer
  readonly #size: number
  readonly #ready: Promise<void>
  /** Resolves when the column is acknowledged. */
  readonly #outcome: Promise<void>
  #isAcknowledged = false

  constructor(call: Call, isSecret: boolean, size: number) {
    this.#call = call
    this.#sealer = new BlockSealer({ key: call.secrets.requestBody, isSecret })
    this.#size = size
    const { request } = call
    this.#outcome = new Promise((resolve, reject) => {
      const handleClose = (): void => reject(failure(call, new Error('the connection was closed')))
      request.on('response', (response: IncomingMessage) => {
        // The request closes when its response has arrived, and perhaps before it is read.
        request.off('close', handleClose)
        this.#readOutcome(response).then(resolve, reject)
      })
      request.on('error', (error) => reject(failure(call, error)))
      request.on('close', handleClose)
    })
    this.#outcome.catch(() => {})
    this.#ready = Promise.race([
      new Promise<void>((resolve) => {
        request.on('continue', resolve)
      }),
      this.#outcome,
    ])
    this.#ready.catch(() => {})
  }

  waitUntilReady(): Promise<void> {
    return this.#ready
  }

  async write(chunks: readonly Uint8Array[]): Promise<void> {
    // oxlint-disable-next-line no-await-in-loop -- blocks go one after the other
    for (const block of cutBlocks(chunks)) await this.#send(this.#sealer.seal(block))
  }

  async finish(): Promise<number> {
    await this.#send(this.#sealer.end())
    this.#call.request.end()
    await this.#outcome
    this.#isAcknowledged = true
    return this.#size
  }

  async abort(): Promise<void> {
    // After the reply, the connection belongs to the pool.
    if (!this.#isAcknowledged) this.#call.request.destroy()
  }

  /** Resolves when the kernel has the bytes. A refusal of the node ends the call at once. */
  async #send(chunks: readonly Uint8Array[]): Promise<void> {
    const { request } = this.#call
    const sent = new Promise<void>((resolve, reject) => {
      request.cork()
      for (const [at, chunk] of chunks.entries()) {
        if (at < chunks.length - 1) request.write(chunk)
        else request.write(chunk, (error) => (error ? reject(failure(this.#call, error)) : resolve()))
      }
      request.uncork()
    })
    // After a refusal the connection breaks; the refusal says why.
    await Promise.race([sent.catch(() => this.#outcome), this.#outcome])
  }

  async #readOutcome(response: IncomingMessage): Promise<void> {
    const refusal = await readRefusal(this.#call, response)
    if (refusal.status !== 201) {
      this.#call.request.destroy()
      throw refusal.error
    }
    if (!refusal.isProven)
      throw new TransferFailedError(this.#call.peer, 'the reply does not bear the key of this group')
  }
}

/**
 * Not the option `signal` of a request: it would destroy the connection of a response that has arrived but is not read
 * to its end. By then nothing handles errors of that connection, and the process would end.
 */
function destroyOnAbort(request: ClientRequest, signal: AbortSignal): void {
  let response: IncomingMessage | null = null
  request.once('response', (arrived) => {
    response = arrived
  })
  const onAbort = (): void => {
    if (response?.complete === true) return
    const error = new Error('aborted', { cause: signal.reason })
    error.name = 'AbortError'
    request.destroy(error)
  }
  signal.addEventListener('abort', onAbort)
  request.once('close', () => signal.removeEventListener('abort', onAbort))
}

/** The abort reason of the caller, or the failure with the name of the node. */
function failure({ peer }: Call, error: unknown): Error {
  if (error instanceof Error && error.name === 'AbortError')
    return (error.cause as Error | undefined) ?? error
  return error instanceof TransferFailedError ? error : new TransferFailedError(peer, error)
}

async function* nameFailures(
  blocks: AsyncIterable<readonly Uint8Array[]>,
  call: Call,
): AsyncGenerator<Uint8Array> {
  try {
    for await (const block of blocks) yield* block
  } catch (error) {
    call.request.destroy()
    throw failure(call, error)
  }
}

type Refused = {
  readonly status: number
  readonly reason: string
  readonly isProven: boolean
  readonly error: Error
}

/** Reads a short reply. */
async function readRefusal(call: Call, response: IncomingMessage): Promise<Refused> {
  const { secrets, peer } = call
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > MAX_REPLY_BYTES) throw new Error(`the reply has more than ${MAX_REPLY_BYTES} bytes`)
      chunks.push(chunk)
    }
  } catch (error) {
    call.request.destroy()
    throw failure(call, error)
  }
  const status = response.statusCode ?? 0
  const text = Buffer.concat(chunks).toString()
  const isProven = response.headers[HEADERS.proof] === secrets.proveReply(status, text)
  const { message, reason } = parseRefusal(text)
  const error =
    status === 409 && isProven
      ? new StaleTokenError(peer, status, message)
      : new TransferRefusedError(peer, status, message)
  return { status, reason, isProven, error }
}

function parseRefusal(text: string): { readonly message: string; readonly reason: string } {
  try {
    const { error, reason } = JSON.parse(text) as { readonly error?: unknown; readonly reason?: unknown }
    return {
      message: typeof error === 'string' ? error : text,
      reason: typeof reason === 'string' ? reason : '',
    }
  } catch {
    return { message: text.slice(0, 200), reason: '' }
  }
}
