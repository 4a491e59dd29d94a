/**
 * Runs a search so that a signal can end it. A search blocks its thread, so this thread would notice no signal. A short
 * search runs here, because a thread costs more than it does. A longer one starts again in a thread of its own.
 */
import { setImmediate } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { type ExploreReport, explore, type SearchProgress } from '../../workbench/explore/index.ts'
import { loadProtocols } from '../load.ts'
import { type ExploreFlags, readExploreRequest } from './request.ts'

/** How long a search may block this thread. */
const SHORT_MS = 1000

/** `stop`: not 0 if the search should end. */
export type SearchTask = { readonly flags: ExploreFlags; readonly stop: Int32Array }
export type SearchReply =
  | { readonly type: 'progress'; readonly progress: SearchProgress }
  | { readonly type: 'done'; readonly report: ExploreReport }
  | { readonly type: 'failed'; readonly message: string }

type OnProgress = (progress: SearchProgress) => void

export async function searchInterruptibly(
  flags: ExploreFlags,
  signal: AbortSignal,
  onProgress: OnProgress,
): Promise<ExploreReport> {
  // Standard input can be read once.
  const mayStartAgain = flags.after !== '-'
  const until = performance.now() + SHORT_MS
  let isLong = false
  const report = explore(readExploreRequest(flags, await loadProtocols(flags.load)), {
    seconds: () => performance.now() / 1000,
    shouldContinue(progress) {
      onProgress(progress)
      isLong = mayStartAgain && performance.now() > until
      return !isLong
    },
  })
  if (!isLong) return report
  // Signals that arrived meanwhile are handled here.
  await setImmediate()
  return signal.aborted ? report : searchInThread(flags, signal, onProgress)
}

function searchInThread(
  flags: ExploreFlags,
  signal: AbortSignal,
  onProgress: OnProgress,
): Promise<ExploreReport> {
  const stop = new Int32Array(new SharedArrayBuffer(4))
  const worker = new Worker(new URL('./search-worker.js', import.meta.url), {
    workerData: { flags, stop } satisfies SearchTask,
  })
  signal.addEventListener('abort', () => Atomics.store(stop, 0, 1))
  return new Promise<ExploreReport>((resolve, reject) => {
    worker.on('error', reject)
    worker.on('message', (reply: SearchReply) => {
      if (reply.type === 'progress') onProgress(reply.progress)
      else if (reply.type === 'done') resolve(reply.report)
      else reject(new Error(reply.message))
    })
  }).finally(() => worker.terminate())
}
