/** Ports on loopback that nobody uses at this moment. */
import { createSocket } from 'node:dgram'

export async function freePorts(count: number): Promise<readonly number[]> {
  const sockets = Array.from({ length: count }, () => createSocket('udp4'))
  const ports = await Promise.all(
    sockets.map(
      (socket) =>
        new Promise<number>((resolve) => {
          socket.bind(0, '127.0.0.1', () => resolve(socket.address().port))
        }),
    ),
  )
  await Promise.all(sockets.map((socket) => new Promise<void>((resolve) => socket.close(() => resolve()))))
  return ports
}
