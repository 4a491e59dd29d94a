import { type AddressInfo, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { findFreePorts as free } from '../../src/service/chaos/free-ports.ts'

/** Ports on loopback that are free at this moment, for UDP and TCP. */
export function freePorts(count: number): Promise<readonly number[]> {
  return free(count, 'both')
}

/** A port that accepts connections and never sends anything, until the test ends. */
export async function silentPort(): Promise<number> {
  const server = createServer()
  const sockets: Socket[] = []
  server.on('connection', (socket) => sockets.push(socket.on('error', () => {}).resume()))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}
