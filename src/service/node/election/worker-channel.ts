/** The channel to the worker of an election: requests and replies, and messages that the worker sends by itself. */
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import type { WorkerMessage, WorkerRequest } from './worker-requests.ts'

/** A request without its number, which the channel adds. */
type UnnumberedRequest = WorkerRequest extends infer E
  ? E extends WorkerRequest
    ? Omit<E, 'number'>
    : never
  : never

/** A message that is not a reply. */
export type WorkerNotification = Exclude<WorkerMessage, { readonly message: 'reply' | 'trace' }>

const CLOSED = 'this node is closed'

export class WorkerChannel {
  readonly #port: MessagePort
  readonly #handle: (message: WorkerNotification) => void
  readonly #replies = new Map<number, (why: string | null) => void>()
  /** The receivers of the pieces of a trace, by the number of the request. */
  readonly #pieces = new Map<number, (piece: string) => void>()
  #lastNumber = 0
  #isHandling = false
  #isClosed = false

  constructor(port: MessagePort, handle: (message: WorkerNotification) => void) {
    this.#port = port
    this.#handle = handle
    port.on('message', (message: WorkerMessage) => this.#receive(message))
    // The worker keeps the process running; this port need not.
    port.unref()
  }

  /** Resolves to null when the request was carried out, otherwise to why it was not. */
  request(request: UnnumberedRequest): Promise<string | null> {
    if (this.#isClosed) return Promise.resolve(CLOSED)
    this.#lastNumber += 1
    const number = this.#lastNumber
    return new Promise((resolve) => {
      this.#replies.set(number, resolve)
      this.#port.postMessage({ ...request, number } satisfies WorkerRequest)
    })
  }

  /** The last request: later ones are not sent. */
  requestLast(request: UnnumberedRequest): Promise<string | null> {
    const reply = this.request(request)
    this.#isClosed = true
    return reply
  }

  async *trace(): AsyncGenerator<string, void, void> {
    const pieces: string[] = []
    let wake: () => void = () => {}
    let isComplete = false
    const number = this.#lastNumber + 1
    this.#pieces.set(number, (piece) => {
      pieces.push(piece)
      wake()
    })
    void this.request({ request: 'trace' }).then(() => {
      isComplete = true
      wake()
    })
    try {
      for (;;) {
        while (pieces.length > 0) yield pieces.shift() as string
        if (isComplete) return
        // oxlint-disable-next-line no-await-in-loop -- until there is another piece
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    } finally {
      this.#pieces.delete(number)
    }
  }

  /**
   * Handles the messages that have arrived, before the event loop delivers them. While a message is handled, the next one
   * waits: a listener that asks for the status gets that of its own message.
   */
  drain(): void {
    if (this.#isHandling) return
    for (let next = receiveMessageOnPort(this.#port); next !== undefined; ) {
      this.#receive(next.message as WorkerMessage)
      next = receiveMessageOnPort(this.#port)
    }
  }

  /** Requests without a reply resolve to `CLOSED`. */
  close(): void {
    this.#isClosed = true
    this.#port.close()
    for (const reply of this.#replies.values()) reply(CLOSED)
    this.#replies.clear()
  }

  #receive(message: WorkerMessage): void {
    if (message.message === 'reply') {
      this.#replies.get(message.number)?.(message.why)
      this.#replies.delete(message.number)
    } else if (message.message === 'trace') this.#pieces.get(message.number)?.(message.piece)
    else {
      this.#isHandling = true
      try {
        this.#handle(message)
      } finally {
        this.#isHandling = false
      }
    }
  }
}
