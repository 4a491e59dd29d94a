/** Commands of the host. What does not fit the state is refused. */
import { endRun, failUploads, reportDrops, requestStore } from './member.ts'
import { isSameColumn, neededColumns, uploadFor } from './placement.ts'
import type { End, Held } from './state.ts'
import {
  type Assignment,
  compareAssignments,
  isSameCheckpoint,
  isSameContent,
  JOB_NAME,
  type ManagerCommand,
} from './types.ts'
import { shortenReason, type Work } from './work.ts'

type Command<D extends ManagerCommand['do']> = Extract<ManagerCommand, { readonly do: D }>

export function handleCommand(work: Work, command: ManagerCommand): void {
  const why = carryOut(work, command)
  if (why !== null) work.output({ type: 'refused', command: command.do, why })
}

/** Returns why the command is refused. */
function carryOut(work: Work, command: ManagerCommand): string | null {
  switch (command.do) {
    case 'slots':
      if (command.slots === work.state.slots) return null
      work.set({ slots: command.slots })
      work.tellLeader({ kind: 'slots', token: work.token, slots: command.slots })
      return null
    case 'submit':
      return submit(work, command.job)
    case 'cancel':
      if (!work.state.cancels.includes(command.job))
        work.set({ cancels: [...work.state.cancels, command.job] })
      work.request({ kind: 'cancelJob', token: work.token, job: command.job })
      return null
    case 'checkpoint':
      return beginCheckpoint(work, command)
    case 'uploaded':
      return finishUpload(work, command)
    case 'held':
      return holdColumn(work, command)
    case 'lost':
      return loseColumn(work, command)
    case 'finished':
      return end(work, command, 'finished', '')
    case 'threw':
      return end(work, command, 'threw', command.reason)
    case 'declined':
      return end(work, command, 'declined', command.reason)
    case 'interrupted':
      return end(work, command, 'stopped', command.reason)
    case 'unrestorable':
      return end(work, command, 'stopped', 'its checkpoint could not be read', command)
    default:
      return command satisfies never
  }
}

function submit(work: Work, job: string): string | null {
  if (!JOB_NAME.test(job)) return 'the name must have 1 to 100 letters, digits, dots, hyphens or underscores'
  const { submits, life } = work.state
  const record = work.entryOf(job)?.record
  const isOwn = record?.owner?.[0] === work.settings.self && record.owner[1] === life
  if (!submits.includes(job)) {
    // The leader would take it for the same submission, asked for again.
    if (isOwn && record.status === 'submitted') {
      work.output({ type: 'submissionFailed', job, reason: 'the name is in use: that job is submitted' })
      return null
    }
    work.set({ submits: [...submits, job] })
  }
  work.request({ kind: 'submit', token: work.token, job })
  return null
}

function beginCheckpoint(work: Work, command: Command<'checkpoint'>): string | null {
  const { job, assignment, epoch } = command
  const problem = whyNoCheckpoint(work, job, assignment, epoch)
  if (problem !== null) {
    work.output({ type: 'checkpointFailed', job, assignment, epoch, reason: problem })
    return null
  }
  const upload = uploadFor(work.viewOrThrow(), command, command, false)
  work.set({ uploads: [...work.state.uploads, upload] })
  work.beginStep(1)
  const { id, code, holders, bytes, digest } = upload
  work.output({ type: 'upload', id, code, holders, bytes, digest })
  return null
}

function whyNoCheckpoint(work: Work, job: string, assignment: Assignment, epoch: number): string | null {
  const { view, isReady, uploads, life } = work.state
  if (view === null || !isReady) return 'the group has no fault manager in quorum now'
  const entry = work.entryOf(job)
  if (entry === null || compareAssignments(entry.record.assignment, assignment) !== 0)
    return 'the job is not assigned to this node'
  const { status, owner } = entry.record
  const isOwner = owner?.[0] === work.settings.self && owner[1] === life
  const isDefinition = status === 'submitted' && isOwner
  if (!isDefinition && !work.isRunning({ job, assignment })) return 'the job is not assigned to this node'
  if (uploads.some((upload) => upload.id.job === job && !upload.isCopy))
    return 'another checkpoint is in progress'
  const due = entry.commit === null ? 0 : entry.commit.id.epoch + 1
  return epoch === due ? null : `checkpoint ${due} is due`
}

function finishUpload(work: Work, { id, columns, problems }: Command<'uploaded'>): string | null {
  const { uploads } = work.state
  const upload = uploads.find((each) => isSameCheckpoint(each.id, id) && each.columns === null)
  if (upload === undefined) return 'this node does not upload that checkpoint'
  const stored = [...new Set(columns)].filter((column) => column < upload.code.columns).sort((a, b) => a - b)
  const needed = neededColumns(upload.code.data, work.settings.nodes.length)
  if (stored.length < needed) {
    const why = problems.length === 0 ? '' : `: ${problems.join('; ')}`
    const reason = shortenReason(`${stored.length} columns are stored; a checkpoint needs ${needed}${why}`)
    failUploads(work, (each) => each === upload, reason)
    return null
  }
  const done = { ...upload, columns: stored }
  work.set({ uploads: uploads.map((each) => (each === upload ? done : each)) })
  requestStore(work, done)
  return null
}

/** The fence: a column written under an older view is refused, unless it belongs to the committed checkpoint. */
function holdColumn(work: Work, { id, column, code, bytes, digest }: Command<'held'>): string | null {
  const { fence, columns } = work.state.stable
  const { view } = work.state
  const commit = work.entryOf(id.job)?.commit ?? null
  const isRepair = commit !== null && isSameContent(commit, { id, digest })
  if (!isRepair && (id.token < fence || view === null || id.token !== view.token))
    return `token ${id.token} is fenced off; this node has promised ${fence}`
  if (column >= code.columns) return `column ${column} does not exist; the code has ${code.columns}`
  const held: Held = { id, column, code, bytes, digest }
  const isKept = (other: Held): boolean =>
    work.settings.rules.keepsUntilCommit() || other.id.job !== id.job || isSameCheckpoint(other.id, id)
  const kept = columns.filter((other) => !isSameColumn(other, held) && isKept(other))
  work.setStable({ columns: [...kept, held] })
  if (columns.some((other) => !isKept(other))) reportDrops(work, id.job)
  work.output({ type: 'holds', id, column, digest })
  work.tellLeader({ kind: 'column', token: work.token, held, isHeld: true })
  return null
}

function loseColumn(work: Work, { id, column }: Command<'lost'>): string | null {
  const { columns } = work.state.stable
  // Whichever content it had: a column that is there after all is reported again.
  const lost = columns.filter((each) => each.column === column && isSameCheckpoint(each.id, id))
  if (lost.length === 0) return 'this node does not hold that column'
  work.setStable({ columns: columns.filter((each) => !lost.includes(each)) })
  for (const held of lost) work.tellLeader({ kind: 'column', token: work.token, held, isHeld: false })
  return null
}

const READABLE: Pick<End, 'id' | 'bad'> = { id: null, bad: [] }

function end(
  work: Work,
  { job, assignment }: { readonly job: string; readonly assignment: Assignment },
  how: 'finished' | 'threw' | 'declined' | 'stopped',
  reason: string,
  { id, bad }: Pick<End, 'id' | 'bad'> = READABLE,
): string | null {
  if (!work.isRunning({ job, assignment })) return 'this node does not run the job under that assignment'
  endRun(work, { job, assignment, how, reason: shortenReason(reason), id, bad })
  failUploads(work, (upload) => upload.id.job === job && !upload.isCopy, 'the job has ended')
  return null
}
