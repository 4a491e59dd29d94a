/** One thread of `conclave plan`: runs the trials that it is given. */
import { parentPort, workerData } from 'node:worker_threads'
import { present } from '../../core/index.ts'
import { epochsDefinition } from '../../protocols/epochs/index.ts'
import { guaranteesOf } from '../../protocols/local-leader/guarantees.ts'
import { localLeaderDefinition } from '../../protocols/local-leader/index.ts'
import type { Plan } from '../../workbench/guarantees/plan.ts'
import { runPlanTrial, trialsOf } from '../../workbench/guarantees/trials.ts'
import { type EpochsPlan, epochsTrials, guaranteesFor } from '../plan/epochs.ts'
import type { TrialAnswer, TrialQuestion } from './trials.ts'

const port = present(parentPort, 'the parent thread')
const plan = workerData as Plan | EpochsPlan
const isEpochs = plan.protocol === 'epochs'
const definition = isEpochs ? epochsDefinition : localLeaderDefinition
const trials = isEpochs
  ? epochsTrials(plan, guaranteesFor(plan))
  : trialsOf(plan, guaranteesOf(plan.options, plan.nodes))

const answer = (message: TrialAnswer): void => port.postMessage(message)
port.on('message', ({ trial, first, last }: TrialQuestion) => {
  try {
    const tally = runPlanTrial(definition, present(trials[trial], 'trial'), first, last)
    answer({ type: 'done', trial, tally })
  } catch (error) {
    answer({ type: 'failed', message: (error as Error).message })
  }
})
answer({ type: 'ready' })
