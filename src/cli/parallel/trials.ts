/** Runs the trials of a plan on several threads. The result does not depend on the number of threads. */
import { Worker } from 'node:worker_threads'
import { addedModules, type Plan, type PlannedTrial } from '../../protocols/index.ts'
import { runsOf } from '../../workbench/guarantees/trials.ts'
import { addTrials, EMPTY_TRIALS, type TrialTally } from '../../workbench/sim/index.ts'
import { startProgress } from '../progress.ts'

export type TrialRequest = { readonly trial: number; readonly first: number; readonly last: number }
/** Every thread builds the trials from this, because functions cannot be passed between threads. */
export type TrialSource = Plan & { readonly protocol: string }
export type TrialWorkerData = { readonly source: TrialSource; readonly modules: readonly string[] }
export type TrialReply =
  | { readonly type: 'ready' }
  | { readonly type: 'done'; readonly trial: number; readonly tally: TrialTally }
  | { readonly type: 'failed'; readonly message: string }

/** Runs per request to a worker. */
const CHUNK = 25

/** Returns the tallies in the order of the trials. When the signal is aborted: what is known so far. */
export function runTrials(
  source: TrialSource,
  trials: readonly PlannedTrial[],
  threads: number,
  signal: AbortSignal = new AbortController().signal,
): Promise<readonly TrialTally[]> {
  const requests = trials.flatMap((trial, index) => splitRuns(index, runsOf(trial, source.asked.seeds)))
  if (requests.length === 0) return Promise.resolve([])
  const total = requests.reduce((sum, { first, last }) => sum + last - first + 1, 0)
  const tallies = trials.map(() => EMPTY_TRIALS)
  const progress = startProgress('runs')
  const workers = Array.from({ length: Math.min(threads, requests.length) }, () => {
    const workerData: TrialWorkerData = { source, modules: addedModules() }
    return new Worker(new URL('./trials-worker.js', import.meta.url), { workerData })
  })
  let next = 0
  let done = 0
  return new Promise<readonly TrialTally[]>((resolve, reject) => {
    let active = workers.length
    signal.addEventListener('abort', () => resolve(tallies))
    for (const worker of workers) {
      worker.on('error', reject)
      worker.on('message', (reply: TrialReply) => {
        if (reply.type === 'failed') {
          reject(new Error(reply.message))
          return
        }
        if (reply.type === 'done') {
          const { trial, tally } = reply
          tallies[trial] = addTrials(tallies[trial] ?? EMPTY_TRIALS, tally)
          done += tally.runs
          progress.update(done, total, trials[trial]?.what ?? '')
        }
        const request = requests[next]
        if (request !== undefined) {
          next += 1
          worker.postMessage(request)
          return
        }
        active -= 1
        if (active === 0) resolve(tallies)
      })
    }
  }).finally(async () => {
    progress.stop()
    await Promise.all(workers.map((worker) => worker.terminate()))
  })
}

function splitRuns(trial: number, runs: number): readonly TrialRequest[] {
  return Array.from({ length: Math.ceil(runs / CHUNK) }, (_, index) => ({
    trial,
    first: index * CHUNK + 1,
    last: Math.min(runs, (index + 1) * CHUNK),
  }))
}
