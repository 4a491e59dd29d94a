/** Scrubbing: reads every column of a store to find damage before the column is needed. */
import type { ColumnKey } from './column-key.ts'
import { findColumnProblem } from './column-reader.ts'
import type { ColumnStore } from './column-store.ts'
import { ColumnMissingError } from './errors.ts'

export type ScrubbedColumn = {
  readonly key: ColumnKey
  /** Null if the column is good. */
  readonly problem: string | null
}

/** One result per column. The caller sets the pace: nothing is read between two results. */
export async function* scrub(store: ColumnStore, signal?: AbortSignal): AsyncGenerator<ScrubbedColumn> {
  for (const { key } of await store.list(signal)) {
    // oxlint-disable-next-line no-await-in-loop -- one column at a time leaves the disk to the jobs
    const result = await check(store, key, signal)
    if (result !== null) yield result
  }
}

/** Null if the column was dropped since it was listed. */
async function check(
  store: ColumnStore,
  key: ColumnKey,
  signal: AbortSignal | undefined,
): Promise<ScrubbedColumn | null> {
  try {
    return { key, problem: await findColumnProblem(store, key, signal) }
  } catch (error) {
    if (error instanceof ColumnMissingError) return null
    throw error
  }
}
