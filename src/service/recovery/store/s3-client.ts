/** The requests to an S3-compatible store that columns need. Each request is sent once. */
import { Agent as HttpAgent, type IncomingMessage, request as overHttp } from 'node:http'
import { Agent as HttpsAgent, request as overHttps } from 'node:https'
import type { AwsClient } from 'aws4fetch'
import { StoreAccessDeniedError, StoreUnreachableError } from '../../registers/errors.ts'
import type { S3Options } from '../../registers/s3.ts'
import { loadClient } from '../../registers/urls.ts'
import type { RawColumn } from './column-store.ts'
import { ColumnStoreFailedError, ColumnStoreFullError } from './errors.ts'

type Reply = { readonly status: number; readonly tag: string; readonly response: IncomingMessage }
type Part = { readonly upload: string; readonly number: number; readonly body: Uint8Array }
type Call = {
  readonly method: string
  /** Path and query, below the bucket. */
  readonly path: string
  readonly body?: Uint8Array
  readonly signal?: AbortSignal | undefined
}

const NOT_FOUND = 404
/** Insufficient storage, as some compatible stores answer. Amazon's never fills up. */
const FULL = 507
const MAX_TEXT_BYTES = 16 * 1024 * 1024
const IDLE_MS = 30_000

export class S3Client {
  readonly place: string
  readonly #client: AwsClient
  readonly #root: string
  readonly #prefix: string
  readonly #http = new HttpAgent({ keepAlive: true, timeout: IDLE_MS })
  readonly #https = new HttpsAgent({ keepAlive: true, timeout: IDLE_MS })
  #isClosed = false

  private constructor(client: AwsClient, root: string, options: S3Options) {
    this.#client = client
    this.#root = root
    this.#prefix = options.prefix === '' ? '' : `${options.prefix}/`
    const at = options.endpoint === undefined ? '' : ` at ${options.endpoint}`
    this.place = `s3 bucket ${options.bucket}, keys ${this.#prefix}*${at}`
  }

  static async open(options: S3Options): Promise<S3Client> {
    const { AwsClient: Client } = await loadClient('s3', 'aws4fetch', () => import('aws4fetch'))
    const { bucket, region, endpoint, accessKeyId, secretAccessKey, sessionToken } = options
    const client = new Client({
      accessKeyId,
      secretAccessKey,
      ...(sessionToken === undefined ? {} : { sessionToken }),
      region,
      service: 's3',
      retries: 0,
    })
    const root =
      endpoint === undefined
        ? `https://${bucket}.s3.${region}.amazonaws.com`
        : `${endpoint.replace(/\/$/, '')}/${bucket}`
    return new S3Client(client, root, options)
  }

  assertOpen(): void {
    if (this.#isClosed)
      throw new ColumnStoreFailedError('use a column', this.place, 'the store has been closed')
  }

  async put(name: string, body: Uint8Array, signal?: AbortSignal): Promise<void> {
    await this.#text({ method: 'PUT', path: this.#keyOf(name), body, signal })
  }

  /** Null if there is no such object. */
  async get(name: string, signal?: AbortSignal): Promise<RawColumn | null> {
    const { status, response } = await this.#send({ method: 'GET', path: this.#keyOf(name), signal })
    if (status === NOT_FOUND) {
      response.destroy()
      return null
    }
    return {
      bytes: Number(response.headers['content-length'] ?? 0),
      chunks: response as AsyncIterable<Uint8Array>,
      close: async () => void response.destroy(),
    }
  }

  async remove(name: string, signal?: AbortSignal): Promise<void> {
    await this.#text({ method: 'DELETE', path: this.#keyOf(name), signal })
  }

  async list(signal?: AbortSignal): Promise<readonly { readonly name: string; readonly bytes: number }[]> {
    const found: { readonly name: string; readonly bytes: number }[] = []
    let more = ''
    do {
      const path = `?list-type=2&prefix=${encodeURIComponent(this.#prefix)}${more}`
      // oxlint-disable-next-line no-await-in-loop -- each page names the next
      const page = (await this.#text({ method: 'GET', path, signal })).text
      for (const [, entry = ''] of page.matchAll(/<Contents>(.*?)<\/Contents>/gs)) {
        const name = elementOf(entry, 'Key').slice(this.#prefix.length)
        found.push({ name, bytes: Number(elementOf(entry, 'Size')) })
      }
      const next = elementOf(page, 'NextContinuationToken')
      more = next === '' ? '' : `&continuation-token=${encodeURIComponent(next)}`
    } while (more !== '')
    return found
  }

  async startUpload(name: string, signal?: AbortSignal): Promise<string> {
    const { text } = await this.#text({ method: 'POST', path: `${this.#keyOf(name)}?uploads=`, signal })
    return elementOf(text, 'UploadId')
  }

  /** Resolves to the part's ETag. */
  async putPart(name: string, { upload, number, body }: Part, signal?: AbortSignal): Promise<string> {
    const query = `partNumber=${number}&uploadId=${encodeURIComponent(upload)}`
    return (await this.#text({ method: 'PUT', path: `${this.#keyOf(name)}?${query}`, body, signal })).tag
  }

  async completeUpload(
    name: string,
    upload: string,
    tags: readonly string[],
    signal?: AbortSignal,
  ): Promise<void> {
    const parts = tags.map((tag, at) => `<Part><PartNumber>${at + 1}</PartNumber><ETag>${tag}</ETag></Part>`)
    const body = Buffer.from(`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`)
    const path = `${this.#keyOf(name)}?uploadId=${encodeURIComponent(upload)}`
    const { text } = await this.#text({ method: 'POST', path, body, signal })
    // S3 can answer 200 before it knows the outcome, and report the failure in the body.
    if (text.includes('<Error>')) throw this.#failure(`POST ${name}`, elementOf(text, 'Message'))
  }

  async abortUpload(name: string, upload: string): Promise<void> {
    await this.#text({
      method: 'DELETE',
      path: `${this.#keyOf(name)}?uploadId=${encodeURIComponent(upload)}`,
    })
  }

  async listUploads(): Promise<readonly { readonly name: string; readonly upload: string }[]> {
    const found: { readonly name: string; readonly upload: string }[] = []
    let more = ''
    do {
      const path = `?uploads=&prefix=${encodeURIComponent(this.#prefix)}${more}`
      // oxlint-disable-next-line no-await-in-loop -- each page names the next
      const { text } = await this.#text({ method: 'GET', path })
      for (const [, entry = ''] of text.matchAll(/<Upload>(.*?)<\/Upload>/gs))
        found.push({
          name: elementOf(entry, 'Key').slice(this.#prefix.length),
          upload: elementOf(entry, 'UploadId'),
        })
      const isMore = elementOf(text, 'IsTruncated') === 'true'
      const [key, upload] = [elementOf(text, 'NextKeyMarker'), elementOf(text, 'NextUploadIdMarker')]
      more = isMore
        ? `&key-marker=${encodeURIComponent(key)}&upload-id-marker=${encodeURIComponent(upload)}`
        : ''
    } while (more !== '')
    return found
  }

  /** Requests that wait for an answer fail. */
  close(): void {
    this.#isClosed = true
    this.#http.destroy()
    this.#https.destroy()
  }

  #keyOf(name: string): string {
    return encodeURI(`${this.#prefix}${name}`)
  }

  #failure(action: string, why: string): Error {
    return new ColumnStoreFailedError(action, this.place, why)
  }

  async #text(call: Call): Promise<{ readonly text: string; readonly tag: string }> {
    const { tag, response } = await this.#send(call)
    return { tag, text: await readText(response) }
  }

  /** The response must be read to its end or destroyed. */
  async #send({ method, path, body, signal }: Call): Promise<Reply> {
    this.assertOpen()
    signal?.throwIfAborted()
    const signed = await this.#client.sign(`${this.#root}/${path}`, { method })
    const url = new URL(signed.url)
    const headers = { ...Object.fromEntries(signed.headers), 'content-length': body?.length ?? 0 }
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const [open, agent] = url.protocol === 'https:' ? [overHttps, this.#https] : [overHttp, this.#http]
      const fail = (error: unknown): void =>
        reject(
          signal?.aborted === true ? (signal.reason as Error) : new StoreUnreachableError(this.place, error),
        )
      const options = { method, agent, headers, ...(signal === undefined ? {} : { signal }) }
      open(url, options, resolve).on('error', fail).end(body)
    })
    const status = response.statusCode ?? 0
    const isMissing = status === NOT_FOUND && method !== 'PUT' && !path.startsWith('?')
    if ((status >= 200 && status < 300) || isMissing)
      return { status, tag: response.headers.etag ?? '', response }
    const said = elementOf(await readText(response), 'Message') || `it answered ${status}`
    if (status === 401 || status === 403)
      throw new StoreAccessDeniedError(
        `${this.place} refuses: ${said} (check the keys, and the rights s3:GetObject, s3:PutObject, s3:DeleteObject, s3:ListBucket, s3:ListBucketMultipartUploads, s3:AbortMultipartUpload)`,
      )
    if (status === NOT_FOUND) throw new StoreAccessDeniedError(`${this.place}: ${said}`)
    if (status === FULL) throw new ColumnStoreFullError(path, this.place, new Error(said))
    throw this.#failure(`${method} ${path}`, said)
  }
}

async function readText(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MAX_TEXT_BYTES) throw new Error(`the reply exceeds the limit of ${MAX_TEXT_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

/** The content of the first element of this name; empty if there is none. */
function elementOf(xml: string, name: string): string {
  const found = new RegExp(`<${name}>(.*?)</${name}>`, 's').exec(xml)?.[1] ?? ''
  return found.replaceAll('&quot;', '"').replaceAll('&apos;', "'").replaceAll('&amp;', '&')
}
