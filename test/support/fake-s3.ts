/**
 * A small in-process S3: enough of the protocol for registers and columns, with fault injection. The real service cannot
 * run here; this tests our side of the protocol, not Amazon's.
 */
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export const ACCESS_KEY = 'the-access-key'

export type FakeS3 = {
  readonly endpoint: string
  /** Number of requests by method. */
  readonly requests: Map<string, number>
  /** Overwrites regardless of the condition, like stores without conditional writes. */
  ignoresConditions: boolean
  /** Answers every write with 503 after performing it. */
  failsAfterwards: boolean
  /** Answers every write of an object or a part with 507. */
  isFull: boolean
  readonly objects: Map<string, Buffer>
  /** Uploads in parts that were neither completed nor aborted, by id. */
  readonly uploads: Map<string, { readonly key: string; readonly parts: Map<number, Buffer> }>
  end(): Promise<void>
}

export async function fakeS3(): Promise<FakeS3> {
  const objects = new Map<string, Buffer>()
  const uploads: FakeS3['uploads'] = new Map()
  let uploadCount = 0
  const tag = (body: Buffer): string => `"${createHash('md5').update(body).digest('hex')}"`
  const server = createServer((request, response) => void handle(request, response))

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost')
    const [, bucket, ...rest] = pathname.split('/')
    const key = decodeURIComponent(rest.join('/'))
    const method = request.method ?? 'GET'
    fake.requests.set(method, (fake.requests.get(method) ?? 0) + 1)
    const answer = (
      status: number,
      content: string | Buffer = '',
      headers: { [name: string]: string } = {},
    ): void => {
      response
        .writeHead(status, { 'content-length': `${Buffer.byteLength(content)}`, ...headers })
        .end(content)
    }
    const signed = request.headers.authorization ?? ''
    if (!signed.startsWith('AWS4-HMAC-SHA256') || !signed.includes(`Credential=${ACCESS_KEY}/`)) {
      answer(403, '<Error><Message>The AWS Access Key Id you provided does not exist.</Message></Error>')
      return
    }
    if (bucket !== 'bucket') {
      answer(404, '<Error><Code>NoSuchBucket</Code><Message>no such bucket</Message></Error>')
      return
    }
    if (searchParams.has('uploads') || searchParams.has('uploadId')) {
      handleUpload(method, key, searchParams, body, answer)
      return
    }
    const present = objects.get(key)
    if (method === 'GET' && key === '') answer(200, page(searchParams))
    else if (method === 'GET')
      answer(present === undefined ? 404 : 200, present ?? '', { etag: tag(present ?? Buffer.alloc(0)) })
    else if (method === 'DELETE') {
      objects.delete(key)
      answer(204)
    } else if (fake.isFull) answer(507, '<Error><Message>no space left</Message></Error>')
    else {
      const match = request.headers['if-match']
      const isRefused =
        (request.headers['if-none-match'] === '*' && present !== undefined) ||
        (match !== undefined && present !== undefined && match !== tag(present))
      if (isRefused && !fake.ignoresConditions) answer(412)
      else if (match !== undefined && present === undefined && !fake.ignoresConditions) answer(404)
      else {
        objects.set(key, body)
        answer(fake.failsAfterwards ? 503 : 200, '', { etag: tag(body) })
      }
    }
  }

  /** Uploads in parts. */
  function handleUpload(
    method: string,
    key: string,
    query: URLSearchParams,
    body: Buffer,
    answer: (status: number, content?: string, headers?: { [name: string]: string }) => void,
  ): void {
    const id = query.get('uploadId') ?? ''
    const upload = uploads.get(id)
    if (method === 'GET') {
      const shown = [...uploads].filter(([, each]) => each.key.startsWith(query.get('prefix') ?? ''))
      const entries = shown.map(
        ([name, each]) => `<Upload><Key>${each.key}</Key><UploadId>${name}</UploadId></Upload>`,
      )
      answer(200, `<ListMultipartUploadsResult>${entries.join('')}</ListMultipartUploadsResult>`)
    } else if (query.has('uploads')) {
      uploadCount += 1
      uploads.set(`upload-${uploadCount}`, { key, parts: new Map() })
      answer(
        200,
        `<InitiateMultipartUploadResult><UploadId>upload-${uploadCount}</UploadId></InitiateMultipartUploadResult>`,
      )
    } else if (upload === undefined) answer(404, '<Error><Message>no such upload</Message></Error>')
    else if (method === 'DELETE') {
      uploads.delete(id)
      answer(204)
    } else if (fake.isFull) answer(507, '<Error><Message>no space left</Message></Error>')
    else if (method === 'PUT') {
      upload.parts.set(Number(query.get('partNumber')), body)
      answer(200, '', { etag: tag(body) })
    } else {
      const numbers = [...body.toString().matchAll(/<PartNumber>(\d+)</g)].map(([, number]) => Number(number))
      objects.set(key, Buffer.concat(numbers.map((number) => upload.parts.get(number) as Buffer)))
      uploads.delete(id)
      answer(200, '<CompleteMultipartUploadResult></CompleteMultipartUploadResult>')
    }
  }

  /** Two keys per page, so that a listing needs several pages. */
  function page(query: URLSearchParams): string {
    const after = query.get('continuation-token') ?? ''
    const keys = [...objects.keys()]
      .filter((key) => key.startsWith(query.get('prefix') ?? '') && key > after)
      .sort()
    const shown = keys.slice(0, 2)
    const next = keys.length > 2 ? `<NextContinuationToken>${shown.at(-1)}</NextContinuationToken>` : ''
    return `<ListBucketResult>${shown.map((key) => `<Contents><Key>${key}</Key><Size>${objects.get(key)?.length}</Size></Contents>`).join('')}${next}</ListBucketResult>`
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const fake: FakeS3 = {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: new Map(),
    ignoresConditions: false,
    failsAfterwards: false,
    isFull: false,
    objects,
    uploads,
    end: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return fake
}
