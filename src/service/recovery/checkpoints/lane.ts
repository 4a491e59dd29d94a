/**
 * One column on its way to its holder. Frames wait in a short queue, so that a slow holder does not stop the others at
 * once, and memory stays bounded. A lane that fails takes no more frames; the others go on.
 */
import type { ColumnWriter } from '../store/index.ts'

export class Lane {
  readonly #opening: Promise<ColumnWriter>
  #last: Promise<void>
  #waiting = 0
  #failure: Error | null = null
  readonly #onRoom: () => void

  /** `onRoom` is called whenever a frame has left the queue, and when the lane fails. */
  constructor(open: () => Promise<ColumnWriter>, onRoom: () => void) {
    this.#onRoom = onRoom
    this.#opening = open()
    this.#last = this.#opening.then(
      () => {},
      (error: unknown) => this.#fail(error),
    )
  }

  /** Null while it works. */
  get failure(): Error | null {
    return this.#failure
  }

  get waiting(): number {
    return this.#failure === null ? this.#waiting : 0
  }

  /** The chunks must not change until `onSent` is called, which is always called. */
  push(chunks: readonly Uint8Array[], onSent: () => void = () => {}): void {
    if (this.#failure !== null) {
      onSent()
      return
    }
    this.#waiting += 1
    this.#last = this.#last.then(async () => {
      try {
        if (this.#failure === null) await (await this.#opening).write(chunks)
      } catch (error) {
        this.#fail(error)
      } finally {
        this.#waiting -= 1
        onSent()
        this.#onRoom()
      }
    })
  }

  /** Resolves when the column is acknowledged, or the lane has failed. */
  async finish(afterwards: () => Promise<void>): Promise<void> {
    await this.#last
    if (this.#failure !== null) return
    try {
      await (await this.#opening).finish()
      await afterwards()
    } catch (error) {
      this.#fail(error)
    }
  }

  /** Releases what the lane holds. Does nothing to a column that is acknowledged. */
  async abort(reason: Error): Promise<void> {
    this.#failure ??= reason
    await this.#opening.then(
      (writer) => writer.abort(),
      () => {},
    )
  }

  #fail(error: unknown): void {
    this.#failure ??= error instanceof Error ? error : new Error(String(error))
    this.#onRoom()
    void this.#opening.then(
      (writer) => writer.abort(),
      () => {},
    )
  }
}
