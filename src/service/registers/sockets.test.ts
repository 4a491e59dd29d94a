import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { SocketTracker } from './sockets.ts'

async function serverPort(): Promise<number> {
  const server = createServer((socket) => socket.on('error', () => {}))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** A connected socket, as a client library opens it. */
async function open(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  onTestFinished(() => {
    socket.destroy()
  })
  await Promise.race([once(socket, 'connect'), once(socket, 'close')])
  return socket
}

it('destroys the sockets that a task has opened, also after an await, and no others', async () => {
  const port = await serverPort()
  const tracker = new SocketTracker()
  const other = await open(port)
  const own = await tracker.run(async () => {
    const first = await open(port)
    await new Promise((resolve) => setImmediate(resolve))
    return [first, await open(port)]
  })
  tracker.destroy()
  expect([...own, other].map(({ destroyed }) => destroyed)).toEqual([true, true, false])
})

it('destroys a socket that the task opens after the end', async () => {
  const port = await serverPort()
  const tracker = new SocketTracker()
  const late = await tracker.run(async () => {
    tracker.destroy()
    return open(port)
  })
  expect(late.destroyed).toBe(true)
})

it('separates tasks that run at the same time', async () => {
  const port = await serverPort()
  const [one, two] = [new SocketTracker(), new SocketTracker()]
  const [first, second] = await Promise.all([one.run(() => open(port)), two.run(() => open(port))])
  one.destroy()
  expect([first.destroyed, second.destroyed]).toEqual([true, false])
})
