import {
  type Checkpoint,
  compareEpochs,
  compareJobIds,
  type JobId,
  type JobsMemory,
  jobsFold,
  newlyLost,
} from './memory/jobs.ts'
import type { Goal } from './spec.ts'

export const checkpointCommitted: Goal<JobsMemory> = {
  name: 'checkpoint-committed',
  title: 'a running job commits a checkpoint',
  fold: jobsFold,
  reached(_memory, seen) {
    if (seen.type !== 'output' || seen.event.type !== 'committed') return false
    return (seen.event['commit'] as unknown as Checkpoint).id.epoch > 0
  },
}

export const jobResumed: Goal<JobsMemory> = {
  name: 'job-resumed',
  title: 'a job that another owner ran is started again from a checkpoint',
  fold: jobsFold,
  reached({ jobs }, seen) {
    if (seen.type !== 'output' || seen.event.type !== 'start') return false
    const { job: name, assignment } = seen.event as unknown as { job: string; assignment: JobId }
    const runs = jobs.find(({ job }) => job === name)?.runs ?? []
    return runs.some((run) => compareJobIds(run.assignment, assignment) < 0)
  },
}

export const reencoded: Goal<JobsMemory> = {
  name: 'reencoded',
  title: 'a checkpoint is committed again, encoded for the members of another view',
  fold: jobsFold,
  reached({ jobs }, seen) {
    if (seen.type !== 'output' || seen.event.type !== 'committed') return false
    const { id } = seen.event['commit'] as unknown as Checkpoint
    const newest = jobs.find(({ job }) => job === id.job)?.newest ?? null
    return newest !== null && compareEpochs(newest.id, id) === 0 && newest.id.token < id.token
  },
}

export const jobLost: Goal<JobsMemory> = {
  name: 'job-lost',
  title: 'the leader reports a job as lost',
  fold: jobsFold,
  reached: (memory, seen) => seen.type === 'view' && newlyLost(memory, seen).length > 0,
}

export const columnRepaired: Goal<JobsMemory> = {
  name: 'column-repaired',
  title: 'a node restores a column that it should hold',
  fold: jobsFold,
  reached: (_memory, seen) => seen.type === 'output' && seen.event.type === 'repair',
}
