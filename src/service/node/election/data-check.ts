/**
 * Checks that the data directory can be written, before the next vote needs it: a follower may write nothing for days.
 */
import { constants } from 'node:fs'
import { access, statfs } from 'node:fs/promises'

const INTERVAL_MS = 5000

export class DataCheck {
  readonly #folder: string
  readonly #warn: (detail: string) => void
  readonly #timer: NodeJS.Timeout
  #lastProblem: string | null = null

  constructor(folder: string, warn: (detail: string) => void, intervalMs = INTERVAL_MS) {
    this.#folder = folder
    this.#warn = warn
    this.#timer = setInterval(() => void this.check(), intervalMs)
    this.#timer.unref()
  }

  /** Reports each problem once, and that it is over. */
  async check(): Promise<void> {
    const problem = await problemWith(this.#folder)
    if (problem === this.#lastProblem) return
    const wasWell = this.#lastProblem === null
    this.#lastProblem = problem
    if (problem !== null)
      this.#warn(`cannot write to ${this.#folder}: ${problem}; this node cannot vote until it can`)
    else if (!wasWell) this.#warn(`${this.#folder} can be written again`)
  }

  get isWritable(): boolean {
    return this.#lastProblem === null
  }

  close(): void {
    clearInterval(this.#timer)
  }
}

/** The text of the system's error; null if the folder can be written. */
async function problemWith(folder: string): Promise<string | null> {
  try {
    await access(folder, constants.W_OK | constants.X_OK)
    const { bavail, blocks } = await statfs(folder)
    return blocks > 0 && bavail === 0 ? 'ENOSPC: no space left on device' : null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
