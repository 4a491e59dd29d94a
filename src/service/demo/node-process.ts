/** A node of the demonstration: a process that opens a cluster, runs tile jobs, and sends their rows to its parent. */
import { fileURLToPath } from 'node:url'
import type { Cluster } from '../recovery/cluster/cluster.ts'
import { openCluster } from '../recovery/cluster/open.ts'
import { JobExistsError } from '../recovery/jobs/errors.ts'
import type { Acceptance, Sink } from '../recovery/sink/index.ts'
import type { FromNode, NodeStart, ToNode } from './messages.ts'

const TILE_JOB = fileURLToPath(new URL('tile-job.js', import.meta.url))
/** The table of jobs changes with every checkpoint of every tile. */
const REPORT_MS = 150

const offers = new Map<number, (acceptance: Acceptance) => void>()
let calls = 0
let cluster: Cluster | null = null
let killAtStep: number | null = null

function send(message: FromNode): void {
  if (process.connected) process.send?.(message)
}

/** The sink is in the parent: it puts the picture together, and must survive the loss of any node. */
const sink: Sink = {
  place: 'conclave demo',
  accept(entry) {
    calls += 1
    const call = calls
    return new Promise((resolve) => {
      offers.set(call, resolve)
      send({ type: 'offer', call, entry })
    })
  },
  async close() {},
}

async function start({ killAtStep: fatal, ...options }: NodeStart): Promise<void> {
  killAtStep = fatal
  const opened = await openCluster({ ...options, group: 'fractal', sink, scrubIntervalMs: 0 })
  cluster = opened
  opened.on('view', (view) => send({ type: 'view', view }))
  opened.on('step', ({ step, token }) => {
    if (step === killAtStep) process.kill(process.pid, 'SIGKILL')
    send({ type: 'step', step, token })
  })
  opened.on('log', ({ job, text }) => send({ type: 'log', job, text }))
  opened.on('warning', ({ what, detail }) => send({ type: 'warning', text: `${what}: ${detail}` }))
  void opened.failed.then((error) => send({ type: 'failed', message: error.message }))
  send({ type: 'ready' })
  send({ type: 'view', view: opened.view() })
  setInterval(() => void reportJobs(opened), REPORT_MS)
}

let isReporting = false
let last = ''

async function reportJobs(opened: Cluster): Promise<void> {
  const { token, leader } = opened.view()
  if (isReporting || token === null || leader !== opened.id) return
  isReporting = true
  try {
    const jobs = await opened.jobs()
    const text = JSON.stringify([token, jobs])
    if (text !== last) send({ type: 'jobs', token, jobs })
    last = text
  } finally {
    isReporting = false
  }
}

async function submit({ call, job, input }: Extract<ToNode, { type: 'submit' }>): Promise<void> {
  let problem: string | null = null
  try {
    await cluster?.submit(job, { module: TILE_JOB, input })
  } catch (error) {
    if (!(error instanceof JobExistsError)) problem = (error as Error).message
  }
  send({ type: 'submitted', call, problem })
}

process.on('message', (message: ToNode) => {
  switch (message.type) {
    case 'start':
      start(message.start).catch((error: Error) => {
        send({ type: 'failed', message: error.message })
        process.disconnect()
      })
      break
    case 'killAtStep':
      killAtStep = message.step
      break
    case 'submit':
      void submit(message)
      break
    case 'accepted':
      offers.get(message.call)?.(message.acceptance)
      offers.delete(message.call)
      break
    default:
      message satisfies never
  }
})

// The parent has ended, in any way.
process.on('disconnect', () => process.exit())
