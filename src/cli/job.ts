/** `conclave job`: jobs that survive the loss of nodes. `serve` runs a node; the others ask one. */
import { resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { Command } from 'commander'
import {
  type AdminFlags,
  adminCommand,
  type RequestFlags,
  readAdminOptions,
  readRequestOptions,
  requestCommand,
} from './ask/request.ts'
import { EXIT, UsageError } from './errors.ts'
import { NewOutputs } from './job/new-outputs.ts'
import { cancelJob, getJob, getJobs, getOutputs, getResult, submitJob } from './job/requests.ts'
import type { JobResponse } from './job/responses.ts'
import { describeProgress, formatJobs } from './job/text.ts'
import { addJobNodeFlags } from './node-flags.ts'
import { print, printJson } from './output.ts'
import { startProgress } from './progress.ts'

/** The group stores the definition before it answers, and may have to form first. */
const SUBMIT_TIMEOUT_MS = 60_000
/** Progress is asked from the nodes that run the jobs. */
const TIMEOUT_MS = 10_000
const POLL_MS = 500

type SubmitFlags = AdminFlags & { readonly module: string; readonly input?: string; readonly wait?: boolean }
type LogsFlags = RequestFlags & { readonly follow?: boolean }

const DOCS = `
A job is a module whose default export is a function. It restores its state, stores checkpoints, and emits numbered
outputs. When its node is lost, another node continues from the last checkpoint.`

export function jobCommand(): Command {
  return new Command('job')
    .description('run jobs that survive the loss of nodes: submit, list, read and cancel them, or run a node')
    .addCommand(submitCommand())
    .addCommand(listCommand())
    .addCommand(logsCommand())
    .addCommand(cancelCommand())
    .addCommand(serveCommand())
    .addHelpText(
      'after',
      `${DOCS}

Examples:
  conclave job serve --config /etc/conclave/jobs.yaml
  conclave job submit render --module /srv/jobs/render.mjs --input '{"width": 4096}' --wait
  conclave job list
  conclave job logs render --follow
  conclave job cancel render`,
    )
}

function submitCommand(): Command {
  return adminCommand('submit', 'submit a module as a job')
    .argument('<name>', 'name of the job: letters, digits, dots, hyphens and underscores')
    .requiredOption('--module <file>', 'module of the job; it must be at the same path on every node')
    .option('--input <json>', 'input of the job, as JSON')
    .option('--wait', 'show the progress until the job ends, and print its result')
    .addHelpText(
      'after',
      `${DOCS}

Example:
  conclave job submit render --module /srv/jobs/render.mjs --input '{"width": 4096}' --wait

Exit code 5 if the group refuses the job, for example because the name is in use.`,
    )
    .action(async (name: string, flags: SubmitFlags) => {
      const job = { name, module: resolve(flags.module), input: parseInput(flags.input) }
      const submitted = await submitJob(readAdminOptions(flags, SUBMIT_TIMEOUT_MS), job)
      if (flags.wait === true) process.exitCode = await follow(name, flags)
      else if (flags.json === true) printJson(submitted)
      else print(`${name} is submitted; follow it with "conclave job list" and "conclave job logs ${name}"`)
    })
}

function listCommand(): Command {
  return requestCommand('list', 'list all jobs, where they run, and their progress')
    .addHelpText('after', '\nExample:\n  conclave job list --agent http://127.0.0.1:7480')
    .action(async (flags: RequestFlags) => {
      const response = await getJobs(readRequestOptions(flags, TIMEOUT_MS))
      if (flags.json === true) printJson(response)
      else print(formatJobs(response))
    })
}

function logsCommand(): Command {
  return requestCommand('logs', 'print the outputs of a job, in the order of their numbers')
    .argument('<name>', 'name of the job')
    .option('--follow', 'go on until the job ends')
    .addHelpText('after', '\nExample:\n  conclave job logs render --follow')
    .action(async (name: string, flags: LogsFlags) => {
      const news = new NewOutputs()
      for (;;) {
        // oxlint-disable-next-line no-await-in-loop -- one request after the other
        const { status } = await getJob(readRequestOptions(flags, TIMEOUT_MS), name)
        // oxlint-disable-next-line no-await-in-loop -- one request after the other
        const response = await getOutputs(readRequestOptions(flags, TIMEOUT_MS), name)
        for (const { seq, output } of news.select(response)) {
          if (flags.json === true) printJson({ seq, output })
          else print(`${seq}  ${typeof output === 'string' ? output : JSON.stringify(output)}`)
        }
        if (flags.follow !== true || hasEnded(status)) return
        // oxlint-disable-next-line no-await-in-loop -- before it asks again
        await setTimeout(POLL_MS)
      }
    })
}

function cancelCommand(): Command {
  return adminCommand('cancel', 'end a job and delete its checkpoints')
    .argument('<name>', 'name of the job')
    .addHelpText('after', '\nExample:\n  conclave job cancel render')
    .action(async (name: string, flags: AdminFlags) => {
      const response = await cancelJob(readAdminOptions(flags, SUBMIT_TIMEOUT_MS), name)
      if (flags.json === true) printJson(response)
      else print(`${name} is cancelled`)
    })
}

function serveCommand(): Command {
  return addJobNodeFlags(new Command('serve').description('run a node that stores checkpoints and runs jobs'))
    .option('--slots <n>', 'how many jobs this node runs at a time (default: 4)')
    .option('--outputs <folder>', 'write the outputs of jobs to files in this folder')
    .option('--json', 'print an error as one JSON object; the log always is one JSON object per line')
    .addHelpText(
      'after',
      `
Example:
  conclave job serve --group jobs --id a --listen 10.0.0.1:7400 --peer b=10.0.0.2:7400 --peer c=10.0.0.3:7400 \\
    --key-file /etc/conclave/key --data /var/lib/conclave/jobs --admin-token-file /etc/conclave/admin-token

The node uses UDP and TCP on the port of --listen. It logs to standard error, one JSON object per line. Submitting and
cancelling need the admin token, because a job runs with the rights of the node. On SIGTERM, SIGINT or SIGHUP it stops
its jobs, which continue elsewhere, and exits with 0.

Exit code 2 for an invalid configuration, 1 if the node cannot continue.`,
    )
    .action(async (flags: Record<string, never>) => {
      process.exitCode = await (await import('./job/serve.ts')).serveJobs(flags)
    })
}

/** Shows the progress of a job until it ends, and prints its result. */
async function follow(name: string, flags: RequestFlags): Promise<number> {
  const progress = startProgress(name)
  let job: JobResponse
  try {
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- one request after the other
      job = await getJob(readRequestOptions(flags, TIMEOUT_MS), name)
      if (hasEnded(job.status)) break
      const percent = Math.floor((job.progress?.done ?? 0) * 100)
      progress.update(percent, 100, `${job.status} ${job.node ?? ''} ${describeProgress(job)}`)
      // oxlint-disable-next-line no-await-in-loop -- before it asks again
      await setTimeout(POLL_MS)
    }
  } finally {
    progress.stop()
  }
  if (job.status !== 'done') {
    if (flags.json === true) printJson(job)
    else print(`${name} ${job.status === 'failed' ? `failed: ${job.reason}` : `is ${job.status}`}`)
    return EXIT.failure
  }
  const { result } = await getResult(readRequestOptions(flags, TIMEOUT_MS), name)
  if (flags.json === true) printJson({ ...job, result })
  else print(typeof result === 'string' ? result : JSON.stringify(result))
  return EXIT.ok
}

function hasEnded(status: string): boolean {
  return status === 'done' || status === 'failed' || status === 'cancelled'
}

function parseInput(text: string | undefined): unknown {
  if (text === undefined) return null
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    throw new UsageError(`--input ${text}: must be JSON (${(error as Error).message})`, '--input')
  }
}
