import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads'
import { describe, expect, it, onTestFinished } from 'vitest'
import { WorkerChannel, type WorkerNotification } from './worker-channel.ts'
import type { WorkerMessage, WorkerRequest } from './worker-requests.ts'

/** A channel, and the port of the worker, which the test plays. */
function lab() {
  const { port1, port2 } = new MessageChannel()
  const notified: WorkerNotification[] = []
  const channel = new WorkerChannel(port1, (message) => notified.push(message))
  onTestFinished(() => {
    channel.close()
    port2.close()
  })
  return {
    channel,
    notified,
    /** The requests that have arrived at the worker. */
    requests(): readonly WorkerRequest[] {
      const all: WorkerRequest[] = []
      for (let next = receiveMessageOnPort(port2); next !== undefined; next = receiveMessageOnPort(port2))
        all.push(next.message as WorkerRequest)
      return all
    },
    send: (message: WorkerMessage) => port2.postMessage(message),
  }
}

describe('a request to a worker', () => {
  it('has a number of its own, and resolves with the reply to that number', async () => {
    const { channel, requests, send } = lab()
    const first = channel.request({ request: 'stepDown', token: 4 })
    const second = channel.request({ request: 'command', command: { do: 'campaign', willing: true } })
    expect(requests()).toEqual([
      { request: 'stepDown', token: 4, number: 1 },
      { request: 'command', command: { do: 'campaign', willing: true }, number: 2 },
    ])
    send({ message: 'reply', number: 2, why: 'only a leader can' })
    send({ message: 'reply', number: 1, why: null })
    expect([await first, await second]).toEqual([null, 'only a leader can'])
  })

  it('is refused after the last one, which is still answered', async () => {
    const { channel, requests, send } = lab()
    const last = channel.requestLast({ request: 'close' })
    expect(await channel.request({ request: 'stepDown', token: null })).toBe('this node is closed')
    expect(requests()).toEqual([{ request: 'close', number: 1 }])
    send({ message: 'reply', number: 1, why: null })
    expect(await last).toBeNull()
  })

  it('without a reply resolves when the channel is closed', async () => {
    const { channel } = lab()
    const waiting = [channel.request({ request: 'close' }), channel.request({ request: 'trace' })]
    channel.close()
    expect(await Promise.all(waiting)).toEqual(['this node is closed', 'this node is closed'])
    expect(await channel.request({ request: 'close' })).toBe('this node is closed')
  })
})

it('hands messages that are no replies to its owner, in their order', () => {
  const { channel, notified, send } = lab()
  send({ message: 'started' })
  send({ message: 'reply', number: 99, why: null })
  send({ message: 'warning', what: 'clock', detail: 'was set' })
  channel.drain()
  expect(notified).toEqual([{ message: 'started' }, { message: 'warning', what: 'clock', detail: 'was set' }])
  channel.drain()
  expect(notified).toHaveLength(2)
})

it('drains replies before the event loop delivers them', async () => {
  const { channel, send } = lab()
  let why: string | null = 'not yet'
  const request = channel.request({ request: 'stepDown', token: 1 }).then((answer) => (why = answer))
  send({ message: 'reply', number: 1, why: null })
  channel.drain()
  await Promise.resolve()
  expect(why).toBeNull()
  await request
})

describe('a trace', () => {
  it('yields its pieces until the reply, each to its own reader', async () => {
    const { channel, send } = lab()
    const read = async (): Promise<string> => {
      let text = ''
      for await (const piece of channel.trace()) text += piece
      return text
    }
    const both = Promise.all([read(), read()])
    send({ message: 'trace', number: 1, piece: 'a' })
    send({ message: 'trace', number: 2, piece: 'x' })
    send({ message: 'trace', number: 1, piece: 'b' })
    send({ message: 'reply', number: 2, why: null })
    send({ message: 'reply', number: 1, why: null })
    expect(await both).toEqual(['ab', 'x'])
  })

  it('ends without pieces when the channel is closed', async () => {
    const { channel } = lab()
    channel.close()
    expect((await channel.trace().next()).done).toBe(true)
  })
})

describe('messages of a worker', () => {
  it('are handled one after the other, also if a handler looks for more', () => {
    const { port1, port2 } = new MessageChannel()
    const log: string[] = []
    const channel: WorkerChannel = new WorkerChannel(port1, (message) => {
      const { detail } = message as { readonly detail: string }
      log.push(`${detail} begins`)
      channel.drain()
      log.push(`${detail} ends`)
    })
    onTestFinished(() => {
      channel.close()
      port2.close()
    })
    for (const detail of ['first', 'second']) port2.postMessage({ message: 'warning', what: 'test', detail })
    channel.drain()
    expect(log).toEqual(['first begins', 'first ends', 'second begins', 'second ends'])
  })
})
