import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseEventStream, type ServerSentEvent } from './event-stream.ts'

async function* chunksOf(...parts: readonly (string | Uint8Array)[]): AsyncGenerator<Uint8Array, void, void> {
  for (const part of parts) yield typeof part === 'string' ? new TextEncoder().encode(part) : part
}

async function parse(...parts: readonly (string | Uint8Array)[]): Promise<readonly ServerSentEvent[]> {
  const events: ServerSentEvent[] = []
  for await (const event of parseEventStream(chunksOf(...parts))) events.push(event)
  return events
}

describe('a stream of events', () => {
  it('has the type, the id and the data of each event', async () => {
    expect(await parse('event: leader\nid: 7\ndata: {"id":"a"}\n\ndata: x\n\n')).toEqual([
      { event: 'leader', id: '7', data: '{"id":"a"}' },
      { event: '', id: '', data: 'x' },
    ])
  })

  it('skips comments that keep the connection open, and fields it does not know', async () => {
    expect(await parse(': keep-alive\n\nretry: 5\ndata: x\n\n')).toEqual([{ event: '', id: '', data: 'x' }])
  })

  it('keeps colons within data', async () => {
    expect(await parse('data: {"a": "b: c"}\n\n')).toEqual([{ event: '', id: '', data: '{"a": "b: c"}' }])
  })

  it('drops an event that the stream cuts off', async () => {
    expect(await parse('data: whole\n\ndata: half\n')).toEqual([{ event: '', id: '', data: 'whole' }])
    expect(await parse()).toEqual([])
  })

  it('is the same however it is split into chunks, even within a character', async () => {
    const bytes = new TextEncoder().encode('event: é\ndata: 日本\n\n: x\n\nid: 2\ndata: 🙂\n\n')
    const whole = await parse(bytes)
    expect(whole).toHaveLength(2)
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(fc.nat(bytes.length)), async (cuts) => {
        const ends = [...cuts.toSorted((a, b) => a - b), bytes.length]
        const parts = ends.map((end, index) => bytes.slice(ends[index - 1] ?? 0, end))
        expect(await parse(...parts)).toEqual(whole)
      }),
    )
  })
})
