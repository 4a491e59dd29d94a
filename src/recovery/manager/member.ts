/** What every member does: answers the leader, keeps the table and its columns, and reports to its host. */
import type { NodeId } from '../../core/index.ts'
import { commitOf, findEntry, isObsolete, uploadFor, withEntry } from './placement.ts'
import type { End, Entry, Held, ManagerMessage, Upload } from './state.ts'
import {
  type Assignment,
  type CheckpointId,
  compareAssignments,
  compareCheckpoints,
  isSameCheckpoint,
  isSameContent,
  type Source,
} from './types.ts'
import type { Work } from './work.ts'

type Body<K extends ManagerMessage['kind']> = Extract<ManagerMessage, { readonly kind: K }>

/** Step 2 at a member: promise the token, then report everything. Step 8: a new life reports its old columns, too. */
export function answerFence(work: Work, from: NodeId, { token }: Body<'fence'>): void {
  if (token > work.state.stable.fence) {
    // The first fence of a life: the tasks of the earlier one are gone.
    if (work.state.step === 0) work.beginStep(8)
    work.setStable({ fence: token })
  }
  work.set({ isReady: false, incoming: [], unrecorded: [] })
  const { stable, running, slots } = work.state
  for (const entry of stable.table) work.send(from, { kind: 'entry', token, entry })
  for (const held of stable.columns) work.send(from, { kind: 'column', token, held, isHeld: true })
  for (const { job, assignment } of running) work.send(from, { kind: 'runs', token, job, assignment })
  work.send(from, { kind: 'inventory', token, slots })
}

/** The whole table of this node becomes that of the view: every entry gets the same rank. */
export function adoptTable(work: Work, from: NodeId, { token, rank }: Body<'adopt'>): void {
  const merged = work.state.incoming.reduce(withEntry, work.state.stable.table)
  const table = merged.map((entry) => rerank(entry, rank))
  work.setStable({ table })
  work.set({ incoming: [] })
  work.send(from, { kind: 'adopted', token, rank })
}

/** Nodes that declined under an earlier view are asked again. */
export function rerank({ record, commit }: Entry, rank: Assignment): Entry {
  return { record: { ...record, rank, declined: [] }, commit }
}

/** The table is decided, and the leader takes requests. */
export function becomeReady(work: Work): void {
  work.set({ isReady: true })
  for (const entry of work.table()) settleEntry(work, entry, null)
  const { running, stable, submits, cancels, ends, uploads } = work.state
  for (const { job } of running)
    if (findEntry(stable.table, job) === null) stopRun(work, job, 'the group does not know the job')
  for (const job of submits) work.request({ kind: 'submit', token: work.token, job })
  for (const job of cancels) work.request({ kind: 'cancelJob', token: work.token, job })
  for (const end of ends) work.request({ kind: 'ended', token: work.token, end })
  for (const upload of uploads) if (upload.columns !== null) requestStore(work, upload)
  work.output({ type: 'jobs' })
}

export function requestStore(work: Work, upload: Upload): void {
  work.request({ kind: 'store', token: work.token, commit: commitOf(upload) })
}

export function acceptPut(work: Work, from: NodeId, { token, entry }: Body<'put'>): void {
  const { name, rank } = entry.record
  const known = work.entryOf(name)?.record.rank
  if (known === undefined || compareAssignments(rank, known) > 0) work.write(entry)
  work.send(from, { kind: 'have', token, job: name, rank })
}

export function handleDecided(work: Work, { job, rank, sources }: Body<'decided'>): void {
  const entry = work.entryOf(job)
  if (entry === null || compareAssignments(entry.record.rank, rank) !== 0) return
  settleEntry(work, entry, sources)
  work.output({ type: 'jobs' })
}

/** A decided entry: everything that follows from it at this node. Idempotent. Without sources no job starts. */
export function settleEntry(work: Work, entry: Entry, sources: readonly Source[] | null): void {
  const { record, commit } = entry
  const { name, status, owner, assignment } = record
  const { self } = work.settings
  const isMine = owner !== null && owner[0] === self && owner[1] === work.state.life
  settleUploads(work, entry)
  settleRequests(work, entry, isMine)
  const run = work.state.running.find(({ job }) => job === name)
  const isCurrent = status === 'running' && isMine
  if (run !== undefined && !(isCurrent && compareAssignments(run.assignment, assignment) === 0))
    stopRun(work, name, status === 'running' || status === 'waiting' ? 'superseded' : status)
  dropColumns(work, entry)
  const hasEnded = work.state.ends.some((end) => end.job === name)
  if (!isCurrent || commit === null || sources === null || hasEnded) return
  if (work.isRunning({ job: name, assignment })) return
  work.set({ running: [...work.state.running, { job: name, assignment }] })
  work.beginStep(6)
  work.output({ type: 'start', job: name, assignment, token: assignment[0], commit, sources })
}

function settleUploads(work: Work, { record, commit }: Entry): void {
  if (commit === null) return
  for (const upload of work.state.uploads) {
    const { id, columns, isCopy } = upload
    if (id.job !== record.name || columns === null || compareCheckpoints(commit.id, id) < 0) continue
    removeUpload(work, id)
    // A later encoding of the same content commits it, too.
    if (isSameCheckpoint(commit.id, id) || !isCopy) work.output({ type: 'committed', commit })
  }
}

function settleRequests(work: Work, { record, commit }: Entry, isMine: boolean): void {
  const { name, status, assignment } = record
  const { submits, cancels, ends } = work.state
  if (submits.includes(name) && status === 'submitted' && isMine && commit === null) {
    work.set({ submits: submits.filter((job) => job !== name) })
    work.output({ type: 'submitted', job: name, assignment })
  }
  if (cancels.includes(name) && status === 'cancelled')
    work.set({ cancels: cancels.filter((job) => job !== name) })
  const isAnswered = (end: End): boolean =>
    end.job === name &&
    (status !== 'running' || !isMine || compareAssignments(end.assignment, assignment) !== 0)
  if (ends.some(isAnswered)) work.set({ ends: ends.filter((end) => !isAnswered(end)) })
}

/** Only after the newest checkpoint is committed: older columns go, and those of uploads that can no longer commit. */
function dropColumns(work: Work, { record, commit }: Entry): void {
  const { columns, fence } = work.state.stable
  const hasColumns = record.status !== 'cancelled' && record.status !== 'failed'
  const isKept = ({ id, digest }: Held): boolean => {
    if (id.job !== record.name) return true
    if (!hasColumns) return false
    if (commit === null) return id.token >= fence
    if (isSameContent({ id, digest }, commit)) return true
    return compareCheckpoints(id, commit.id) > 0 && id.token >= fence && !isObsolete(id, record, commit)
  }
  const kept = columns.filter(isKept)
  if (kept.length === columns.length) return
  work.setStable({ columns: kept })
  reportDrops(work, record.name)
}

export function reportDrops(work: Work, job: string): void {
  const keep: CheckpointId[] = []
  for (const { id } of work.state.stable.columns)
    if (id.job === job && !keep.some((other) => isSameCheckpoint(other, id))) keep.push(id)
  work.output({ type: 'drop', job, keep })
}

export function stopRun(work: Work, job: string, reason: string): void {
  const run = work.state.running.find((each) => each.job === job)
  if (run === undefined) return
  work.removeRun(job)
  failUploads(work, (upload) => upload.id.job === job && !upload.isCopy, reason)
  work.output({ type: 'stop', job, assignment: run.assignment, reason })
}

/** Stops everything: this node is not in quorum, or its life has ended. */
export function stopAll(work: Work, reason: string): void {
  for (const run of work.state.running) {
    stopRun(work, run.job, reason)
    endRun(work, { ...run, how: 'stopped', reason, id: null, bad: [] })
  }
}

/** Reports the end of a run to the leader, until the leader has recorded it. */
export function endRun(work: Work, end: End): void {
  work.removeRun(end.job)
  work.set({ ends: [...work.state.ends.filter(({ job }) => job !== end.job), end] })
  work.request({ kind: 'ended', token: work.token, end })
}

export function failUploads(work: Work, concerns: (upload: Upload) => boolean, reason: string): void {
  for (const upload of work.state.uploads) {
    if (!concerns(upload)) continue
    removeUpload(work, upload.id)
    const { job, assignment, epoch } = upload.id
    work.output({ type: 'checkpointFailed', job, assignment, epoch, reason })
  }
}

export function removeUpload(work: Work, id: CheckpointId): void {
  work.set({ uploads: work.state.uploads.filter((upload) => !isSameCheckpoint(upload.id, id)) })
}

export function handleRefusal(work: Work, { request, job, epoch, stored, reason }: Body<'refusal'>): void {
  switch (request) {
    case 'submit':
      if (!work.state.submits.includes(job)) return
      work.set({ submits: work.state.submits.filter((name) => name !== job) })
      work.output({ type: 'submissionFailed', job, reason })
      break
    case 'cancel':
      work.set({ cancels: work.state.cancels.filter((name) => name !== job) })
      work.output({ type: 'refused', command: 'cancel', why: reason })
      break
    case 'store':
      failUploads(
        work,
        ({ id, columns }) => id.job === job && id.epoch === epoch && id.token === stored && columns !== null,
        reason,
      )
      break
    default:
      request satisfies never
  }
}

/** Step 7 at the node that stores the newest checkpoint again, for the members of this view. */
export function beginRecode(work: Work, { commit, sources }: Body<'recode'>): void {
  const view = work.viewOrThrow()
  const upload = uploadFor(view, commit.id, commit, true)
  if (work.state.uploads.some(({ id }) => isSameCheckpoint(id, upload.id))) return
  work.set({ uploads: [...work.state.uploads, upload] })
  work.beginStep(7)
  const { id, code, holders } = upload
  work.output({ type: 'reencode', commit, sources, id, code, holders })
}

export function beginRepair(work: Work, { commit, column, sources }: Body<'mend'>): void {
  const { columns } = work.state.stable
  const held = columns.find((each) => each.column === column && isSameContent(each, commit))
  // The leader lost track of it: another node may have reported it as unreadable.
  if (held !== undefined) work.tellLeader({ kind: 'column', token: work.token, held, isHeld: true })
  else work.output({ type: 'repair', commit, column, sources })
}

export function forgetJob(work: Work, { job, rank }: Body<'forget'>): void {
  const { table } = work.state.stable
  const entry = findEntry(table, job)
  if (entry === null || compareAssignments(entry.record.rank, rank) !== 0) return
  work.setStable({ table: table.filter((each) => each !== entry) })
  work.output({ type: 'jobs' })
}
