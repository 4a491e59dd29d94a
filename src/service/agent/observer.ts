/** What an agent notices over time: since when nobody leads, how often it led, and whether a promise was broken. */
import type { Id } from '../client/index.ts'

type Seen = { readonly id: Id; readonly token: number | null }

export class Observer {
  readonly #onAlarm: (problem: string) => void
  readonly #now: () => number
  #largest: Seen | null = null
  #leaderlessSince: number | null
  #leaderships = 0
  #views = 0
  #alarm: string | null = null

  /** `onAlarm` is called once at most. */
  constructor(onAlarm: (problem: string) => void, now: () => number = () => performance.now()) {
    this.#onAlarm = onAlarm
    this.#now = now
    this.#leaderlessSince = now()
  }

  /** Never dismisses itself: whoever restarts the agent has read it. */
  get alarm(): string | null {
    return this.#alarm
  }

  get leaderships(): number {
    return this.#leaderships
  }

  /** How many views were installed here. */
  get views(): number {
    return this.#views
  }

  installed(): void {
    this.#views += 1
  }

  leaderlessMs(): number | null {
    return this.#leaderlessSince === null ? null : this.#now() - this.#leaderlessSince
  }

  elected(): void {
    this.#leaderships += 1
  }

  /** Whom this agent takes for the leader now. */
  see(leader: Seen | null): void {
    if (leader === null) {
      this.#leaderlessSince ??= this.#now()
      return
    }
    this.#leaderlessSince = null
    if (leader.token === null) return
    const before = this.#largest
    const problem = before === null ? null : contradiction(before, leader)
    if (leader.token > (before?.token ?? -1)) this.#largest = leader
    if (problem === null || this.#alarm !== null) return
    this.#alarm = problem
    this.#onAlarm(problem)
  }
}

/** Tokens grow from leader to leader, and each has one holder: otherwise clocks or stable data were not what was assumed. */
function contradiction(before: Seen, { id, token }: Seen): string | null {
  if (before.token === null || token === null || token > before.token) return null
  if (token === before.token)
    return id === before.id ? null : `${before.id} and ${id} both lead with token ${token}`
  return `${id} leads with token ${token} after ${before.id} led with token ${before.token}`
}
