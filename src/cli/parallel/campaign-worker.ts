/** One thread of a campaign: runs the seeds that it receives. */
import { parentPort, workerData } from 'node:worker_threads'
import { present } from '../../core/index.ts'
import { addTallies, EMPTY_TALLY, runSeed, scenarioDrawer } from '../../workbench/sim/index.ts'
import { messageWithPlace, placeOf } from '../error-place.ts'
import { findProtocol, loadProtocols } from '../load.ts'
import type { WorkerReply, WorkerRequest, WorkerTask } from './campaign.ts'

const port = present(parentPort, 'the parent thread')
const task = workerData as WorkerTask
const reply = (message: WorkerReply): void => port.postMessage(message)

const describeError = (error: Error): string =>
  placeOf(error) === null ? `${error.name}: ${error.message}` : messageWithPlace(error)

try {
  const { lookup, specsFor } = await loadProtocols(task.load)
  const definition = findProtocol(lookup, task.protocol)
  const draw = scenarioDrawer(definition, task.settings)
  const watched = { ...specsFor(definition), describeError }
  port.on('message', ({ first, last }: WorkerRequest) => {
    try {
      let tally = EMPTY_TALLY
      for (let seed = first; seed <= last; seed++)
        tally = addTallies(tally, runSeed(definition, draw, seed, watched))
      reply({ type: 'done', tally })
    } catch (error) {
      reply({ type: 'failed', message: messageWithPlace(error as Error) })
    }
  })
  reply({ type: 'ready' })
} catch (error) {
  reply({ type: 'failed', message: messageWithPlace(error as Error) })
}
