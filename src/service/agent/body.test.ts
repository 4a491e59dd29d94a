import { Hono } from 'hono'
import { expect, it } from 'vitest'
import { readBody, type WithBody } from './body.ts'

const LIMIT = 64 * 1024

const app = new Hono<WithBody>()
app.use(readBody)
app.all('/', (c) => c.text(`${c.get('body').length} ${c.get('body').slice(0, 5)}`))

/** A body without a length, in `count` pieces of `size` bytes; counts the pieces that were read. */
function pieces(size: number, count: number): { stream: ReadableStream<Uint8Array>; read: () => number } {
  let read = 0
  const stream = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (read === count) controller.close()
        else {
          read += 1
          controller.enqueue(new Uint8Array(size).fill(120))
        }
      },
    },
    { highWaterMark: 0 },
  )
  return { stream, read: () => read }
}

it.each([
  ['POST', 'hello', '5 hello'],
  ['DELETE', undefined, '0 '],
  ['POST', 'é', '1 é'],
  ['POST', 'x'.repeat(LIMIT), `${LIMIT} xxxxx`],
])('hands the body of a %s on', async (method, body, text) => {
  const response = await app.request('/', { method, ...(body === undefined ? {} : { body }) })
  expect([response.status, await response.text()]).toEqual([200, text])
})

it('joins characters that are split between pieces', async () => {
  const bytes = new TextEncoder().encode('größe')
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const byte of bytes) controller.enqueue(Uint8Array.of(byte))
      controller.close()
    },
  })
  const response = await app.request('/', { method: 'POST', body: stream, duplex: 'half' })
  expect(await response.text()).toBe('5 größe')
})

it.each([
  ['declared', { method: 'POST', body: 'x', headers: { 'content-length': String(LIMIT + 1) } }],
  ['sent', { method: 'POST', body: 'x'.repeat(LIMIT + 1) }],
])('refuses a body whose %s length exceeds the limit', async (_what, init) => {
  const response = await app.request('/', init)
  expect([response.status, await response.json()]).toEqual([
    413,
    { error: { code: 'BodyTooLarge', message: 'the body exceeds the limit of 65536 bytes', field: null } },
  ])
})

it('stops reading an endless body at the limit', async () => {
  const { stream, read } = pieces(1024, 1_000_000)
  const response = await app.request('/', { method: 'POST', body: stream, duplex: 'half' })
  expect(response.status).toBe(413)
  expect(read()).toBe(LIMIT / 1024 + 1)
})

it('does not read the body of a request that has none by its method', async () => {
  const response = await app.request('/', { headers: { 'content-length': String(LIMIT + 1) } })
  expect([response.status, await response.text()]).toEqual([200, '0 '])
})
