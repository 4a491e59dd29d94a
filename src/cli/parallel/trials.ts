/** Spreads the trials of a plan over threads. What comes out does not depend on how many there are. */
import { Worker } from 'node:worker_threads'
import { addedModules, type Plan, type PlannedTrial } from '../../protocols/index.ts'
import { runsOf } from '../../workbench/guarantees/trials.ts'
import { addTrials, EMPTY_TRIALS, type TrialTally } from '../../workbench/sim/index.ts'
import { startProgress } from '../progress.ts'

export type TrialQuestion = { readonly trial: number; readonly first: number; readonly last: number }
/** What the trials are made from, in every thread again: their functions cannot be passed on. */
export type TrialSource = Plan & { readonly protocol: string }
export type TrialWorkerData = { readonly source: TrialSource; readonly modules: readonly string[] }
export type TrialAnswer =
  | { readonly type: 'ready' }
  | { readonly type: 'done'; readonly trial: number; readonly tally: TrialTally }
  | { readonly type: 'failed'; readonly message: string }

const CHUNK = 25

/** The tallies of all trials, in their order. */
export function measure(
  source: TrialSource,
  trials: readonly PlannedTrial[],
  threads: number,
): Promise<readonly TrialTally[]> {
  const questions = trials.flatMap((trial, index) => chunks(index, runsOf(trial, source.asked.seeds)))
  if (questions.length === 0) return Promise.resolve([])
  const total = questions.reduce((sum, { first, last }) => sum + last - first + 1, 0)
  const tallies = trials.map(() => EMPTY_TRIALS)
  const progress = startProgress('runs')
  const workers = Array.from({ length: Math.min(threads, questions.length) }, () => {
    const workerData: TrialWorkerData = { source, modules: addedModules() }
    return new Worker(new URL('./trials-worker.js', import.meta.url), { workerData })
  })
  let next = 0
  let done = 0
  return new Promise<readonly TrialTally[]>((resolve, reject) => {
    let working = workers.length
    for (const worker of workers) {
      worker.on('error', reject)
      worker.on('message', (answer: TrialAnswer) => {
        if (answer.type === 'failed') {
          reject(new Error(answer.message))
          return
        }
        if (answer.type === 'done') {
          const { trial, tally } = answer
          tallies[trial] = addTrials(tallies[trial] ?? EMPTY_TRIALS, tally)
          done += tally.runs
          progress.update(done, total, trials[trial]?.what ?? '')
        }
        const question = questions[next]
        if (question !== undefined) {
          next += 1
          worker.postMessage(question)
          return
        }
        working -= 1
        if (working === 0) resolve(tallies)
      })
    }
  }).finally(async () => {
    progress.stop()
    await Promise.all(workers.map((worker) => worker.terminate()))
  })
}

function chunks(trial: number, runs: number): readonly TrialQuestion[] {
  return Array.from({ length: Math.ceil(runs / CHUNK) }, (_, index) => ({
    trial,
    first: index * CHUNK + 1,
    last: Math.min(runs, (index + 1) * CHUNK),
  }))
}
