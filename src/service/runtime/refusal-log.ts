/**
 * What was refused, told now and then: each reason at once the first time, then at most once an interval, with how many
 * there were. The end of a flood is reported too: the remaining count is reported when the interval is over.
 */

export type DroppedDatagrams = {
  readonly reason: string
  /** How many since it was last said. */
  readonly count: number
  /** Of the last of them. */
  readonly from: string
  readonly detail: string
}

const INTERVAL_MS = 10_000

type Unsaid = {
  count: number
  from: string
  detail: string
  timer: NodeJS.Timeout | null
  readonly tolerated: number
}

export class RefusalLog {
  readonly #report: (refused: DroppedDatagrams) => void
  readonly #intervalMs: number
  readonly #byReason = new Map<string, Unsaid>()
  total = 0

  constructor(say: (refused: DroppedDatagrams) => void, intervalMs = INTERVAL_MS) {
    this.#report = say
    this.#intervalMs = intervalMs
  }

  /**
   * `from` and `detail` are computed only for a report: a flood must cost little. With a `key`, datagrams that are
   * dropped for one reason are counted per key, for example per sender. `tolerated`: the number per interval that is
   * counted but not reported.
   */
  add(
    reason: string,
    from: () => string,
    detail: () => string,
    { key = reason, tolerated = 0 }: { readonly key?: string; readonly tolerated?: number } = {},
  ): void {
    this.total += 1
    const unsaid = this.#byReason.get(key)
    if (unsaid === undefined && tolerated > 0) {
      const fresh: Unsaid = { count: 1, from: from(), detail: detail(), timer: null, tolerated }
      this.#byReason.set(key, fresh)
      this.#wait(reason, key, fresh)
      return
    }
    if (unsaid === undefined) {
      const fresh: Unsaid = { count: 0, from: '', detail: '', timer: null, tolerated }
      this.#byReason.set(key, fresh)
      this.#report({ reason, count: 1, from: from(), detail: detail() })
      this.#wait(reason, key, fresh)
      return
    }
    if (unsaid.count === 0) {
      unsaid.from = from()
      unsaid.detail = detail()
    }
    unsaid.count += 1
  }

  close(): void {
    for (const { timer } of this.#byReason.values()) if (timer !== null) clearTimeout(timer)
    this.#byReason.clear()
  }

  #wait(reason: string, key: string, unsaid: Unsaid): void {
    unsaid.timer = setTimeout(() => {
      const { count, from, detail, tolerated } = unsaid
      if (count <= tolerated) {
        // Quiet again: the next one is reported at once.
        this.#byReason.delete(key)
        return
      }
      unsaid.count = 0
      this.#report({ reason, count, from, detail })
      this.#wait(reason, key, unsaid)
    }, this.#intervalMs)
    unsaid.timer.unref()
  }
}
