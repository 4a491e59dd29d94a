/** Applications of the model: each appends to its outputs, checkpoints, and releases outputs once they are committed. */
import { type Commit, compareAssignments } from '../../../recovery/manager/index.ts'
import { digestOf, type HostContext } from './context.ts'
import type { App, Content } from './state.ts'

const BYTES = 64

function replaceApp(host: HostContext, app: App, next: App): void {
  host.set({ apps: host.state.apps.map((each) => (each === app ? next : each)) })
}

export function startApp(host: HostContext, app: App): void {
  host.set({ apps: [...host.state.apps.filter(({ job }) => job !== app.job), app] })
  // The last owner may have died before it delivered them. The sink drops what it has.
  deliver(host, app.content, app.job, app.token)
  continueApp(host, app)
}

function continueApp(host: HostContext, app: App): void {
  const { job, assignment, content } = app
  if (content.log.length < host.settings.length) {
    host.scheduleWork(job)
    return
  }
  host.set({ apps: host.state.apps.filter((each) => each !== app) })
  host.command({ do: 'finished', job, assignment })
}

export function workOn(host: HostContext, job: string): void {
  const app = host.state.apps.find((each) => each.job === job)
  if (app === undefined || app.isCheckpointing) return
  const { from, log } = app.content
  const { every, length } = host.settings
  const content = log.length >= length ? app.content : { from, log: [...log, app.assignment.join('.')] }
  const isDue = content.log.length - from >= every || content.log.length >= length
  replaceApp(host, app, { ...app, content, isCheckpointing: isDue })
  if (!isDue) {
    host.scheduleWork(job)
    return
  }
  const { assignment, epoch } = app
  host.command({
    do: 'checkpoint',
    job,
    assignment,
    epoch: epoch + 1,
    bytes: BYTES,
    digest: digestOf(content),
  })
}

/** Outputs are released only now. */
export function handleCommitted(host: HostContext, { id }: Commit): void {
  const app = host.state.apps.find((each) => each.job === id.job)
  if (app === undefined || !app.isCheckpointing || id.epoch !== app.epoch + 1) return
  if (compareAssignments(app.assignment, id.assignment) !== 0) return
  deliver(host, app.content, app.job, app.token)
  const content = { from: app.content.log.length, log: app.content.log }
  const next = { ...app, content, epoch: id.epoch, isCheckpointing: false }
  replaceApp(host, app, next)
  continueApp(host, next)
}

export function deliver(host: HostContext, { from, log }: Content, job: string, token: number): void {
  for (const [place, value] of log.slice(from).entries())
    host.output({ type: 'delivered', job, seq: from + place, value, token })
}
