/** Short lists of integers in one flat array. The inner loops of the search read from it. */
export class Pool {
  /**
   * The inner loops read this array directly. Growing replaces it, which deoptimizes them, so it starts
   * large.
   */
  data = new Int32Array(1 << 15)
  #used = 0

  /** Appends a list and returns its offset. */
  add(list: readonly number[]): number {
    const start = this.#used
    this.#used += list.length
    if (this.#used > this.data.length) {
      const larger = new Int32Array(Math.max(this.data.length * 2, this.#used))
      larger.set(this.data)
      this.data = larger
    }
    this.data.set(list, start)
    return start
  }
}

/** A growing array of integers, indexed by id; -1 for unset. */
export class Index {
  data = new Int32Array(1 << 12).fill(-1)

  set(id: number, value: number): void {
    if (id >= this.data.length) {
      const larger = new Int32Array(Math.max(this.data.length * 2, id + 1)).fill(-1)
      larger.set(this.data)
      this.data = larger
    }
    this.data[id] = value
  }

  get(id: number): number {
    return id < this.data.length ? (this.data[id] as number) : -1
  }
}
