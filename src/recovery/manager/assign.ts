/** The leader's decisions on jobs (steps 5 and 7). State-based: evaluated after every step until nothing changes. */
import { compareIds } from '../../core/index.ts'
import { isEverywhere, isUndecided, putEntry } from './leader.ts'
import {
  chooseOwner,
  fitsMembers,
  hasMember,
  idsOf,
  missingHolders,
  newestStored,
  sourcesOf,
} from './placement.ts'
import type { Entry, GroupView, LeaderState } from './state.ts'
import { type Commit, compareAssignments, type JobRecord } from './types.ts'
import { shortenReason, type Work } from './work.ts'

export function manageJobs(work: Work): void {
  const { view, leader } = work.state
  if (view === null || !view.inQuorum || leader === null || leader.phase !== 'ready') return
  for (const { record } of work.table()) {
    const current = work.state.leader
    const entry = work.entryOf(record.name)
    if (current === null || entry === null || isUndecided(current, record.name)) continue
    manageJob(work, view, current, entry)
    // The next placement must count this one, which is in the table once this node has received its own message.
    if (work.loopback.length > 0) return
  }
}

function manageJob(work: Work, view: GroupView, leader: LeaderState, entry: Entry): void {
  const { record } = entry
  switch (record.status) {
    case 'submitted':
      if (record.owner === null || !hasMember(view, record.owner))
        putEntry(
          work,
          {
            ...record,
            status: 'cancelled',
            owner: null,
            reason: 'its node left before the definition was stored',
          },
          null,
        )
      break
    case 'running':
      if (isRunBy(view, leader, record)) maintainColumns(work, view, leader, entry)
      else if (leader.hasWaited) placeJob(work, view, leader, entry)
      break
    case 'waiting':
    case 'lost':
      placeJob(work, view, leader, entry)
      break
    case 'done':
      maintainColumns(work, view, leader, entry)
      break
    case 'cancelled':
      if (view.members.length === work.settings.nodes.length && isEverywhere(work, record.name))
        work.sendMembers({ kind: 'forget', token: work.token, job: record.name, rank: record.rank })
      break
    case 'failed':
      break
    default:
      record.status satisfies never
  }
}

/** Recorded in this round, or reported by its owner when the leader asked. */
function isRunBy(view: GroupView, { runs, puts }: LeaderState, record: JobRecord): boolean {
  const { owner, assignment, name } = record
  if (owner === null || !hasMember(view, owner)) return false
  if (puts.some(({ job }) => job === name)) return true
  return runs.some(
    (run) =>
      run.node === owner[0] && run.job === name && compareAssignments(run.assignment, assignment) === 0,
  )
}

/** Step 5: the assignment is recorded before the job starts. */
function placeJob(work: Work, view: GroupView, leader: LeaderState, entry: Entry): void {
  const { record, commit: committed } = entry
  if (committed === null) return
  const { name } = record
  const commit = work.settings.rules.chooseCommit(committed, newestStored(leader.columns, name))
  const sources = sourcesOf(leader.columns, commit)
  if (sources.length < commit.code.data) {
    reportLost(work, entry, commit, sources.length)
    return
  }
  const owner = chooseOwner(view, leader.slots, work.table(), record.declined)
  if (owner === null) {
    const reason = record.declined.length > 0 ? record.reason : ''
    if (record.status !== 'waiting' || record.owner !== null || record.reason !== reason)
      putEntry(work, { ...record, status: 'waiting', owner: null, reason }, commit)
    else maintainColumns(work, view, leader, entry)
    return
  }
  work.beginStep(5)
  const assignment = work.issue()
  putEntry(work, { ...record, status: 'running', owner, assignment, reason: '' }, commit)
}

function reportLost(work: Work, { record, commit: kept }: Entry, commit: Commit, found: number): void {
  const { leader } = work.state
  if (leader === null) return
  const missing = missingHolders(commit, sourcesOf(leader.columns, commit))
  const reason = shortenReason(
    `${found} of ${commit.code.data} columns of checkpoint ${commit.id.epoch}; missing: ${missing.join(', ')}`,
  )
  if (record.status === 'lost' && record.reason === reason) return
  putEntry(work, { ...record, status: 'lost', owner: null, reason }, kept)
}

/** Step 7, and repairs: every member holds its column of the newest checkpoint. */
function maintainColumns(work: Work, view: GroupView, leader: LeaderState, { record, commit }: Entry): void {
  if (commit === null) return
  const { name, owner } = record
  const members = idsOf(view.members)
  const sources = sourcesOf(leader.columns, commit)
  if (sources.length < commit.code.data) return
  const { token } = work
  if (!fitsMembers(commit, members)) {
    const key = `${name} recode ${commit.id.epoch} ${commit.id.token}`
    if (leader.asked.includes(key)) return
    work.setLeader({ asked: [...leader.asked, key] })
    work.send(owner?.[0] ?? work.settings.self, { kind: 'recode', token, commit, sources })
    return
  }
  for (const [column, member] of members.entries()) {
    const isThere = sources.some(
      (source) => source.column === column && compareIds(source.node, member) === 0,
    )
    const key = `${name} mend ${column} ${commit.id.epoch} ${commit.id.token}`
    const asked = work.state.leader?.asked ?? []
    if (isThere || asked.includes(key)) continue
    work.setLeader({ asked: [...asked, key] })
    work.send(member, { kind: 'mend', token, commit, column, sources })
  }
}
