/** Ports on loopback that nobody uses at this moment. All are held until the last is found: no two are the same. */
import { createSocket } from 'node:dgram'
import { type AddressInfo, createServer } from 'node:net'

type Held = { readonly port: number; free(): Promise<void> }

/** From `first` upwards where they are free; any others where not, or when it is 0. */
export async function freePorts(count: number, kind: 'udp' | 'tcp', first = 0): Promise<readonly number[]> {
  const hold = kind === 'udp' ? holdUdp : holdTcp
  const held = await Promise.all(
    Array.from({ length: count }, (_, index) =>
      first === 0 ? hold(0) : hold(first + index).catch(() => hold(0)),
    ),
  )
  await Promise.all(held.map(({ free }) => free()))
  return held.map(({ port }) => port)
}

function holdUdp(port: number): Promise<Held> {
  const socket = createSocket('udp4')
  const free = (): Promise<void> => new Promise((resolve) => socket.close(() => resolve()))
  return new Promise((resolve, reject) => {
    socket.once('error', reject)
    socket.bind(port, '127.0.0.1', () => resolve({ port: socket.address().port, free }))
  })
}

function holdTcp(port: number): Promise<Held> {
  const server = createServer()
  const free = (): Promise<void> => new Promise((resolve) => server.close(() => resolve()))
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => resolve({ port: (server.address() as AddressInfo).port, free }))
  })
}
