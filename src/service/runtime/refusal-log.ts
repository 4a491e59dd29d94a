/**
 * Reports dropped datagrams at a limited rate: the first of each reason at once, or as soon as there are more than is
 * tolerated; then at most one report per interval, with the count. After a flood the remaining count is reported when the
 * interval ends.
 */

export type DroppedDatagrams = {
  readonly reason: string
  /** The number of datagrams since the last report. */
  readonly count: number
  /** Of the last datagram. */
  readonly from: string
  readonly detail: string
}

const INTERVAL_MS = 10_000

type Pending = {
  count: number
  from: string
  detail: string
  timer: NodeJS.Timeout | null
  readonly tolerated: number
  /** Since the flood began. */
  isReported: boolean
}

export class RefusalLog {
  readonly #report: (refused: DroppedDatagrams) => void
  readonly #intervalMs: number
  readonly #byReason = new Map<string, Pending>()
  total = 0

  constructor(report: (refused: DroppedDatagrams) => void, intervalMs = INTERVAL_MS) {
    this.#report = report
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
    let pending = this.#byReason.get(key)
    if (pending === undefined) {
      pending = { count: 0, from: '', detail: '', timer: null, tolerated, isReported: false }
      this.#byReason.set(key, pending)
      this.#wait(reason, key, pending)
    }
    if (pending.count === 0) {
      pending.from = from()
      pending.detail = detail()
    }
    pending.count += 1
    if (!pending.isReported && pending.count > tolerated) this.#say(reason, pending)
  }

  close(): void {
    for (const { timer } of this.#byReason.values()) if (timer !== null) clearTimeout(timer)
    this.#byReason.clear()
  }

  #wait(reason: string, key: string, pending: Pending): void {
    pending.timer = setTimeout(() => {
      if (pending.count <= pending.tolerated) {
        // The flood is over: the next datagram is reported at once.
        this.#byReason.delete(key)
        return
      }
      this.#say(reason, pending)
      this.#wait(reason, key, pending)
    }, this.#intervalMs)
    pending.timer.unref()
  }

  #say(reason: string, pending: Pending): void {
    const { count, from, detail } = pending
    pending.count = 0
    pending.isReported = true
    this.#report({ reason, count, from, detail })
  }
}
