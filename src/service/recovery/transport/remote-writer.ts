/**
 * A column on its way to another node. The node answers the request in one of two ways: it asks for the body of the
 * request (`100`), or it fetches the column that was offered (offers.ts). The outcome is the reply to the request.
 */
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http'
import type { ColumnWriter } from '../store/index.ts'
import { BlockSealer, cutBlocks } from './blocks.ts'
import { type Call, failure, readRefusal } from './calls.ts'
import { TransferFailedError } from './errors.ts'
import type { OfferedBody } from './offers.ts'

type Body = { readonly stream: ClientRequest | ServerResponse; readonly sealer: BlockSealer }

export type RemoteWriterOptions = {
  readonly isSecret: boolean
  readonly size: number
  readonly idleMs: number
  /** Offers the column. Returns how to withdraw the offer. */
  readonly offer?: (take: (body: OfferedBody) => void) => () => void
}

export class RemoteWriter implements ColumnWriter {
  readonly #call: Call
  readonly #options: RemoteWriterOptions
  readonly #ready: Promise<void>
  /** Resolves when the column is acknowledged. */
  readonly #outcome: Promise<void>
  #body: Body
  #isAcknowledged = false

  constructor(call: Call, options: RemoteWriterOptions) {
    this.#call = call
    this.#options = options
    const { request, secrets } = call
    const { isSecret, offer } = options
    this.#body = { stream: request, sealer: new BlockSealer({ key: secrets.requestBody, isSecret }) }
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
    const opened = new Promise<void>((resolve) => {
      request.on('continue', resolve)
      const withdraw = offer?.((body) => {
        this.#useOffered(body)
        resolve()
      })
      if (withdraw !== undefined) request.once('continue', withdraw).once('close', withdraw)
    })
    this.#ready = Promise.race([opened, this.#outcome])
    this.#ready.catch(() => {})
  }

  waitUntilReady(): Promise<void> {
    return this.#ready
  }

  async write(chunks: readonly Uint8Array[]): Promise<void> {
    // oxlint-disable-next-line no-await-in-loop -- blocks go one after the other
    for (const block of cutBlocks(chunks)) await this.#send(this.#body.sealer.seal(block))
  }

  async finish(): Promise<number> {
    const { stream, sealer } = this.#body
    await this.#send(sealer.end())
    stream.end()
    this.#call.request.setTimeout(this.#options.idleMs)
    await this.#outcome
    this.#isAcknowledged = true
    return this.#options.size
  }

  async abort(): Promise<void> {
    // After the reply, the connection belongs to the pool.
    if (this.#isAcknowledged) return
    this.#call.request.destroy()
    this.#body.stream.destroy()
  }

  #useOffered(body: OfferedBody): void {
    const { request } = this.#call
    this.#body = body
    // Nothing moves on this connection until the reply: the other one has its own time limit.
    request.setTimeout(0)
    request.end()
    // A refusal may follow, and says why. Without a reply, the time limit ends the call.
    body.stream.once('close', () => request.setTimeout(this.#options.idleMs))
  }

  /** Resolves when the kernel has the bytes. A refusal of the node ends the call at once. */
  async #send(chunks: readonly Uint8Array[]): Promise<void> {
    const { stream } = this.#body
    const sent = new Promise<void>((resolve, reject) => {
      stream.cork()
      for (const [at, chunk] of chunks.entries()) {
        if (at < chunks.length - 1) stream.write(chunk)
        else stream.write(chunk, (error) => (error ? reject(failure(this.#call, error)) : resolve()))
      }
      stream.uncork()
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
