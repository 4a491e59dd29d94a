import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { fetchOverHttp } from './fetch.ts'

let server: Server
let url: URL
beforeAll(async () => {
  server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      if (request.url === '/never') return
      const body = Buffer.concat(chunks).toString('utf8')
      response.writeHead(request.url === '/missing' ? 404 : 200)
      // In two chunks, split within a character.
      const text = Buffer.from(
        JSON.stringify({ method: request.method, body, header: request.headers['x-a'] }),
      )
      response.write(text.subarray(0, 31))
      response.end(text.subarray(31))
    })
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', () => resolve()))
  url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

it('sends the method, the headers and the body, and parses the response', async () => {
  const response = await fetchOverHttp(url, { method: 'POST', headers: { 'x-a': 'b' }, body: 'é é é é é' })
  expect([response.ok, response.status]).toEqual([true, 200])
  expect(await response.json()).toEqual({ method: 'POST', body: 'é é é é é', header: 'b' })
})

it('returns a response with an error status', async () => {
  const response = await fetchOverHttp(new URL('/missing', url), {})
  expect([response.ok, response.status]).toEqual([false, 404])
})

it('rejects if the signal is aborted, and if no server listens', async () => {
  const signal = AbortSignal.abort()
  await expect(fetchOverHttp(new URL('/never', url), { signal })).rejects.toThrow(/abort/i)
  await expect(fetchOverHttp(new URL('http://127.0.0.1:1'), {})).rejects.toThrow('ECONNREFUSED')
})
