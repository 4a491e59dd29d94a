/**
 * Finds unused loopback ports. All are held until the last is found, so that they differ. They are not in the range from
 * which systems take ports for outgoing connections, so they stay free while a process that listens there restarts.
 */
import { createSocket } from 'node:dgram'
import { type AddressInfo, createServer } from 'node:net'

type HeldPort = { readonly port: number; release(): Promise<void> }

const HOLDERS = { udp: holdUdp, tcp: holdTcp, both: holdBoth }
const MAX_TRIES = 200
const FIRST_PORT = 10_240
const PORTS = 14_000
/** Processes that search at the same time begin far from each other. */
const STRIDE = 131

let searched = process.pid * STRIDE

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
      first === 0 ? holdAny(hold) : hold(first + index).catch(() => holdAny(hold)),
    ),
  )
  await Promise.all(held.map(({ release }) => release()))
  return held.map(({ port }) => port)
}

async function holdAny(hold: (port: number) => Promise<HeldPort>, tries = 1): Promise<HeldPort> {
  searched += 1
  try {
    return await hold(FIRST_PORT + (searched % PORTS))
  } catch (error) {
    if (tries === MAX_TRIES) throw error
    return holdAny(hold, tries + 1)
  }
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

async function holdBoth(port: number): Promise<HeldPort> {
  const udp = await holdUdp(port)
  try {
    const tcp = await holdTcp(port)
    return {
      port,
      async release() {
        await Promise.all([udp.release(), tcp.release()])
      },
    }
  } catch (error) {
    await udp.release()
    throw error
  }
}
