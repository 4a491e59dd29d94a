/** The health check of the application, called periodically. A check that fails or takes too long means unhealthy. */
import type { HealthCheck } from '../../config/join-options.ts'
import type { Timers } from '../election/timers.ts'

export type HealthSettings = {
  readonly check: HealthCheck
  readonly intervalMs: number
  readonly timeoutMs: number
}

export class HealthGate {
  readonly #settings: HealthSettings
  readonly #timers: Timers
  /** Called at each change, with why the node is unhealthy. */
  readonly #changed: (isHealthy: boolean, why: string) => void
  #isHealthy = false
  #isFirst = true
  #isOver = false
  #cancel: () => void = () => {}

  constructor(settings: HealthSettings, timers: Timers, changed: (isHealthy: boolean, why: string) => void) {
    this.#settings = settings
    this.#timers = timers
    this.#changed = changed
  }

  /** False until the first check has answered true. */
  get isHealthy(): boolean {
    return this.#isHealthy
  }

  start(): void {
    void this.#ask()
  }

  stop(): void {
    this.#isOver = true
    this.#cancel()
  }

  async #ask(): Promise<void> {
    const why = await this.#verdict()
    if (this.#isOver) return
    const isHealthy = why === null
    if (isHealthy !== this.#isHealthy || this.#isFirst) {
      this.#isHealthy = isHealthy
      this.#isFirst = false
      this.#changed(isHealthy, why ?? '')
    }
    this.#cancel = this.#timers.after(this.#settings.intervalMs, () => void this.#ask())
  }

  /** Null when healthy, otherwise why not. */
  async #verdict(): Promise<string | null> {
    const { check, timeoutMs } = this.#settings
    const late = new AbortController()
    const tooLate = new Promise<string>((resolve) => {
      this.#cancel = this.#timers.after(timeoutMs, () => {
        late.abort()
        resolve(`healthy() did not answer within ${timeoutMs} ms`)
      })
    })
    const answered = (async () => check({ signal: late.signal }))().then(
      (isWell) => (isWell ? null : 'healthy() answered false'),
      (error: unknown) => `healthy() failed: ${error instanceof Error ? error.message : String(error)}`,
    )
    const why = await Promise.race([answered, tooLate])
    this.#cancel()
    return why
  }
}
