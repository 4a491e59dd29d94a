/**
 * A small in-process S3: enough of the protocol for registers, with fault injection. The real service cannot
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
  end(): Promise<void>
}

export async function fakeS3(): Promise<FakeS3> {
  const objects = new Map<string, string>()
  const tag = (body: string): string => `"${createHash('md5').update(body).digest('hex')}"`
  const server = createServer((request, response) => void handle(request, response))

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString()
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost')
    const [, bucket, ...rest] = pathname.split('/')
    const key = decodeURIComponent(rest.join('/'))
    const method = request.method ?? 'GET'
    fake.requests.set(method, (fake.requests.get(method) ?? 0) + 1)
    const answer = (status: number, text = '', headers: { [name: string]: string } = {}): void => {
      response.writeHead(status, headers).end(text)
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
    const present = objects.get(key)
    if (method === 'GET' && key === '') answer(200, page(searchParams))
    else if (method === 'GET')
      answer(present === undefined ? 404 : 200, present ?? '', { etag: tag(present ?? '') })
    else if (method === 'DELETE') {
      objects.delete(key)
      answer(204)
    } else {
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

  /** Two keys per page, so that a listing needs several pages. */
  function page(query: URLSearchParams): string {
    const after = query.get('continuation-token') ?? ''
    const keys = [...objects.keys()]
      .filter((key) => key.startsWith(query.get('prefix') ?? '') && key > after)
      .sort()
    const shown = keys.slice(0, 2)
    const next = keys.length > 2 ? `<NextContinuationToken>${shown.at(-1)}</NextContinuationToken>` : ''
    return `<ListBucketResult>${shown.map((key) => `<Contents><Key>${key}</Key></Contents>`).join('')}${next}</ListBucketResult>`
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const fake: FakeS3 = {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: new Map(),
    ignoresConditions: false,
    failsAfterwards: false,
    end: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return fake
}
