/** Work on columns that no job waits for: encoding again for other members, repairs, and deletion. */
import {
  type CheckpointId,
  type Commit,
  isSameCheckpoint,
  type ManagerOutput,
} from '../../../recovery/manager/types.ts'
import type { BadColumn, Checkpoints } from '../checkpoints/index.ts'
import { pause } from './pause.ts'
import type { ManagerPort } from './ports.ts'

type Output<T extends ManagerOutput['type']> = Extract<ManagerOutput, { readonly type: T }>

/** A task ends when the view changes: the next leader asks again. */
const TRIES = 5
const PAUSE_MS = 300

export type ColumnTasksOptions = {
  readonly manager: ManagerPort
  readonly checkpoints: Pick<Checkpoints, 'drop' | 'reencode' | 'repair'>
  /** Checkpoints of which this node has columns from before. */
  readonly stored: readonly CheckpointId[]
  readonly signal: AbortSignal
  warn(what: string, detail: string): void
  /** Columns that were found missing or damaged while others were read. */
  suspect(commit: Commit, bad: readonly BadColumn[]): void
}

export class ColumnTasks {
  readonly #options: ColumnTasksOptions
  readonly #running = new Set<Promise<void>>()
  /**
   * Checkpoints of which this node has columns that the protocol knows, or that were stored before this process started.
   * Only these are deleted: a column that was just written is recorded a moment later, and must stay.
   */
  #recorded: readonly CheckpointId[]

  constructor(options: ColumnTasksOptions) {
    this.#options = options
    this.#recorded = options.stored
  }

  /** The protocol has recorded a column. */
  record({ id }: Output<'holds'>): void {
    if (!this.#recorded.some((known) => isSameCheckpoint(known, id))) this.#recorded = [...this.#recorded, id]
  }

  drop({ job, keep }: Output<'drop'>): void {
    const { checkpoints, warn } = this.#options
    const isDropped = (id: CheckpointId): boolean =>
      id.job === job && !keep.some((kept) => isSameCheckpoint(kept, id))
    const dropped = this.#recorded.filter(isDropped)
    if (dropped.length === 0) return
    this.#recorded = this.#recorded.filter((id) => !isDropped(id))
    this.#run(async () => {
      await checkpoints.drop(dropped).catch((error: Error) => warn('columns', error.message))
    })
  }

  reencode({ commit, sources, id, code, holders }: Output<'reencode'>): void {
    const { checkpoints, manager, signal, suspect } = this.#options
    this.#run(async () => {
      const stored = await this.#retry(`encode job "${id.job}" again`, async () => {
        const plan = { id, code, holders }
        const { columns, problems, bad } = await checkpoints.reencode(commit, sources, plan, { signal })
        suspect(commit, bad)
        const texts = problems.map(({ node, problem }) => `${node}: ${problem}`)
        if (columns.length <= code.data) throw new Error(texts.join('; '))
        return { columns, problems: texts }
      })
      await manager.command({ do: 'uploaded', id, ...(stored ?? { columns: [], problems: [] }) })
    })
  }

  /** The pipeline tells the protocol that the column is there. */
  repair({ commit, column, sources }: Output<'repair'>): void {
    const { checkpoints, signal, suspect } = this.#options
    this.#run(async () => {
      const bad = await this.#retry(`repair column ${column} of job "${commit.id.job}"`, () =>
        checkpoints.repair(commit, column, sources, { signal }),
      )
      if (bad !== null) suspect(commit, bad)
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
    const { manager, signal, warn } = this.#options
    const { fence } = manager.look()
    for (let tries = 1; ; tries++) {
      try {
        // oxlint-disable-next-line no-await-in-loop -- one try after the other
        return await task()
      } catch (error) {
        const isOver = signal.aborted || manager.look().fence !== fence
        if (isOver) return null
        if (tries === TRIES) {
          warn('columns', `cannot ${what}: ${(error as Error).message}`)
          return null
        }
      }
      // oxlint-disable-next-line no-await-in-loop -- before it tries again
      await pause(PAUSE_MS * tries, signal).catch(() => {})
    }
  }
}
