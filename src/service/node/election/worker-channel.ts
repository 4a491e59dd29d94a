/** The line to the thread of an election: what is asked of it and answered, and what it tells by itself. */
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import type { WorkerMessage, WorkerRequest } from './worker-requests.ts'

/** Without its number, which it gets on the way. */
type Asked = WorkerRequest extends infer E ? (E extends WorkerRequest ? Omit<E, 'number'> : never) : never

/** What it tells without having been asked. */
export type WorkerNotification = Exclude<WorkerMessage, { readonly news: 'answer' | 'trace' }>

const ENDED = 'this node has ended'

export class WorkerChannel {
  readonly #port: MessagePort
  readonly #heed: (news: WorkerNotification) => void
  readonly #answers = new Map<number, (why: string | null) => void>()
  /** Who waits for the pieces of a trace, by the number under which it was asked for. */
  readonly #pieces = new Map<number, (piece: string) => void>()
  #asked = 0
  #isOver = false

  constructor(port: MessagePort, heed: (news: WorkerNotification) => void) {
    this.#port = port
    this.#heed = heed
    port.on('message', (news: WorkerMessage) => this.#hear(news))
    // The thread keeps the process running; this port need not.
    port.unref()
  }

  /** Null when it was done, otherwise why it was not. */
  ask(asked: Asked): Promise<string | null> {
    if (this.#isOver) return Promise.resolve(ENDED)
    this.#asked += 1
    const number = this.#asked
    return new Promise((resolve) => {
      this.#answers.set(number, resolve)
      this.#port.postMessage({ ...asked, number } satisfies WorkerRequest)
    })
  }

  /** Nothing is asked after this. */
  askLast(asked: Asked): Promise<string | null> {
    const answer = this.ask(asked)
    this.#isOver = true
    return answer
  }

  async *trace(): AsyncGenerator<string, void, void> {
    const pieces: string[] = []
    let wake: () => void = () => {}
    let isTold = false
    const number = this.#asked + 1
    this.#pieces.set(number, (piece) => {
      pieces.push(piece)
      wake()
    })
    void this.ask({ ask: 'trace' }).then(() => {
      isTold = true
      wake()
    })
    try {
      for (;;) {
        while (pieces.length > 0) yield pieces.shift() as string
        if (isTold) return
        // oxlint-disable-next-line no-await-in-loop -- until there is another piece
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    } finally {
      this.#pieces.delete(number)
    }
  }

  /** Reads what has arrived already, before its turn. */
  catchUp(): void {
    for (let next = receiveMessageOnPort(this.#port); next !== undefined; ) {
      this.#hear(next.message as WorkerMessage)
      next = receiveMessageOnPort(this.#port)
    }
  }

  /** Whoever waits for an answer gets none but this. */
  end(): void {
    this.#isOver = true
    this.#port.close()
    for (const answer of this.#answers.values()) answer(ENDED)
    this.#answers.clear()
  }

  #hear(news: WorkerMessage): void {
    if (news.news === 'answer') {
      this.#answers.get(news.number)?.(news.why)
      this.#answers.delete(news.number)
    } else if (news.news === 'trace') this.#pieces.get(news.number)?.(news.piece)
    else this.#heed(news)
  }
}
