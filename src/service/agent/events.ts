/** A stream of events to one watcher, as fast as it reads. */
import type { SSEStreamingApi } from 'hono/streaming'
import { leaderAnswer, type Served } from './responses.ts'

/** Something is sent at least this often, so that both sides notice when the other is gone. */
const KEEP_ALIVE_MS = 10_000

export async function tellEvents(
  stream: SSEStreamingApi,
  { node, history }: Served,
  lastSeen: string | undefined,
  ending: AbortSignal,
): Promise<void> {
  // Not AbortSignal.any: what it makes of a signal that lives as long as the agent is never freed in Node 20.
  const gone = new AbortController()
  const leave = (): void => gone.abort()
  stream.onAbort(leave)
  ending.addEventListener('abort', leave)
  if (ending.aborted) leave()
  try {
    await tellUntil(gone.signal, stream, { node, history }, lastSeen)
  } finally {
    ending.removeEventListener('abort', leave)
  }
}

async function tellUntil(
  over: AbortSignal,
  stream: SSEStreamingApi,
  { node, history }: Pick<Served, 'node' | 'history'>,
  lastSeen: string | undefined,
): Promise<void> {
  let place = lastSeen === undefined ? history.latest : history.placeOf(lastSeen)
  await stream.writeSSE({ event: 'now', data: JSON.stringify(leaderAnswer(node, node.status())) })
  while (!over.aborted) {
    const { missed, entries } = history.after(place)
    // oxlint-disable-next-line no-await-in-loop -- as fast as the watcher reads
    if (missed) await stream.writeSSE({ event: 'missed', data: '{}' })
    for (const { id, number, event } of entries) {
      // oxlint-disable-next-line no-await-in-loop -- as fast as the watcher reads
      await stream.writeSSE({ id, event: event.event, data: JSON.stringify(event) })
      place = number
    }
    // oxlint-disable-next-line no-await-in-loop -- as fast as the watcher reads
    if (entries.length === 0) await stream.write(': still here\n\n')
    // oxlint-disable-next-line no-await-in-loop -- until there is something to tell
    if (history.latest === place) await history.next(over, KEEP_ALIVE_MS)
  }
}
