import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { until } from '../../../test/support/wait.ts'
import { StoreProxy } from './store-proxy.ts'

/** An upper-casing server, so that requests and replies differ. */
let server: Server
let requests: string
let proxy: StoreProxy
let clients: Socket[]

beforeEach(async () => {
  requests = ''
  clients = []
  server = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', (data) => {
      requests += data.toString()
      socket.write(data.toString().toUpperCase())
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  proxy = await StoreProxy.start(`tcp://127.0.0.1:${(server.address() as AddressInfo).port}`)
})

afterEach(async () => {
  for (const client of clients) client.destroy()
  await proxy.close()
  server.close()
})

/** A client that collects what it receives. */
function openClient() {
  const socket = connect(proxy.port, '127.0.0.1')
  clients.push(socket)
  const client = { socket, received: '', isClosed: false }
  socket.on('error', () => {})
  socket.on('data', (data) => (client.received += data.toString()))
  socket.on('close', () => (client.isClosed = true))
  return client
}

describe('StoreProxy', () => {
  it('forwards in both directions without a fault, and rewrites URLs', async () => {
    const client = openClient()
    client.socket.write('hello')
    await until(() => client.received === 'HELLO')
    expect(proxy.connections).toBe(1)
    expect(proxy.rewrite('redis://db.example:6379/0')).toBe(`redis://127.0.0.1:${proxy.port}/0`)
  })

  it('keeps the order of chunks when the delay changes', async () => {
    const client = openClient()
    proxy.inject({ is: 'delay', ms: 50 })
    client.socket.write('one ')
    await until(() => proxy.connections === 1)
    proxy.heal()
    client.socket.write('two')
    await until(() => client.received.length === 7)
    expect(client.received).toBe('ONE TWO')
  })

  it('keeps a stalled connection dead after the fault, and accepts new ones', async () => {
    const client = openClient()
    client.socket.write('before')
    await until(() => client.received === 'BEFORE')
    proxy.inject({ is: 'stall' })
    client.socket.write('lost')
    const other = openClient()
    other.socket.write('lost, too')
    await until(() => proxy.deadConnections === 2)
    proxy.heal()
    const fresh = openClient()
    fresh.socket.write('after')
    await until(() => fresh.received === 'AFTER')
    client.socket.write('still lost')
    fresh.socket.write(' all')
    await until(() => fresh.received === 'AFTER ALL')
    expect(client.received).toBe('BEFORE')
    expect(requests).not.toContain('lost')
  })

  it('delivers requests but not replies while muted, and resets the connection afterwards', async () => {
    const client = openClient()
    client.socket.write('x')
    await until(() => client.received === 'X')
    proxy.inject({ is: 'mute' })
    client.socket.write('write')
    await until(() => requests === 'xwrite')
    proxy.heal()
    await until(() => client.isClosed)
    expect(client.received).toBe('X')
  })

  it('truncates a request and resets the connection', async () => {
    const client = openClient()
    client.socket.write('x')
    await until(() => client.received === 'X')
    proxy.inject({ is: 'cut', share: 1 })
    client.socket.write('12345678')
    await until(() => client.isClosed)
    expect('x1234'.startsWith(requests)).toBe(true)
  })

  it('resets existing and new connections while it refuses', async () => {
    const client = openClient()
    client.socket.write('x')
    await until(() => client.received === 'X')
    proxy.inject({ is: 'refuse' })
    await until(() => client.isClosed)
    const next = openClient()
    await until(() => next.isClosed)
    expect(proxy.connections).toBe(0)
  })
})
