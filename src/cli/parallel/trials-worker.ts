/** One thread of `conclave plan`: runs the trials that it receives. */
import { parentPort, workerData } from 'node:worker_threads'
import { present } from '../../core/index.ts'
import { hostingOf, protocolNamed } from '../../protocols/index.ts'
import { loadProtocol } from '../../service/config/load-protocol.ts'
import { runPlanTrial } from '../../workbench/guarantees/trials.ts'
import { messageWithPlace } from '../error-place.ts'
import type { TrialReply, TrialRequest, TrialWorkerData } from './trials.ts'

const port = present(parentPort, 'the parent thread')
const { source, modules } = workerData as TrialWorkerData
for (const module of modules) {
  // oxlint-disable-next-line no-await-in-loop -- a protocol may use another that was loaded before it
  await loadProtocol(module)
}
const definition = present(protocolNamed(source.protocol), 'definition')
const described = present(hostingOf(source.protocol)?.planning ?? null, 'planning').describe(source)
const trials = described.kind === 'trials' ? described.trials : []

const reply = (message: TrialReply): void => port.postMessage(message)
port.on('message', ({ trial, first, last }: TrialRequest) => {
  try {
    const tally = runPlanTrial(definition, present(trials[trial], 'trial'), first, last)
    reply({ type: 'done', trial, tally })
  } catch (error) {
    reply({ type: 'failed', message: messageWithPlace(error as Error) })
  }
})
reply({ type: 'ready' })
