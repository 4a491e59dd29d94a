/** Requests of members, as the leader answers them. */
import type { NodeId } from '../../core/index.ts'
import { announce, isEverywhere, isUndecided, putEntry } from './leader.ts'
import { columnsOf, fitsMembers, idsOf, isSameColumn, neededColumns } from './placement.ts'
import type { End, Entry, GroupView, Located, ManagerMessage } from './state.ts'
import {
  type Commit,
  codeFor,
  compareAssignments,
  isSameCheckpoint,
  isSameContent,
  MOST_JOBS,
} from './types.ts'
import { shortenReason, type Work } from './work.ts'

type Request = Extract<ManagerMessage, { readonly kind: 'submit' | 'cancelJob' | 'store' | 'ended' }>

export function handleRequest(work: Work, from: NodeId, body: Request): void {
  const { leader, view } = work.state
  // The node asks again once the leader is ready.
  if (leader === null || view === null || leader.phase !== 'ready') return
  switch (body.kind) {
    case 'submit':
      submitJob(work, view, from, body.job)
      break
    case 'cancelJob':
      cancelJob(work, from, body.job)
      break
    case 'store':
      storeCommit(work, view, from, body.commit)
      break
    case 'ended':
      endJob(work, from, body.end)
      break
    default:
      body satisfies never
  }
}

function refuse(
  work: Work,
  to: NodeId,
  request: 'submit' | 'cancel' | 'store',
  { job, epoch = 0, token: stored = 0 }: { job: string; epoch?: number; token?: number },
  reason: string,
): void {
  work.send(to, {
    kind: 'refusal',
    token: work.token,
    request,
    job,
    epoch,
    stored,
    reason: shortenReason(reason),
  })
}

function submitJob(work: Work, view: GroupView, from: NodeId, job: string): void {
  const member = view.members.find(([id]) => id === from)
  if (member === undefined) return
  const entry = work.entryOf(job)
  if (entry !== null) {
    const { status, owner } = entry.record
    const isSame = status === 'submitted' && owner?.[0] === from && owner[1] === member[1]
    if (isSame && entry.commit === null) {
      if (work.state.leader !== null && !isUndecided(work.state.leader, job)) announce(work, job, from)
      return
    }
    const isFree = (status === 'cancelled' || status === 'failed') && isEverywhere(work, job)
    if (!isFree) {
      const why =
        status === 'cancelled' ? 'is being cancelled; try again' : `is in use: that job is ${status}`
      refuse(work, from, 'submit', { job }, `the name ${why}`)
      return
    }
  } else if (work.table().length >= MOST_JOBS) {
    refuse(work, from, 'submit', { job }, `the group has ${MOST_JOBS} jobs; cancel ended ones`)
    return
  }
  const assignment = work.issue()
  const record = {
    name: job,
    rank: assignment,
    status: 'submitted',
    owner: member,
    assignment,
    submission: assignment,
    reason: '',
    declined: [],
  } as const
  putEntry(work, record, null)
}

function cancelJob(work: Work, from: NodeId, job: string): void {
  const entry = work.entryOf(job)
  if (entry === null) {
    refuse(work, from, 'cancel', { job }, 'no such job')
    return
  }
  if (entry.record.status === 'cancelled') {
    if (work.state.leader !== null && !isUndecided(work.state.leader, job)) announce(work, job, from)
    return
  }
  putEntry(work, { ...entry.record, status: 'cancelled', owner: null, reason: '', declined: [] }, null)
}

/** The commit rule: enough columns, for the members of this view, of the next checkpoint of the recorded owner. */
function storeCommit(work: Work, view: GroupView, from: NodeId, commit: Commit): void {
  const { id } = commit
  const entry = work.entryOf(id.job)
  if (entry !== null && entry.commit !== null && isSameContent(entry.commit, commit)) {
    if (work.state.leader !== null && !isUndecided(work.state.leader, id.job)) announce(work, id.job, from)
    return
  }
  const problem = whyNotCommitted(work, view, from, commit, entry)
  if (problem !== null || entry === null) {
    refuse(work, from, 'store', id, problem ?? 'no such job')
    return
  }
  const { record } = entry
  const isDefinition = record.status === 'submitted'
  addColumns(work, commit)
  putEntry(work, isDefinition ? { ...record, status: 'waiting', owner: null } : record, commit)
}

/** The holders have acknowledged them to the owner. Their own reports may come later, or be lost with a link. */
function addColumns(work: Work, commit: Commit): void {
  const { leader } = work.state
  if (leader === null) return
  const { columns, missing } = leader
  const isKnown = ({ node, held }: Located): boolean =>
    [...columns, ...missing].some((each) => each.node === node && isSameColumn(each.held, held))
  work.setLeader({ columns: [...columns, ...columnsOf(commit).filter((each) => !isKnown(each))] })
}

function whyNotCommitted(
  work: Work,
  { token, members }: GroupView,
  from: NodeId,
  commit: Commit,
  entry: Entry | null,
): string | null {
  if (entry === null) return 'no such job'
  const { id, code, holders } = commit
  const { record, commit: last } = entry
  if (id.token !== token) return 'the view has changed'
  const { data } = codeFor(members.length)
  if (code.data !== data || holders.length !== code.columns || !fitsMembers(commit, idsOf(members)))
    return 'its columns are not laid out for the members of the view'
  const stored = holders.filter((holder) => holder !== null).length
  const needed = neededColumns(data, work.settings.nodes.length)
  if (stored < needed) return `${stored} columns are stored; a checkpoint needs ${needed}`
  const isCopy =
    last !== null &&
    compareAssignments(last.id.assignment, id.assignment) === 0 &&
    last.id.epoch === id.epoch &&
    last.digest === commit.digest
  if (isCopy) return last.id.token < token ? null : 'the view has changed'
  if (record.owner?.[0] !== from || compareAssignments(record.assignment, id.assignment) !== 0)
    return 'the job is assigned to another node'
  const next = last === null ? 0 : last.id.epoch + 1
  const isDue = record.status === 'submitted' ? last === null : record.status === 'running'
  return isDue && id.epoch === next ? null : `checkpoint ${next} is due`
}

function endJob(work: Work, from: NodeId, { job, assignment, how, reason, id, bad }: End): void {
  const entry = work.entryOf(job)
  const { leader } = work.state
  if (entry === null || leader === null) return
  const { record, commit } = entry
  const isCurrent =
    record.status === 'running' &&
    record.owner?.[0] === from &&
    compareAssignments(record.assignment, assignment) === 0
  if (!isCurrent) {
    // It was recorded before.
    if (!isUndecided(leader, job)) announce(work, job, from)
    return
  }
  if (commit !== null && id !== null && isSameCheckpoint(commit.id, id) && bad.length > 0) {
    const isBad = (node: NodeId, column: number): boolean =>
      bad.some((source) => source.node === node && source.column === column)
    work.setLeader({
      columns: leader.columns.filter(
        ({ node, held }) => !(isSameContent(held, commit) && isBad(node, held.column)),
      ),
    })
  }
  const freed = { ...record, owner: null, reason: shortenReason(reason) }
  if (how === 'finished') putEntry(work, { ...freed, status: 'done', reason: '' }, commit)
  else if (how === 'threw') putEntry(work, { ...freed, status: 'failed' }, commit)
  else if (how === 'declined')
    putEntry(work, { ...freed, status: 'waiting', declined: [...record.declined, from] }, commit)
  else putEntry(work, { ...freed, status: 'waiting' }, commit)
}
