/** Jobs as text. */
import { formatTable } from '../output.ts'
import type { JobResponse, JobsResponse } from './responses.ts'

export function formatJobs({ jobs }: Pick<JobsResponse, 'jobs'>): string {
  if (jobs.length === 0) return 'no jobs'
  return formatTable([
    ['JOB', 'STATUS', 'NODE', 'CHECKPOINT', 'PROGRESS'],
    ...jobs.map((job) => [
      job.name,
      job.status,
      job.node ?? '-',
      job.epoch === null ? '-' : String(job.epoch),
      describeProgress(job),
    ]),
  ])
}

/** Progress, and what a person must know: a stall, or why a job failed, is lost or waits. */
export function describeProgress({ progress, stalledMs, reason, status }: JobResponse): string {
  const parts = [
    progress === null || status !== 'running'
      ? ''
      : `${Math.floor(progress.done * 100)} % ${progress.text}`.trim(),
    stalledMs === null ? '' : `no answer for ${Math.round(stalledMs / 1000)} s`,
    reason,
  ]
  return parts.filter((part) => part !== '').join('; ')
}
