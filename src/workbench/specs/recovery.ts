/** What fault recovery promises about jobs and their checkpoints. */
import type { NodeId } from '../../core/index.ts'
import type { Connected, Observation } from '../trace/index.ts'
import { areAllLinked, graphOf } from './memory/graphs.ts'
import {
  goodColumns,
  isInQuorum,
  type JobsMemory,
  jobsFold,
  jobsShown,
  type ShownJob,
  type ShownNode,
} from './memory/jobs.ts'
import type { Judgement, Spec } from './spec.ts'

const SOURCE = 'Franceschetti & Bruck 1999, the fault-recovery system of RAIN, with numbered outputs'

function judged(problem: string | null, concerned: boolean): Judgement {
  if (problem !== null) return { violated: problem }
  return concerned ? 'held' : 'not concerned'
}

function isOutput(seen: Observation, types: readonly string[]): boolean {
  return seen.type === 'output' && types.includes(seen.event.type)
}

export const oneAcceptedOwner: Spec<JobsMemory> = {
  name: 'one-accepted-owner',
  title: 'no job has two owners whose outputs are both accepted, and no assignment starts a job twice',
  source: SOURCE,
  when: 'always',
  fold: jobsFold,
  judge: ({ owner }, seen) => judged(owner, isOutput(seen, ['start', 'delivered'])),
}

export const oneContent: Spec<JobsMemory> = {
  name: 'one-content',
  title:
    'no two contents are committed under one assignment and epoch, and no job starts from an uncommitted checkpoint',
  source: SOURCE,
  when: 'always',
  fold: jobsFold,
  judge: ({ content }, seen) => judged(content, isOutput(seen, ['start', 'committed'])),
}

/** The members of a node's view, as it shows them. */
function membersOf({ view }: ShownNode): readonly NodeId[] {
  return view.members ?? []
}

export const checkpointsSurvive: Spec<JobsMemory> = {
  name: 'checkpoints-survive',
  title:
    'a committed checkpoint is never lost, nor an older one resumed, while no more nodes are gone than its columns tolerate',
  source: SOURCE,
  when: 'always',
  fold: jobsFold,
  judge(memory, seen) {
    if (seen.type !== 'view') return judged(memory.survival, isOutput(seen, ['start']))
    const shown = memory.nodes.find(({ node }) => node === seen.node)
    if (shown === undefined || memory.lost.length === 0) return 'not concerned'
    const lost = jobsShown(shown).filter(({ name }) => memory.lost.includes(name))
    for (const { name, commit } of lost) {
      if (commit === null) continue
      const members = membersOf(shown)
      const stored = commit.holders.filter((holder) => holder !== null)
      const left = Math.min(
        stored.filter((holder) => members.includes(holder)).length,
        goodColumns(memory, commit, members),
      )
      const tolerated = stored.length - commit.code.data
      if (stored.length - left <= tolerated)
        return {
          violated: `${name} is reported lost, but ${stored.length - left} of ${stored.length} holders are gone, and ${tolerated} may be`,
        }
    }
    return 'held'
  },
}

/** How long a table must have been unchanged: changes of the last moment may still be in progress. */
const UNCHANGED = 1_000_000

export const jobsResume: Spec<JobsMemory> = {
  name: 'jobs-resume',
  title:
    'once settled, every unfinished job runs at a member, waits for a slot that is taken, or is reported lost for want of columns',
  source: SOURCE,
  when: 'settled',
  fold: jobsFold,
  judge(memory, seen) {
    if (seen.type !== 'settled') return 'not concerned'
    let concerned = false
    for (const leader of memory.nodes) {
      const isLeading = leader.view.role === 'leader' && isInQuorum(leader)
      // Without time, a settled world has nothing in progress.
      const isFresh = seen.at > 0 && seen.at - leader.since < UNCHANGED
      if (!isLeading || isFresh || !isAgreed(memory, leader, seen.connected)) continue
      const forgotten = findForgotten(memory, leader)
      if (forgotten !== null)
        return { violated: `${forgotten} is committed, but the fault manager has no such job` }
      for (const job of jobsShown(leader)) {
        concerned = true
        const problem = findProblem(memory, leader, job)
        if (problem !== null) return { violated: `${job.name} ${problem}` }
      }
    }
    return concerned ? 'held' : 'not concerned'
  },
}

/** By the memory of the specification: what the manager has lost, it does not show. */
function findForgotten({ jobs }: JobsMemory, leader: ShownNode): string | null {
  const shown = new Set(jobsShown(leader).map(({ name }) => name))
  const forgotten = jobs.find(
    ({ job, newest, isCancelled }) => newest !== null && !isCancelled && !shown.has(job),
  )
  return forgotten?.job ?? null
}

/** Whether all members of the view are in it, and linked with each other: otherwise the next view is due first. */
function isAgreed({ nodes }: JobsMemory, leader: ShownNode, connected: Connected): boolean {
  const members = membersOf(leader)
  const isIn = (member: NodeId): boolean =>
    nodes.some(({ node, view }) => node === member && view.token === leader.view.token)
  return members.every(isIn) && areAllLinked(graphOf(members, connected), members)
}

function findProblem(memory: JobsMemory, leader: ShownNode, job: ShownJob): string | null {
  const members = membersOf(leader)
  switch (job.status) {
    case 'submitted':
      return 'is submitted, but its definition is not stored'
    case 'running':
      return findRunProblem(memory, members, job)
    case 'waiting': {
      if (job.declined.length > 0) return null
      const free = members.find((member) => hasFreeSlot(memory, leader, member))
      return free === undefined ? null : `waits, but ${free} has a free slot`
    }
    case 'lost': {
      if (job.commit === null) return 'is lost without a checkpoint'
      const good = goodColumns(memory, job.commit, members)
      return good < job.commit.code.data ? null : `is reported lost, but ${good} good columns are at members`
    }
    default:
      return null
  }
}

function findRunProblem(memory: JobsMemory, members: readonly NodeId[], job: ShownJob): string | null {
  const { owner, assignment, name } = job
  if (owner === null || !members.includes(owner[0])) return 'is running at a node that is gone'
  const runs = memory.jobs.find((each) => each.job === name)?.runs ?? []
  const isRun = runs.some(
    (run) => run.isActive && run.node === owner[0] && run.assignment.join() === assignment.join(),
  )
  return isRun ? null : `should run at ${owner[0]}, which has not started it`
}

function hasFreeSlot({ nodes }: JobsMemory, leader: ShownNode, member: NodeId): boolean {
  const slots = nodes.find(({ node }) => node === member)?.view.detail?.['slots'] ?? 0
  const taken = jobsShown(leader).filter(
    ({ status, owner }) => status === 'running' && owner?.[0] === member,
  ).length
  return typeof slots === 'number' && taken < slots
}
