import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { watch } from './client.ts'

it('closes the connection when the caller leaves the loop', async () => {
  let closed: Promise<string> = Promise.resolve('no request')
  const server = createServer((_request, response) => {
    closed = new Promise((resolve) => {
      response.once('close', () => resolve('closed'))
    })
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('event: snapshot\ndata: {"group":"g","leader":null}\n\n')
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve())
  })
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const agent = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  let first: string | null = null
  for await (const { type } of watch({ agent })) {
    first = type
    break
  }
  expect(first).toBe('snapshot')
  expect(await closed).toBe('closed')
}, 20_000)
