/** Finds unused loopback ports. All are held until the last is found, so that they differ. */
import { createSocket } from 'node:dgram'
import { type AddressInfo, createServer } from 'node:net'

type HeldPort = { readonly port: number; release(): Promise<void> }

const HOLDERS = { udp: holdUdp, tcp: holdTcp, both: holdBoth }
const MAX_TRIES = 20

/**
 * Prefers consecutive ports from `first`; uses any free port where one is taken, or if `first` is 0. With `both`, the
 * numbers are free for UDP and for TCP.
 */
export async function findFreePorts(
  count: number,
  kind: keyof typeof HOLDERS,
  first = 0,
): Promise<readonly number[]> {
  const hold = HOLDERS[kind]
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

async function holdBoth(port: number, tries = 1): Promise<HeldPort> {
  const udp = await holdUdp(port)
  try {
    const tcp = await holdTcp(udp.port)
    return {
      port: udp.port,
      async release() {
        await Promise.all([udp.release(), tcp.release()])
      },
    }
  } catch (error) {
    await udp.release()
    if (port !== 0 || tries === MAX_TRIES) throw error
    return holdBoth(0, tries + 1)
  }
}
