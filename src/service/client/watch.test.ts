import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished, vi } from 'vitest'
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

it.each(['before it answers', 'after the snapshot'])(
  'gives up an agent that falls silent %s',
  async (when) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    let stop = (): void => {}
    const server = createServer((_request, response) => {
      stop = () => response.destroy()
      if (when === 'before it answers') return
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('event: snapshot\ndata: {"group":"g","leader":null}\n\n')
    })
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', () => resolve())
    })
    onTestFinished(() => {
      vi.useRealTimers()
      stop()
      server.close()
    })
    const agent = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const events = watch({ agent })
    if (when === 'after the snapshot') expect((await events.next()).value).toMatchObject({ type: 'snapshot' })
    // A caller that does not wait is not silent.
    await vi.advanceTimersByTimeAsync(60_000)
    const ended = events.next().then(
      () => 'an event',
      (error: Error) => `${error.name}: ${error.message}`,
    )
    await vi.advanceTimersByTimeAsync(29_000)
    expect(await Promise.race([ended, Promise.resolve('waits')])).toBe('waits')
    await vi.advanceTimersByTimeAsync(2000)
    expect(await ended).toMatch(/^AgentUnreachableError: the agent at http:\S+ has sent nothing for 30 s/)
  },
  20_000,
)
