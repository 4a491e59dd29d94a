/** Reads an event stream: each complete event, in order, and nothing that could fill the memory. */
import { parseEventStream, type ServerSentEvent } from '../../../src/service/client/event-stream.ts'

/** Junk without an end of an event must not pile up. A status of 25 nodes has about 30 kB. */
const MOST_BYTES_PER_EVENT = 4 * 1024 * 1024

export class JunkError extends Error {}

/** `onBytes` is called for each chunk, keep-alive comments included. */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  onBytes: () => void,
): AsyncGenerator<ServerSentEvent, void, void> {
  let pending = 0
  // Not every browser can iterate over a stream.
  async function* chunks(): AsyncGenerator<Uint8Array, void, void> {
    const reader = body.getReader()
    try {
      for (;;) {
        // oxlint-disable-next-line no-await-in-loop -- chunks come one after the other
        const { done, value } = await reader.read()
        if (done) return
        onBytes()
        pending += value.length
        if (pending > MOST_BYTES_PER_EVENT) throw new JunkError('the event stream contains no events')
        yield value
      }
    } finally {
      await reader.cancel().catch(() => {})
    }
  }
  for await (const event of parseEventStream(chunks())) {
    pending = 0
    yield event
  }
}
