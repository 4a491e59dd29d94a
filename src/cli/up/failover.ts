/** Measures how long the group of `conclave up` had no leader after each change. */

/** The fields of an agent's log line that matter here. */
export type LeadershipEvent = {
  readonly event?: string
  readonly token?: number | null
  /** ISO 8601. */
  readonly time?: string
}

export type Failover = {
  readonly ms: number
  readonly from: string
  readonly to: string
  /** How the former term ended, such as `n1 was killed`. */
  readonly after: string
}

type Loss = { readonly at: number; readonly from: string; readonly after: string }

export class Failovers {
  readonly #now: () => number
  #leader: string | null = null
  #loss: Loss | null = null
  readonly all: Failover[] = []

  /** `now`: the wall clock in milliseconds, which all agents of this machine share. */
  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  get last(): Failover | null {
    return this.all.at(-1) ?? null
  }

  /** Something is done to a node. If it leads, its term is over for the user, even if the node notices later. */
  harm(id: string, what: string): void {
    if (id === this.#leader) this.#lose({ at: this.#now(), from: id, after: `${id} ${what}` })
  }

  /** Takes an event from the log of an agent. Returns the failover that it completes. */
  take(id: string, { event, time }: LeadershipEvent): Failover | null {
    const parsed = Date.parse(time ?? '')
    const at = Number.isNaN(parsed) ? this.#now() : parsed
    if (event === 'revoked' && id === this.#leader)
      this.#lose({ at, from: id, after: `${id} stopped leading` })
    if (event !== 'elected') return null
    // A node can be elected before the former leader has noticed that its lease is over.
    const loss = this.#loss ?? this.#supersede(at, id)
    this.#leader = id
    this.#loss = null
    if (loss === null) return null
    const failover = { ms: Math.max(0, at - loss.at), from: loss.from, to: id, after: loss.after }
    this.all.push(failover)
    return failover
  }

  #supersede(at: number, id: string): Loss | null {
    return this.#leader === null || this.#leader === id
      ? null
      : { at, from: this.#leader, after: `${this.#leader} stopped leading` }
  }

  #lose(loss: Loss): void {
    this.#leader = null
    this.#loss = loss
  }
}

/** One sentence for the screen; null before the first failover. */
export function describeFailovers({ all, last }: Pick<Failovers, 'all' | 'last'>): string | null {
  if (last === null) return null
  const text = `last failover: ${last.to} leads ${formatMs(last.ms)} after ${last.after}`
  if (all.length === 1) return text
  const sorted = all.map(({ ms }) => ms).sort((a, b) => a - b)
  const median = sorted[Math.floor((sorted.length - 1) / 2)] ?? 0
  return `${text}; ${all.length} failovers, median ${formatMs(median)}, longest ${formatMs(sorted.at(-1) ?? 0)}`
}

export function formatMs(ms: number): string {
  return ms < 10_000 ? `${ms.toFixed(0)} ms` : `${(ms / 1000).toFixed(1)} s`
}
