/** Streams the events of a group to one watcher, as fast as the watcher reads. */
import type { SSEStreamingApi } from 'hono/streaming'
import { leaderResponse } from './responses.ts'
import type { ServedGroup } from './served-group.ts'

/** Interval of keep-alive comments. They let both sides notice a broken connection. */
const KEEP_ALIVE_MS = 10_000

export async function streamEvents(
  stream: SSEStreamingApi,
  group: Pick<ServedGroup, 'node' | 'events'>,
  lastSeen: string | undefined,
  agentClosing: AbortSignal,
): Promise<void> {
  // Not AbortSignal.any: Node 20 never frees a signal that is derived from a long-lived one.
  const closing = new AbortController()
  const close = (): void => closing.abort()
  stream.onAbort(close)
  agentClosing.addEventListener('abort', close)
  if (agentClosing.aborted) close()
  try {
    await streamUntil(closing.signal, stream, group, lastSeen)
  } finally {
    agentClosing.removeEventListener('abort', close)
  }
}

async function streamUntil(
  closing: AbortSignal,
  stream: SSEStreamingApi,
  { node, events }: Pick<ServedGroup, 'node' | 'events'>,
  lastSeen: string | undefined,
): Promise<void> {
  let position = lastSeen === undefined ? events.latest : events.positionOf(lastSeen)
  await stream.writeSSE({ event: 'snapshot', data: JSON.stringify(leaderResponse(node, node.status())) })
  while (!closing.aborted) {
    const { missed, entries } = events.after(position)
    // oxlint-disable-next-line no-await-in-loop -- backpressure: wait for the watcher to read
    if (missed) await stream.writeSSE({ event: 'missed', data: '{}' })
    for (const { id, number, event } of entries) {
      // oxlint-disable-next-line no-await-in-loop -- backpressure: wait for the watcher to read
      await stream.writeSSE({ id, event: event.event, data: JSON.stringify(event) })
      position = number
    }
    // oxlint-disable-next-line no-await-in-loop -- backpressure: wait for the watcher to read
    if (entries.length === 0) await stream.write(': keep-alive\n\n')
    // oxlint-disable-next-line no-await-in-loop -- wait for the next event
    if (events.latest === position) await events.next(closing, KEEP_ALIVE_MS)
  }
}
