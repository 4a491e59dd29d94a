/**
 * The sockets that a client library opens, so that they can be destroyed. A library may leave a socket behind when an
 * attempt to connect is given up before the server has said anything; Node.js tells of every socket that is made, and in
 * whose asynchronous context.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { channel } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'

const owner = new AsyncLocalStorage<SocketTracker>()

channel('net.client.socket').subscribe((message) => {
  owner.getStore()?.add((message as { readonly socket: Socket }).socket)
})

export class SocketTracker {
  readonly #open = new Set<Socket>()
  #isEnded = false

  /** What the task opens belongs to these, now and later. */
  run<T>(task: () => Promise<T>): Promise<T> {
    return owner.run(this, task)
  }

  add(socket: Socket): void {
    this.#open.add(socket)
    socket.once('close', () => this.#open.delete(socket))
    if (this.#isEnded) socket.destroy()
  }

  /** Destroys all of them, and whatever else is opened. */
  destroy(): void {
    this.#isEnded = true
    for (const socket of this.#open) socket.destroy()
  }
}
