import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { expect, it } from 'vitest'
import { until } from '../../../test/support/wait.ts'
import { findFreePorts } from './free-ports.ts'
import { Relays } from './relay.ts'

it('forwards datagrams to the receiver and records them', async () => {
  const receiver = createSocket('udp4')
  const sender = createSocket('udp4')
  const relays = new Relays()
  const received: string[] = []
  try {
    receiver.on('message', (bytes) => received.push(bytes.toString()))
    receiver.bind(0, '127.0.0.1')
    await once(receiver, 'listening')
    const { port } = receiver.address()
    const relay = await relays.forwardTo(port)
    expect(relay).not.toBe(port)
    await until(() => {
      sender.send('hello', relay, '127.0.0.1')
      return received.length > 0
    })
    expect(received[0]).toBe('hello')
    expect(relays.recorded[0]).toEqual({ port, bytes: Buffer.from('hello') })
  } finally {
    relays.close()
    receiver.close()
    sender.close()
  }
})

it.each(['udp', 'tcp'] as const)('finds distinct free %s ports', async (kind) => {
  const ports = await findFreePorts(5, kind)
  expect(new Set(ports).size).toBe(5)
  expect(ports.every((port) => port > 0 && port < 65_536)).toBe(true)
})

it('uses another port where a preferred one is taken', async () => {
  const holder = createSocket('udp4')
  holder.bind(0, '127.0.0.1')
  await once(holder, 'listening')
  try {
    const { port } = holder.address()
    const [found] = await findFreePorts(1, 'udp', port)
    expect(found).not.toBe(port)
  } finally {
    holder.close()
  }
})
