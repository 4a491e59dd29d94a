/**
 * The event queue: ordered by time, then by insertion.
 *
 * A 4-ary heap over typed arrays. An entry is a slot number; the caller keeps the payload of the slot.
 * Popping an entry frees its slot.
 */
const START = 1024

export class EventQueue {
  #size = 0
  #times = new Float64Array(START)
  #orders = new Float64Array(START)
  /** A permutation of all slots: those of the entries, in the order of the heap, and behind them a stack of free ones. */
  #slots = Int32Array.from({ length: START }, (_, slot) => slot)
  #pushed = 0

  get size(): number {
    return this.#size
  }

  /** The time of the next entry. Undefined behaviour on an empty queue. */
  get nextTime(): number {
    return this.#times[0] as number
  }

  /** Adds an entry and returns its slot. */
  push(time: number): number {
    if (this.#size === this.#times.length) this.#grow()
    const slot = this.#slots[this.#size] as number
    this.#rise(this.#size++, time, this.#pushed++, slot)
    return slot
  }

  /** Removes the next entry and returns its slot. */
  pop(): number {
    const slot = this.#slots[0] as number
    const last = --this.#size
    if (last > 0) {
      this.#sink(this.#times[last] as number, this.#orders[last] as number, this.#slots[last] as number)
    }
    this.#slots[last] = slot
    return slot
  }

  /** All entries, in the order in which they will be popped. Slow. */
  entries(): readonly { readonly time: number; readonly slot: number }[] {
    return Array.from({ length: this.#size }, (_, at) => ({
      time: this.#times[at] as number,
      order: this.#orders[at] as number,
      slot: this.#slots[at] as number,
    })).sort((a, b) => a.time - b.time || a.order - b.order)
  }

  #rise(from: number, time: number, order: number, slot: number): void {
    const times = this.#times
    const orders = this.#orders
    const slots = this.#slots
    let at = from
    while (at > 0) {
      const parent = (at - 1) >> 2
      // A new entry comes after all entries with the same time, so an equal time does not rise.
      if ((times[parent] as number) <= time) break
      times[at] = times[parent] as number
      orders[at] = orders[parent] as number
      slots[at] = slots[parent] as number
      at = parent
    }
    times[at] = time
    orders[at] = order
    slots[at] = slot
  }

  #sink(time: number, order: number, slot: number): void {
    const times = this.#times
    const orders = this.#orders
    const slots = this.#slots
    const size = this.#size
    let at = 0
    for (;;) {
      const first = (at << 2) + 1
      if (first >= size) break
      const end = first + 4 < size ? first + 4 : size
      let least = first
      let leastTime = times[first] as number
      for (let child = first + 1; child < end; child++) {
        const childTime = times[child] as number
        if (
          childTime < leastTime ||
          (childTime === leastTime && (orders[child] as number) < (orders[least] as number))
        ) {
          least = child
          leastTime = childTime
        }
      }
      if (leastTime > time || (leastTime === time && (orders[least] as number) > order)) break
      times[at] = leastTime
      orders[at] = orders[least] as number
      slots[at] = slots[least] as number
      at = least
    }
    times[at] = time
    orders[at] = order
    slots[at] = slot
  }

  #grow(): void {
    const capacity = this.#times.length * 2
    const times = new Float64Array(capacity)
    const orders = new Float64Array(capacity)
    const slots = Int32Array.from({ length: capacity }, (_, slot) => slot)
    times.set(this.#times)
    orders.set(this.#orders)
    slots.set(this.#slots)
    this.#times = times
    this.#orders = orders
    this.#slots = slots
  }
}
