import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { findFreePorts } from '../chaos/free-ports.ts'
import { HttpClient, wasNeverSent } from './http-client.ts'

/** A client, and a server that it can ask. */
async function lab(listener: RequestListener): Promise<{ client: HttpClient; url: URL; server: Server }> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const client = new HttpClient()
  onTestFinished(() => {
    client.close()
    server.closeAllConnections()
    server.close()
  })
  return {
    client,
    server,
    url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/path?q=1`),
  }
}

const request = (url: URL, body = '') => ({ method: 'POST', url, headers: { 'x-test': 'yes' }, body })
const forever = new AbortController().signal

describe('a request', () => {
  it('is sent as it is, with its length in bytes', async () => {
    const received: unknown[] = []
    const { client, url } = await lab((incoming, response) => {
      let body = ''
      incoming.setEncoding('utf8')
      incoming.on('data', (text: string) => (body += text))
      incoming.on('end', () => {
        const { method, headers } = incoming
        received.push(method, incoming.url, headers['x-test'], headers['content-length'], body)
        response.writeHead(201, { ETag: '"1"' }).end('größe')
      })
    })
    const reply = await client.send(request(url, 'ü'), forever)
    expect(received).toEqual(['POST', '/path?q=1', 'yes', '2', 'ü'])
    expect(reply).toMatchObject({ status: 201, body: 'größe', headers: { etag: '"1"' } })
  })

  it('reads the clock of the server, if it has one', async () => {
    let date = 'Wed, 02 Jan 2030 03:04:05 GMT'
    const { client, url } = await lab((_, response) => response.writeHead(200, { Date: date }).end())
    expect((await client.send(request(url), forever)).at.serverMs).toBe(Date.UTC(2030, 0, 2, 3, 4, 5))
    date = 'nonsense'
    expect((await client.send(request(url), forever)).at.serverMs).toBeNull()
  })

  it('uses one connection for requests that follow each other', async () => {
    const ports = new Set<number | undefined>()
    const { client, url } = await lab((incoming, response) => {
      ports.add(incoming.socket.remotePort)
      response.end('ok')
    })
    await client.send(request(url), forever)
    await client.send(request(url), forever)
    expect(ports.size).toBe(1)
  })

  it('closes its connection when it is aborted, and fails with the reason', async () => {
    const gone: Promise<unknown>[] = []
    const late = new AbortController()
    const { client, url } = await lab((incoming) => {
      gone.push(new Promise((resolve) => incoming.socket.once('close', resolve)))
      late.abort(new Error('no answer within 5 ms'))
    })
    await expect(client.send(request(url), late.signal)).rejects.toThrow('no answer within 5 ms')
    await gone[0]
    expect(gone).toHaveLength(1)
  })

  it('is not sent with a signal that was aborted before, nor after the client was closed', async () => {
    let requests = 0
    const { client, url } = await lab((_, response) => {
      requests += 1
      response.end()
    })
    await expect(client.send(request(url), AbortSignal.abort(new Error('over')))).rejects.toThrow('over')
    client.close()
    await expect(client.send(request(url), forever)).rejects.toThrow('the store has been closed')
    expect(requests).toBe(0)
  })

  it('fails when the client is closed while it waits', async () => {
    const { client, url } = await lab(() => client.close())
    await expect(client.send(request(url), forever)).rejects.toThrow('socket hang up')
  })

  it('refuses a reply above 16 MiB', async () => {
    const { client, url } = await lab((_, response) => {
      const chunk = Buffer.alloc(1024 * 1024)
      for (let each = 0; each < 17; each++) response.write(chunk)
      response.end()
    })
    await expect(client.send(request(url), forever)).rejects.toThrow(
      'the reply exceeds the limit of 16777216 bytes',
    )
  })
})

describe('wasNeverSent', () => {
  const failed = (syscall: string): Error => Object.assign(new Error('x'), { syscall })

  it.each<[string, unknown, boolean]>([
    ['a refused connection', failed('connect'), true],
    ['a name that cannot be resolved', failed('getaddrinfo'), true],
    ['several refused addresses', new AggregateError([failed('connect'), failed('connect')]), true],
    ['a reset while it waited', failed('read'), false],
    ['a broken pipe', failed('write'), false],
    ['a timeout', new Error('no answer'), false],
    ['an empty list', new AggregateError([failed('read')]), false],
  ])('%s: %s', (_what, error, isNeverSent) => {
    expect(wasNeverSent(error)).toBe(isNeverSent)
  })

  it('is true for a real port on which nothing listens', async () => {
    const [port] = await findFreePorts(1, 'tcp')
    const client = new HttpClient()
    onTestFinished(() => client.close())
    const error: unknown = await client
      .send(request(new URL(`http://127.0.0.1:${port}`)), forever)
      .catch((thrown: unknown) => thrown)
    expect(wasNeverSent(error)).toBe(true)
  })
})
