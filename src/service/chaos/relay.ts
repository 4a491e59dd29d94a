/** UDP relays between the nodes. They record real datagrams, which the flood corrupts and replays. */
import { createSocket, type Socket } from 'node:dgram'

export type RecordedDatagram = { readonly port: number; readonly bytes: Buffer }

/** Limit of recorded datagrams; the latest are kept. */
const MAX_RECORDED = 2000

export class Relays {
  readonly #sockets: Socket[] = []
  readonly recorded: RecordedDatagram[] = []

  /** Opens a port that forwards every datagram to the given port. */
  async forwardTo(port: number): Promise<number> {
    const socket = createSocket('udp4')
    this.#sockets.push(socket)
    socket.on('error', () => {})
    socket.on('message', (bytes) => {
      this.recorded.push({ port, bytes })
      if (this.recorded.length > 2 * MAX_RECORDED) this.recorded.splice(0, MAX_RECORDED)
      socket.send(bytes, port, '127.0.0.1', () => {})
    })
    await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
    return socket.address().port
  }

  close(): void {
    for (const socket of this.#sockets) socket.close()
  }
}
