/** What an agent observes over time: terms, views, time without a leader, and violations of the safety promise. */
import type { Id } from '../client/index.ts'

type ObservedLeader = { readonly id: Id; readonly token: number | null }

export class LeaderMonitor {
  readonly #onAlarm: (problem: string) => void
  readonly #now: () => number
  #newest: ObservedLeader | null = null
  /** The last leader that this node knew. */
  #last: (ObservedLeader & { readonly since: number }) | null = null
  #leaderlessSince: number | null
  #terms = 0
  #warnings = 0
  #views = 0
  readonly #levelChanges = new Map<string, number>()
  #alarm: string | null = null

  /** Calls `onAlarm` at most once. */
  constructor(onAlarm: (problem: string) => void, now: () => number = () => performance.now()) {
    this.#onAlarm = onAlarm
    this.#now = now
    this.#leaderlessSince = now()
  }

  /** Stays set until the agent restarts, so that an operator sees it. */
  get alarm(): string | null {
    return this.#alarm
  }

  /** Number of terms of this node since the agent started. */
  get terms(): number {
    return this.#terms
  }

  /** Number of views that this node has installed since the agent started. */
  get views(): number {
    return this.#views
  }

  /** How often this node, as leader, changed the length of leases since the agent started, by cause. */
  get levelChanges(): ReadonlyMap<string, number> {
    return this.#levelChanges
  }

  countLevelChange(cause: string): void {
    this.#levelChanges.set(cause, (this.#levelChanges.get(cause) ?? 0) + 1)
  }

  countView(): void {
    this.#views += 1
  }

  /** Number of warnings of this node since the agent started. */
  get warnings(): number {
    return this.#warnings
  }

  countWarning(): void {
    this.#warnings += 1
  }

  leaderlessMs(): number | null {
    return this.#leaderlessSince === null ? null : this.#now() - this.#leaderlessSince
  }

  /** How long this node has known the current leader with its token; null without a leader. */
  leaderSinceMs(): number | null {
    if (this.#last === null || this.#leaderlessSince !== null) return null
    return this.#now() - this.#last.since
  }

  countTerm(): void {
    this.#terms += 1
  }

  /** Records the leader that this node knows of now. */
  observeLeader(leader: ObservedLeader | null): void {
    if (leader === null) {
      this.#leaderlessSince ??= this.#now()
      return
    }
    const last = this.#last
    // A leader that is known again with its token has led meanwhile, too: only this node did not hear it.
    const isSameTerm = last?.id === leader.id && last.token === leader.token
    if (!isSameTerm || (leader.token === null && this.#leaderlessSince !== null))
      this.#last = { id: leader.id, token: leader.token, since: this.#now() }
    this.#leaderlessSince = null
    if (leader.token === null) return
    const before = this.#newest
    const problem = before === null ? null : findViolation(before, leader)
    if (leader.token > (before?.token ?? -1)) this.#newest = leader
    if (problem === null || this.#alarm !== null) return
    this.#alarm = problem
    this.#onAlarm(problem)
  }
}

/**
 * Tokens grow from term to term, and each token has one holder. A violation means that an assumption about clocks or
 * stable storage did not hold.
 */
function findViolation(before: ObservedLeader, { id, token }: ObservedLeader): string | null {
  if (before.token === null || token === null || token > before.token) return null
  if (token === before.token)
    return id === before.id ? null : `${before.id} and ${id} both lead with token ${token}`
  return `${id} leads with token ${token} after ${before.id} led with token ${before.token}`
}
