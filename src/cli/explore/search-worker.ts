/** The thread of a long search. */
import { parentPort, workerData } from 'node:worker_threads'
import { present } from '../../core/index.ts'
import { explore } from '../../workbench/explore/index.ts'
import { messageWithPlace } from '../error-place.ts'
import { loadProtocols } from '../load.ts'
import type { SearchReply, SearchTask } from './interruptible.ts'
import { readExploreRequest } from './request.ts'

const port = present(parentPort, 'the parent thread')
const { flags, stop } = workerData as SearchTask
const reply = (message: SearchReply): void => port.postMessage(message)

const PROGRESS_INTERVAL_MS = 200
let lastProgress = performance.now()

try {
  const report = explore(readExploreRequest(flags, await loadProtocols(flags.load)), {
    seconds: () => performance.now() / 1000,
    shouldContinue(progress) {
      if (performance.now() - lastProgress > PROGRESS_INTERVAL_MS) {
        lastProgress = performance.now()
        reply({ type: 'progress', progress })
      }
      return Atomics.load(stop, 0) === 0
    },
  })
  reply({ type: 'done', report })
} catch (error) {
  reply({ type: 'failed', message: messageWithPlace(error as Error) })
}
