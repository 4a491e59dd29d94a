/**
 * Sends columns to other nodes and fetches them. A call that is given up, by its signal, its timeout or `abort`, closes
 * its connection.
 */
import { Agent, type ClientRequest, type IncomingMessage, request as openRequest } from 'node:http'
import type { NodeId } from '../../../core/index.ts'
import { ColumnMissingError, type ColumnWriter, describeColumn, type RawColumn } from '../store/index.ts'
import { createCredentials, type RequestSecrets, type SignedParts } from './authentication.ts'
import { BlockParser, BlockSealer, bodyLength, collectBlocks, cutBlocks, openBlocks } from './blocks.ts'
import { type Call, failure, readRefusal } from './calls.ts'
import { TransferFailedError } from './errors.ts'
import { fetchBlocks } from './fetch.ts'
import type { ColumnOffers } from './offers.ts'
import type { WriteChunks } from './receive.ts'
import { RemoteWriter } from './remote-writer.ts'
import { SlabPool } from './slabs.ts'
import {
  type Detail,
  encodeDetail,
  encodeNode,
  HEADERS,
  MISSING,
  messagePathOf,
  offerPathOf,
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
  /** Lets holders fetch columns from the server of this node, which has the same offers. */
  readonly offers?: ColumnOffers
  /** Smaller columns are sent at once: a connection for each would cost more than it saves. */
  readonly minOfferBytes?: number
}

export type Outgoing = Omit<Upload, 'from'> & {
  /** How often `write` will be called, if that is known: then the body needs no chunked encoding. */
  readonly writes?: number
}
export type Wanted = Pick<Outgoing, 'group' | 'token' | 'key'>

const DEFAULT_IDLE_MS = 30_000
const DEFAULT_MIN_OFFER_BYTES = 1024 * 1024
/** Less than the server's, so that a connection is not used while the server closes it. */
const KEEP_ALIVE_MS = 30_000
/** A node that could not be reached is not tried again for this time. */
const UNREACHABLE_MS = 60_000
/** For requests without a body. */
const NO_UPLOAD: Omit<Detail, 'protection'> = {
  code: { name: 'reed-solomon', columns: 1, data: 1 },
  bytes: 0,
  size: 0,
}

type RequestParts = Pick<SignedParts, 'path' | 'token' | 'detail'> & {
  readonly headers?: { readonly [name: string]: string }
}

export class ColumnClient {
  readonly #options: ColumnClientOptions
  readonly #agent = new Agent({ keepAlive: true, timeout: KEEP_ALIVE_MS, noDelay: true })
  readonly #credentials
  readonly #protection: Protection
  readonly #idleMs: number
  readonly #slabs = new SlabPool()
  readonly #closing = new AbortController()
  /** Until when nothing is fetched from a node. */
  readonly #unreachable = new Map<NodeId, number>()

  constructor(options: ColumnClientOptions) {
    this.#options = options
    this.#credentials = createCredentials({ keys: options.keys })
    this.#protection = options.isSecret === true ? 'secret' : 'authentic'
    this.#idleMs = options.idleMs ?? DEFAULT_IDLE_MS
  }

  /** Asks the node to store a column. Resolves when the node is ready for its bytes. */
  async put(node: NodeId, column: Outgoing, signal?: AbortSignal): Promise<ColumnWriter> {
    const { size, writes, group, key } = column
    const length = writes === undefined ? null : bodyLength(size, writes)
    const { offers, minOfferBytes = DEFAULT_MIN_OFFER_BYTES } = this.#options
    const isOffered = offers !== undefined && length !== null && size >= minOfferBytes
    const headers = {
      expect: '100-continue',
      // A body that is fetched instead is empty.
      ...(length === null || isOffered
        ? { 'transfer-encoding': 'chunked' }
        : { 'content-length': `${length}` }),
      ...(isOffered ? { [HEADERS.offer]: '1' } : {}),
    }
    const parts = this.#partsOf(column, { ...column, protection: this.#protection })
    const call = this.#begin('PUT', node, { ...parts, headers }, signal)
    const address = { holder: node, group, key }
    const upload = new RemoteWriter(call, {
      isSecret: this.#protection === 'secret',
      size,
      idleMs: this.#idleMs,
      ...(isOffered ? { offer: (take) => offers.add(address, { size, length, take }) } : {}),
    })
    call.request.flushHeaders()
    await upload.waitUntilReady()
    return upload
  }

  /**
   * Fetches a column that the node offers. Resolves to true when all of it was written, and to false if the column cannot
   * be fetched and nothing was written. Rejects if the transfer breaks off.
   */
  async fetchOffered(
    node: NodeId,
    { group, token, key }: Wanted,
    write: WriteChunks,
    signal: AbortSignal,
  ): Promise<boolean> {
    const address = this.#options.addressOf(node)
    if (address === null || (this.#unreachable.get(node) ?? 0) > performance.now()) return false
    const isSecret = this.#protection === 'secret'
    const parts = {
      path: offerPathOf(group, key),
      token,
      detail: encodeDetail({ ...NO_UPLOAD, protection: this.#protection }),
    }
    const { headers, secrets } = this.#sign('GET', node, parts)
    const outcome = await fetchBlocks(
      {
        address,
        path: parts.path,
        headers,
        pool: this.#slabs,
        idleMs: this.#idleMs,
        checkHead: (reply) => {
          const size = reply[HEADERS.size] ?? ''
          if (reply[HEADERS.proof] !== secrets.proveReply(200, size))
            throw new Error('the reply does not bear the key of this group')
        },
        createParser: () => new BlockParser({ key: secrets.replyBody, isSecret }),
      },
      write,
      AbortSignal.any([signal, this.#closing.signal]),
    )
    if (outcome === 'unreachable') this.#unreachable.set(node, performance.now() + UNREACHABLE_MS)
    return outcome === 'fetched'
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
    this.#closing.abort(new Error('this client is closed'))
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
    const signed = this.#sign(method, node, { path, token, detail })
    const request = openRequest({
      ...address,
      method,
      path,
      agent: this.#agent,
      headers: { ...signed.headers, ...headers },
    })
    if (signal !== undefined) destroyOnAbort(request, signal)
    request.setTimeout(this.#idleMs, () => request.destroy(new Error(`nothing moved for ${this.#idleMs} ms`)))
    return { request, secrets: signed.secrets, peer }
  }

  #sign(
    method: string,
    node: NodeId,
    { path, token, detail }: Pick<RequestParts, 'path' | 'token' | 'detail'>,
  ): { readonly headers: { readonly [name: string]: string }; readonly secrets: RequestSecrets } {
    const { self } = this.#options
    const { header, secrets } = this.#credentials.sign({ method, path, from: self, to: node, token, detail })
    const headers = {
      authorization: header,
      [HEADERS.from]: encodeNode(self),
      [HEADERS.token]: `${token}`,
      [HEADERS.detail]: detail,
    }
    return { headers, secrets }
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
