/** What one node sends to another goes through here, so that there are real datagrams to spoil and to send again. */
import { createSocket, type Socket } from 'node:dgram'

export type Recorded = { readonly port: number; readonly bytes: Buffer }

/** How many are kept, the latest. */
const MOST_RECORDED = 2000

export class Relays {
  readonly #sockets: Socket[] = []
  readonly recorded: Recorded[] = []

  /** A port from which everything goes on to another. */
  async to(port: number): Promise<number> {
    const socket = createSocket('udp4')
    this.#sockets.push(socket)
    socket.on('error', () => {})
    socket.on('message', (bytes) => {
      this.recorded.push({ port, bytes })
      if (this.recorded.length > 2 * MOST_RECORDED) this.recorded.splice(0, MOST_RECORDED)
      socket.send(bytes, port, '127.0.0.1', () => {})
    })
    await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
    return socket.address().port
  }

  close(): void {
    for (const socket of this.#sockets) socket.close()
  }
}
