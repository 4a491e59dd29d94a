import { expect, it } from 'vitest'
import { JunkError, readEvents } from './stream.ts'

const streamOf = (...chunks: readonly string[]): ReadableStream<Uint8Array> =>
  new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk))
      controller.close()
    },
  })

it('yields whole events, and counts keep-alive comments as a sign of life', async () => {
  let chunks = 0
  const events = []
  const body = streamOf(': keep-alive\n\n', 'event: change\nid: r-1\nda', 'ta: {}\n\nevent: cut')
  for await (const event of readEvents(body, () => (chunks += 1))) events.push(event)
  expect(events).toEqual([{ event: 'change', id: 'r-1', data: '{}' }])
  expect(chunks).toBe(3)
})

it('gives up on megabytes without an event', async () => {
  const body = streamOf(...Array.from({ length: 5 }, () => 'x'.repeat(1024 * 1024)))
  const read = async (): Promise<void> => {
    for await (const { data } of readEvents(body, () => {})) throw new Error(`not an event: ${data}`)
  }
  await expect(read()).rejects.toThrow(JunkError)
})
