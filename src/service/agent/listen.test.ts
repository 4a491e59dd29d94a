/** Requests that arrive together on one connection (pipelining). */
import { once } from 'node:events'
import { connect } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { until } from '../../../test/support/wait.ts'
import { type HttpServer, listen } from './listen.ts'

const REQUEST = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'

let server: HttpServer | null = null

afterEach(async () => {
  await server?.close()
  server = null
})

/** Sends that many requests at once. */
async function send(fetch: () => Response | Promise<Response>, count: number) {
  server = await listen(fetch, { host: '127.0.0.1', port: 0 })
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
  socket.on('error', () => {})
  socket.resume()
  await once(socket, 'connect')
  socket.write(REQUEST.repeat(count))
  return socket
}

it('lets timers run during a burst of requests', async () => {
  let ticks = 0
  const seen: number[] = []
  const counting = setInterval(() => (ticks += 1), 1)
  const socket = await send(() => {
    seen.push(ticks)
    const end = performance.now() + 5
    while (performance.now() < end);
    return new Response('')
  }, 30)
  await until(() => seen.length === 30)
  clearInterval(counting)
  socket.destroy()
  expect(new Set(seen).size).toBeGreaterThan(3)
})

it('closes a connection with too many requests that wait for their responses', async () => {
  let handled = 0
  const socket = await send(() => {
    handled += 1
    return new Promise(() => {})
  }, 150)
  await once(socket, 'close')
  expect(handled).toBe(128)
})

it('serves any number of requests on one connection, one after the other', async () => {
  let handled = 0
  const socket = await send(() => new Response(String((handled += 1))), 1)
  for (let count = 1; count < 100; count++) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    await once(socket, 'data')
    socket.write(REQUEST)
  }
  await once(socket, 'data')
  expect(handled).toBe(100)
  socket.destroy()
})
