/** Finds columns that are missing or damaged, and reports them to the protocol of their node, which has them rebuilt. */
import type { NodeId } from '../../../core/index.ts'
import type { Commit } from '../../../recovery/manager/types.ts'
import type { BadColumn } from '../checkpoints/index.ts'
import { encodeValue } from '../jobs/value.ts'
import { type ColumnStore, columnName, scrub } from '../store/index.ts'
import type { DataPort, NodeRequest } from './data-port.ts'
import { pause } from './pause.ts'
import type { ManagerPort } from './ports.ts'

export type ColumnCareOptions = {
  readonly self: NodeId
  readonly store: ColumnStore
  readonly manager: ManagerPort
  readonly port: DataPort
  readonly signal: AbortSignal
  call(node: NodeId, body: Uint8Array, signal: AbortSignal): Promise<Uint8Array>
  warn(what: string, detail: string): void
}

const CALL_MS = 10_000

export class ColumnCare {
  readonly #options: ColumnCareOptions

  constructor(options: ColumnCareOptions) {
    this.#options = options
  }

  /** The holder of a column that could not be used reads it itself, and decides. */
  report({ id, digest }: Commit, bad: readonly BadColumn[]): void {
    const { self, port, call, warn } = this.#options
    for (const { node, column, problem, isLost } of bad) {
      if (!isLost) continue
      warn('columns', `column ${column} of job "${id.job}" at node ${node}: ${problem}`)
      const request: NodeRequest = { node: 'check', id, column, digest }
      const checking =
        node === self
          ? port.check(request)
          : call(node, encodeValue(request, 'request'), AbortSignal.timeout(CALL_MS))
      checking.catch(() => {})
    }
  }

  /** Reads all columns of this node periodically; never with 0. */
  scrubEvery(intervalMs: number): void {
    if (intervalMs > 0) void this.#scrub(intervalMs)
  }

  /** Columns that this node should have, by the commits of the jobs, and does not. */
  async #findMissing(): Promise<void> {
    const { self, store, manager, port } = this.#options
    const stored = new Set((await store.list()).map(({ key }) => columnName(key)))
    for (const { commit } of manager.look().jobs) {
      const column = commit?.holders.indexOf(self) ?? -1
      if (commit === null || column === -1) continue
      const { id, digest } = commit
      // oxlint-disable-next-line no-await-in-loop -- few, if any
      if (!stored.has(columnName({ id, column, digest }))) await port.check({ id, column, digest })
    }
  }

  async #scrub(intervalMs: number): Promise<void> {
    const { store, port, signal, warn } = this.#options
    while (!signal.aborted) {
      try {
        // oxlint-disable-next-line no-await-in-loop -- one pass after the other
        await pause(intervalMs, signal)
        // oxlint-disable-next-line no-await-in-loop -- columns that are missing, then columns that are damaged
        await this.#findMissing()
        // oxlint-disable-next-line no-await-in-loop -- one column after the other
        for await (const { key, problem } of scrub(store, signal)) {
          const { id, column, digest } = key
          if (problem !== null) await port.check({ id, column, digest })
        }
      } catch (error) {
        if (!signal.aborted) warn('columns', `scrubbing failed: ${(error as Error).message}`)
      }
    }
  }
}
