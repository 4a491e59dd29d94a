/** One thread of a campaign: runs the seeds that it is given. */
import { parentPort, workerData } from 'node:worker_threads'
import { present } from '../../core/index.ts'
import { addTallies, EMPTY_TALLY, runSeed, scenarioDrawer } from '../../workbench/sim/index.ts'
import { findProtocol, loadProtocols } from '../load.ts'
import type { WorkerAnswer, WorkerQuestion, WorkerTask } from './campaign.ts'

const port = present(parentPort, 'the parent thread')
const task = workerData as WorkerTask
const answer = (message: WorkerAnswer): void => port.postMessage(message)

try {
  const { lookup, specsFor } = await loadProtocols(task.load)
  const definition = findProtocol(lookup, task.protocol)
  const draw = scenarioDrawer(definition, task.settings)
  const watched = specsFor(definition)
  port.on('message', ({ first, last }: WorkerQuestion) => {
    try {
      let tally = EMPTY_TALLY
      for (let seed = first; seed <= last; seed++)
        tally = addTallies(tally, runSeed(definition, draw, seed, watched))
      answer({ type: 'done', tally })
    } catch (error) {
      answer({ type: 'failed', message: (error as Error).message })
    }
  })
  answer({ type: 'ready' })
} catch (error) {
  answer({ type: 'failed', message: (error as Error).message })
}
