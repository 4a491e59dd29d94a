/** A bounded log of what the page saw, oldest first. Entries beyond the limit are dropped in batches. */

export type LogKind = 'elected' | 'revoked' | 'change' | 'view' | 'level' | 'warning' | 'alarm' | 'page'

export type LogEntry = {
  /** Counts from 1 and never changes. */
  readonly number: number
  /** Milliseconds since 1970, on the clock of the agent. */
  readonly atMs: number
  readonly kind: LogKind
  /** The node that observed it; null for the page itself. */
  readonly node: string | null
  readonly text: string
}

export const LOG_LIMIT = 10_000
/** Dropping one entry at a time would copy the whole log for each event. */
const SLACK = 1000

export class PageLog {
  #entries: LogEntry[] = []
  #count = 0

  get entries(): readonly LogEntry[] {
    return this.#entries
  }

  add(entries: readonly Omit<LogEntry, 'number'>[]): void {
    for (const entry of entries) {
      this.#count += 1
      this.#entries.push({ number: this.#count, ...entry })
    }
    if (this.#entries.length > LOG_LIMIT + SLACK) this.#entries = this.#entries.slice(-LOG_LIMIT)
  }

  clear(): void {
    this.#entries = []
  }
}
