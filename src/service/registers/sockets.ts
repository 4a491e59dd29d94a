/**
 * Tracks the sockets that a client library opens, so that they can be destroyed. A library can leak a socket when a
 * connection attempt is aborted before the server responds. A diagnostics channel of Node.js reports every new socket,
 * and AsyncLocalStorage tells who opened it.
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

  /** Tracks every socket that the task opens, now and later. */
  run<T>(task: () => Promise<T>): Promise<T> {
    return owner.run(this, task)
  }

  add(socket: Socket): void {
    this.#open.add(socket)
    socket.once('close', () => this.#open.delete(socket))
    // Not at once: the socket is reported before it connects, and connecting revives a destroyed socket.
    if (this.#isEnded) queueMicrotask(() => socket.destroy())
  }

  /** Destroys all tracked sockets, and every socket that is opened later. */
  destroy(): void {
    this.#isEnded = true
    for (const socket of this.#open) socket.destroy()
  }
}
