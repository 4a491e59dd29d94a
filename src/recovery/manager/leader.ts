/** What the leader of a view does: reads the tables of all members (steps 2 to 4), and decides every change. */
import type { NodeId } from '../../core/index.ts'
import { withId } from '../../core/index.ts'
import { findEntry, isObsolete, isSameColumn, majorityOf, sourcesOf, withEntry } from './placement.ts'
import {
  type Entry,
  type LeaderState,
  type Located,
  type ManagerMessage,
  NEW_LEADER,
  type Put,
} from './state.ts'
import { compareAssignments, compareCheckpoints, isSameContent, type JobRecord } from './types.ts'
import type { Work } from './work.ts'

type Body<K extends ManagerMessage['kind']> = Extract<ManagerMessage, { readonly kind: K }>

export const WAIT = 'manager/wait'

/** Step 2. Also after a link came up again in the same view: messages may have been lost with its last incarnation. */
export function beginLeading(work: Work): void {
  const { leader, stable } = work.state
  work.set({ leader: { ...NEW_LEADER, hasWaited: leader?.hasWaited ?? false }, isReady: false })
  work.beginStep(2)
  work.sendMembers({ kind: 'fence', token: work.token })
  if (work.settings.rules.waitsForFences()) return
  work.setLeader({ merged: stable.table })
  adoptMerged(work)
}

/** Part of a member's inventory, or news of a member's columns. */
export function gather(work: Work, from: NodeId, body: ManagerMessage): void {
  const { leader } = work.state
  if (leader === null) return
  switch (body.kind) {
    case 'entry': {
      const { record } = body.entry
      const known = findEntry(leader.merged, record.name)
      const isNewer = known === null || compareAssignments(record.rank, known.record.rank) > 0
      work.setLeader({
        merged: isNewer ? withEntry(leader.merged, body.entry) : leader.merged,
        reported: [...leader.reported, { node: from, job: record.name, rank: record.rank }],
      })
      break
    }
    case 'column': {
      const { held, isHeld } = body
      const isOther = (each: Located): boolean => !(each.node === from && isSameColumn(each.held, held))
      const columns = leader.columns.filter(isOther)
      const missing = leader.missing.filter(isOther)
      // Repairs of this job may be asked for again.
      const asked = leader.asked.filter((key) => !key.startsWith(`${held.id.job} `))
      const here = { node: from, held }
      if (isHeld) work.setLeader({ columns: [...columns, here], missing, asked })
      else work.setLeader({ columns, missing: [...missing, here], asked })
      break
    }
    case 'runs': {
      const { job, assignment } = body
      work.setLeader({ runs: [...leader.runs, { node: from, job, assignment }] })
      break
    }
    case 'slots':
    case 'inventory': {
      const slots = [...leader.slots.filter(([node]) => node !== from), [from, body.slots] as const]
      const answered = body.kind === 'inventory' ? withId(leader.answered, from) : leader.answered
      work.setLeader({ slots, answered })
      break
    }
    default:
  }
  const members = work.state.view?.members ?? []
  const { phase, answered } = work.state.leader as LeaderState
  if (phase === 'fencing' && members.every(([id]) => answered.includes(id))) adoptMerged(work)
}

/**
 * Steps 3 and 4: all members have promised the token, so no earlier leader can change the table any more. The newest
 * entries of all become the table of this view. One rank for all entries, so that a member persists once.
 */
function adoptMerged(work: Work): void {
  const { leader } = work.state
  if (leader === null) return
  work.beginStep(3)
  const { token } = work
  work.setLeader({ phase: 'adopting' })
  work.beginStep(4)
  const rank = work.issue()
  for (const [id] of work.state.view?.members ?? []) {
    for (const entry of leader.merged) {
      const { name } = entry.record
      const known = leader.reported.find((each) => each.node === id && each.job === name)
      if (known === undefined || compareAssignments(known.rank, entry.record.rank) < 0)
        work.send(id, { kind: 'transfer', token, entry })
    }
    work.send(id, { kind: 'adopt', token, rank })
  }
  work.setLeader({ rank, merged: [], reported: [] })
}

export function handleAdopted(work: Work, from: NodeId, { token, rank }: Body<'adopted'>): void {
  const { leader } = work.state
  // Not that of an earlier round of this view.
  if (leader === null || compareAssignments(rank, leader.rank) !== 0) return
  const adoptedBy = withId(leader.adoptedBy, from)
  work.setLeader({ adoptedBy })
  if (leader.phase !== 'adopting' || adoptedBy.length < majorityOf(work.settings.nodes.length)) return
  work.setLeader({ phase: 'ready' })
  work.sendMembers({ kind: 'ready', token })
  const { waitMs } = work.settings
  if (waitMs === 0) work.setLeader({ hasWaited: true })
  else if (!leader.hasWaited) work.setTimer(WAIT, waitMs)
}

/** Whether every member has persisted the last version of the entry. */
export function isEverywhere(work: Work, job: string): boolean {
  const { leader, view } = work.state
  if (leader === null || view === null) return false
  const put = leader.puts.find((each) => each.job === job)
  const has = put?.nodes ?? leader.adoptedBy
  return view.members.every(([id]) => has.includes(id))
}

export function isUndecided(leader: LeaderState, job: string): boolean {
  return leader.puts.some((put) => put.job === job && !put.isDecided)
}

/** Sends a new version of an entry to all members. It counts once a majority of all nodes has persisted it. */
export function putEntry(work: Work, record: JobRecord, commit: Entry['commit']): void {
  const { leader } = work.state
  if (leader === null) return
  const rank = work.issue()
  const entry: Entry = { record: { ...record, rank }, commit }
  const put: Put = { job: record.name, rank, nodes: [], isDecided: false }
  work.setLeader({ puts: [...leader.puts.filter(({ job }) => job !== record.name), put] })
  work.sendMembers({ kind: 'put', token: work.token, entry })
}

export function handleHave(work: Work, from: NodeId, { job, rank }: Body<'have'>): void {
  const { leader } = work.state
  const put = leader?.puts.find((each) => each.job === job)
  if (leader === null || put === undefined || compareAssignments(put.rank, rank) !== 0) return
  const nodes = withId(put.nodes, from)
  const isDecided = nodes.length >= majorityOf(work.settings.nodes.length)
  work.setLeader({ puts: leader.puts.map((each) => (each === put ? { ...put, nodes, isDecided } : each)) })
  if (isDecided && !put.isDecided) announce(work, job)
}

/** Members drop their older columns of the job now. */
function pruneColumns(work: Work, { columns, missing }: LeaderState, { record, commit }: Entry): void {
  if (commit === null) return
  const isOld = ({ held }: Located): boolean =>
    held.id.job === record.name &&
    (compareCheckpoints(held.id, commit.id) === 0 || isObsolete(held.id, record, commit)) &&
    !isSameContent(held, commit)
  if (columns.some(isOld)) work.setLeader({ columns: columns.filter((each) => !isOld(each)) })
  if (missing.some(isOld)) work.setLeader({ missing: missing.filter((each) => !isOld(each)) })
}

/** Tells all members, or one of them, that the last version of an entry is decided. */
export function announce(work: Work, job: string, to: NodeId | null = null): void {
  const { leader } = work.state
  const entry = work.entryOf(job)
  if (leader === null || entry === null) return
  const { commit, record } = entry
  pruneColumns(work, leader, entry)
  const sources = commit === null ? [] : sourcesOf(leader.columns, commit)
  const body = { kind: 'decided', token: work.token, job, rank: record.rank, sources } as const
  if (to === null) work.sendMembers(body)
  else work.send(to, body)
}
