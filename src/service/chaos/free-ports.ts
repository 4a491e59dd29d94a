/** Finds unused loopback ports. All are held until the last is found, so that they differ. */
import { createSocket } from 'node:dgram'
import { type AddressInfo, createServer } from 'node:net'

type HeldPort = { readonly port: number; release(): Promise<void> }

/** Prefers consecutive ports from `first`; uses any free port where one is taken, or if `first` is 0. */
export async function findFreePorts(
  count: number,
  kind: 'udp' | 'tcp',
  first = 0,
): Promise<readonly number[]> {
  const hold = kind === 'udp' ? holdUdp : holdTcp
  const held = await Promise.all(
    Array.from({ length: count }, (_, index) =>
      first === 0 ? hold(0) : hold(first + index).catch(() => hold(0)),
    ),
  )
  await Promise.all(held.map(({ release }) => release()))
  return held.map(({ port }) => port)
}

function holdUdp(port: number): Promise<HeldPort> {
  const socket = createSocket('udp4')
  const release = (): Promise<void> => new Promise((resolve) => socket.close(() => resolve()))
  return new Promise((resolve, reject) => {
    socket.once('error', reject)
    socket.bind(port, '127.0.0.1', () => resolve({ port: socket.address().port, release }))
  })
}

function holdTcp(port: number): Promise<HeldPort> {
  const server = createServer()
  const release = (): Promise<void> => new Promise((resolve) => server.close(() => resolve()))
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => resolve({ port: (server.address() as AddressInfo).port, release }))
  })
}
