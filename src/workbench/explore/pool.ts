/** Short lists of integers, one after another in one flat array: what the inner loop of the search reads. */
export class Pool {
  /** Read directly by the inner loops; replaced when it grows, which undoes their optimisation: so large at once. */
  data = new Int32Array(1 << 15)
  #used = 0

  /** Where the list begins. */
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

/** Numbers by a small number that grows; -1 where none was set. */
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
