/** Runs the tasks of a name one after the other, and tasks of different names at the same time. */
export class NamedQueue {
  /** The end of the last task of each name. */
  readonly #ends = new Map<string, Promise<void>>()

  run<T>(name: string, task: () => Promise<T>): Promise<T> {
    const result = (this.#ends.get(name) ?? Promise.resolve()).then(task)
    const end = result
      .then(
        () => {},
        () => {},
      )
      .then(() => {
        if (this.#ends.get(name) === end) this.#ends.delete(name)
      })
    this.#ends.set(name, end)
    return result
  }

  /** Resolves when all tasks that were added so far have ended. */
  async drain(): Promise<void> {
    await Promise.all(this.#ends.values())
  }
}
