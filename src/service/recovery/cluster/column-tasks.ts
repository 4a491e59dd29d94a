/** Work on columns that no job waits for: encoding again for other members, repairs, and deletion. */
import type { ManagerOutput } from '../../../recovery/manager/types.ts'
import { pause } from './pause.ts'
import type { Columns, ManagerPort } from './ports.ts'

type Output<T extends ManagerOutput['type']> = Extract<ManagerOutput, { readonly type: T }>

/** A task ends when the view changes: the next leader asks again. */
const TRIES = 5
const PAUSE_MS = 300

export class ColumnTasks {
  readonly #manager: ManagerPort
  readonly #columns: Columns
  readonly #warn: (what: string, detail: string) => void
  readonly #signal: AbortSignal
  readonly #running = new Set<Promise<void>>()

  constructor(
    manager: ManagerPort,
    columns: Columns,
    warn: (what: string, detail: string) => void,
    signal: AbortSignal,
  ) {
    this.#manager = manager
    this.#columns = columns
    this.#warn = warn
    this.#signal = signal
  }

  drop({ job, keep }: Output<'drop'>): void {
    this.#run(async () => {
      await this.#columns.drop(job, keep).catch((error: Error) => this.#warn('columns', error.message))
    })
  }

  reencode({ commit, sources, id, code, holders }: Output<'reencode'>): void {
    const { bytes, digest } = commit
    this.#run(async () => {
      const stored = await this.#retry(`encode job "${id.job}" again`, async () => {
        const content = await this.#columns.restore(commit, sources, id.token, this.#signal)
        const request = { id, code, holders, bytes, digest, chunks: [content] }
        const { columns, problems } = await this.#columns.store(request, id.token, this.#signal)
        if (columns.length <= code.data) throw new Error(problems.map(({ message }) => message).join('; '))
        return { columns, problems: problems.map(({ message }) => message) }
      })
      await this.#manager.command({ do: 'uploaded', id, ...(stored ?? { columns: [], problems: [] }) })
    })
  }

  repair({ commit, column, sources }: Output<'repair'>): void {
    const { id, code, bytes, digest } = commit
    this.#run(async () => {
      const isRepaired = await this.#retry(`repair column ${column} of job "${id.job}"`, async () => {
        const token = this.#manager.look().token ?? id.token
        await this.#columns.repair(commit, column, sources, token, this.#signal)
        return true
      })
      if (isRepaired !== true) return
      const refusal = await this.#manager.command({ do: 'held', id, column, code, bytes, digest })
      if (refusal !== null)
        this.#warn('columns', `column ${column} of job "${id.job}" is not needed: ${refusal}`)
    })
  }

  /** Resolves when nothing runs any more. */
  async close(): Promise<void> {
    await Promise.all(this.#running)
  }

  #run(task: () => Promise<void>): void {
    const running = task().finally(() => this.#running.delete(running))
    this.#running.add(running)
  }

  /** Null if it did not succeed. */
  async #retry<T>(what: string, task: () => Promise<T>): Promise<T | null> {
    const { token } = this.#manager.look()
    for (let tries = 1; ; tries++) {
      try {
        // oxlint-disable-next-line no-await-in-loop -- one try after the other
        return await task()
      } catch (error) {
        const isOver = this.#signal.aborted || this.#manager.look().token !== token
        if (isOver) return null
        if (tries === TRIES) {
          this.#warn('columns', `cannot ${what}: ${(error as Error).message}`)
          return null
        }
      }
      // oxlint-disable-next-line no-await-in-loop -- as above
      await pause(PAUSE_MS * tries, this.#signal).catch(() => {})
    }
  }
}
