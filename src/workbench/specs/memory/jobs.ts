/**
 * Memory shared by the promises about jobs: runs, committed checkpoints, stored columns, a sink that judges outputs by
 * their token, and what each node shows.
 */
import { equalPlain, type NodeId, type Output, type Plain, type View } from '../../../core/index.ts'
import type { Observation } from '../../trace/index.ts'
import type { Fold } from '../spec.ts'

export type JobId = readonly [token: number, n: number]
export type StoredId = {
  readonly job: string
  readonly assignment: JobId
  readonly epoch: number
  readonly token: number
}
export type Checkpoint = {
  readonly id: StoredId
  readonly code: { readonly columns: number; readonly data: number }
  readonly holders: readonly (NodeId | null)[]
  readonly digest: string
}
export type ShownJob = {
  readonly name: string
  readonly status: string
  readonly owner: readonly [node: NodeId, life: number] | null
  readonly assignment: JobId
  readonly declined: readonly NodeId[]
  readonly commit: Checkpoint | null
}

/**
 * A run that a node began. `isStopped`: the manager stopped it although the node was in quorum. `hasLeft`: other nodes
 * had a leader meanwhile, in a view without the node.
 */
export type JobRun = {
  readonly node: NodeId
  readonly assignment: JobId
  readonly isActive: boolean
  readonly isStopped: boolean
  readonly hasLeft: boolean
}

/** What was stored: a checkpoint that failed may be tried again with another content under the same id. */
type Content = { readonly id: StoredId; readonly digest: string }

type Stored = Content & {
  readonly node: NodeId
  readonly column: number
  readonly isGood: boolean
}

export type JobMemory = {
  readonly job: string
  /** Everything of this job before this assignment belongs to an earlier job of the same name. */
  readonly since: JobId
  readonly runs: readonly JobRun[]
  /** The newest checkpoint that was reported as committed. */
  readonly newest: Checkpoint | null
  /** The digests that were committed, or restored, by assignment and epoch. */
  readonly digests: { readonly [id: string]: string }
  readonly stored: readonly Stored[]
  /** What the sink has accepted, by number, and the largest token that it has seen. */
  readonly accepted: readonly string[]
  readonly token: number
  readonly isCancelled: boolean
  /** Nodes whose cancellation may still wait for a leader: it would also end a later job of this name. */
  readonly cancels: readonly NodeId[]
}

export type ShownNode = {
  readonly node: NodeId
  readonly view: View
  /** When the table that it shows last changed, apart from checkpoints. */
  readonly since: number
}

export type JobsMemory = {
  readonly nodes: readonly ShownNode[]
  readonly jobs: readonly JobMemory[]
  /** The tokens of the last leaders. */
  readonly elected: readonly number[]
  /** Jobs that the leader of a view has reported as lost with the last observation. */
  readonly lost: readonly string[]
  /** Problems with the last observation. */
  readonly owner: string | null
  readonly survival: string | null
  readonly content: string | null
}

export function compareJobIds(a: JobId, b: JobId): number {
  return a[0] - b[0] || a[1] - b[1]
}

/** By assignment and epoch: encodings of one content are equal. */
export function compareEpochs(a: StoredId, b: StoredId): number {
  return compareJobIds(a.assignment, b.assignment) || a.epoch - b.epoch
}

function isSame({ id: a, digest }: Content, { id: b, digest: other }: Content): boolean {
  return a.job === b.job && compareEpochs(a, b) === 0 && a.token === b.token && digest === other
}

export function jobsShown({ view }: ShownNode): readonly ShownJob[] {
  return (view.detail?.['jobs'] ?? []) as unknown as readonly ShownJob[]
}

export function isInQuorum({ view }: ShownNode): boolean {
  return view.detail?.['inQuorum'] === true
}

/** Good columns of a checkpoint at these nodes. */
export function goodColumns(memory: JobsMemory, of: Content, nodes: readonly NodeId[]): number {
  const stored = memory.jobs.find(({ job }) => job === of.id.job)?.stored ?? []
  const columns = stored.filter((each) => each.isGood && nodes.includes(each.node) && isSame(each, of))
  return new Set(columns.map(({ column }) => column)).size
}

const NEW_JOB = {
  runs: [],
  newest: null,
  digests: {},
  stored: [],
  accepted: [],
  isCancelled: false,
  cancels: [],
} as const

type Problems = { owner: string | null; survival: string | null; content: string | null }

export const jobsFold: Fold<JobsMemory> = {
  begin: () => ({ nodes: [], jobs: [], elected: [], lost: [], owner: null, survival: null, content: null }),
  next(memory, seen) {
    const problems: Problems = { owner: null, survival: null, content: null }
    const next = follow(memory, seen, problems)
    const lost = seen.type === 'view' ? newlyLost(memory, seen) : NONE
    if (
      next === memory &&
      lost === NONE &&
      memory.lost.length === 0 &&
      memory.owner === null &&
      memory.survival === null &&
      memory.content === null
    )
      if (problems.owner === null && problems.survival === null && problems.content === null) return memory
    return { ...next, ...problems, lost }
  },
}

function follow(memory: JobsMemory, seen: Observation, problems: Problems): JobsMemory {
  switch (seen.type) {
    case 'view':
      return followView(memory, seen)
    case 'down':
      if (!isKnown(memory, seen.node)) return memory
      return {
        ...memory,
        nodes: memory.nodes.filter(({ node }) => node !== seen.node),
        jobs: memory.jobs.map((job) => ({
          ...job,
          runs: job.runs.map((run) => (run.node === seen.node ? { ...run, isActive: false } : run)),
          cancels: job.cancels.filter((node) => node !== seen.node),
        })),
      }
    case 'commanded': {
      const { command } = seen
      if (command.do !== 'cancel') return memory
      return update(memory, command['job'] as string, (job) => ({
        ...job,
        isCancelled: true,
        cancels: [...job.cancels.filter((node) => node !== seen.node), seen.node],
      }))
    }
    case 'output':
      return followOutput(memory, seen.node, seen.event, problems)
    default:
      return memory
  }
}

/** Whether the node shows a view, runs a job or has a cancellation that waits. */
function isKnown({ nodes, jobs }: JobsMemory, of: NodeId): boolean {
  return (
    nodes.some(({ node }) => node === of) ||
    jobs.some(({ cancels }) => cancels.includes(of)) ||
    jobs.some(({ runs }) => runs.some(({ node, isActive }) => node === of && isActive))
  )
}

function followView(memory: JobsMemory, seen: Observation & { readonly type: 'view' }): JobsMemory {
  const { node, view, at } = seen
  const before = memory.nodes.find((each) => each.node === node)
  const records = (of: ShownNode): Plain =>
    jobsShown(of).map(({ name, status, owner, assignment }) => [name, status, owner, assignment])
  const shown = { node, view, since: at }
  const isSameTable = before !== undefined && equalPlain(records(before), records(shown))
  const next = isSameTable ? { ...shown, since: before.since } : shown
  if (isSameTable && equalPlain(before.view, view)) return memory
  const nodes = [...memory.nodes.filter((each) => each.node !== node), next]
  return followQuorum(settleCancels({ ...memory, nodes }, next), before, next)
}

/** The cancellations of a node that shows a job as cancelled have been carried out. */
function settleCancels(memory: JobsMemory, shown: ShownNode): JobsMemory {
  const settled = jobsShown(shown).flatMap(({ name, status }) => (status === 'cancelled' ? [name] : []))
  const isSettled = ({ job, cancels }: JobMemory): boolean =>
    settled.includes(job) && cancels.includes(shown.node)
  if (!memory.jobs.some(isSettled)) return memory
  const jobs = memory.jobs.map((job) =>
    isSettled(job) ? { ...job, cancels: job.cancels.filter((node) => node !== shown.node) } : job,
  )
  return { ...memory, jobs }
}

/** Notes which runs of a node have left its quorum, or were passed by another leader. */
function followQuorum(memory: JobsMemory, before: ShownNode | undefined, next: ShownNode): JobsMemory {
  const { node, view } = next
  const { token } = view
  const last = before?.view.token ?? null
  const isPassed =
    token !== null && last !== null && memory.elected.some((other) => last < other && other < token)
  // The view follows the outputs of a step: it left the quorum in the step in which it stopped.
  const isOut = view.role === 'dead' || !isInQuorum(next)
  if (!isPassed && !isOut) return memory
  const updateRun = (run: JobRun): JobRun => {
    if (run.node !== node) return run
    const isStopped = run.isStopped && !isOut
    const hasLeft = run.hasLeft || isPassed
    return isStopped === run.isStopped && hasLeft === run.hasLeft ? run : { ...run, isStopped, hasLeft }
  }
  const jobs = memory.jobs.map((job) => {
    const runs = job.runs.map(updateRun)
    return runs.every((run, place) => run === job.runs[place]) ? job : { ...job, runs }
  })
  return { ...memory, jobs }
}

const NONE: readonly string[] = []

/** A leader that takes over a table shows jobs as lost before it has looked for their columns itself. */
export function newlyLost(
  { nodes }: JobsMemory,
  seen: Observation & { readonly type: 'view' },
): readonly string[] {
  const { view, node } = seen
  const before = nodes.find((each) => each.node === node)
  if (view.role !== 'leader' || before === undefined || before.view.token !== view.token) return NONE
  if (before.view.detail?.['ready'] === false) return NONE
  const was = jobsShown(before)
  const lost = jobsShown({ node, view, since: 0 }).filter(
    ({ name, status }) => status === 'lost' && was.some((job) => job.name === name && job.status !== 'lost'),
  )
  return lost.length === 0 ? NONE : lost.map(({ name }) => name)
}

/** The memory of a new job with the name of an earlier one. */
function restartJob({ job, cancels }: JobMemory, since: JobId): JobMemory {
  return { job, since, token: since[0], ...NEW_JOB, isCancelled: cancels.length > 0, cancels }
}

function update(memory: JobsMemory, name: string, change: (job: JobMemory) => JobMemory): JobsMemory {
  const known = memory.jobs.find(({ job }) => job === name)
  if (known === undefined) {
    const job = change({ job: name, since: [0, 0], token: 0, ...NEW_JOB })
    return { ...memory, jobs: [...memory.jobs, job] }
  }
  return { ...memory, jobs: memory.jobs.map((job) => (job === known ? change(job) : job)) }
}

function followOutput(memory: JobsMemory, node: NodeId, event: Output, problems: Problems): JobsMemory {
  const name = (event['job'] as string | undefined) ?? (event['id'] as StoredId | undefined)?.job ?? ''
  switch (event.type) {
    case 'submitted': {
      const assignment = event['assignment'] as unknown as JobId
      return update(memory, name, (job) =>
        compareJobIds(assignment, job.since) > 0 ? restartJob(job, assignment) : job,
      )
    }
    case 'holds':
      return update(memory, name, (job) => {
        const { id, column, digest } = event as unknown as Content & { column: number }
        const others = job.stored.filter((each) => !(isSame(each, { id, digest }) && each.column === column))
        const { newest } = job
        // Older checkpoints are of no interest any more.
        const kept = others.filter((each) => newest === null || compareEpochs(each.id, newest.id) >= 0)
        return { ...job, stored: [...kept, { id, digest, node, column, isGood: true }] }
      })
    case 'corrupted':
      return update(memory, name, (job) => {
        const { id, column, digest } = event as unknown as Content & { column: number }
        const isCorrupted = (each: Stored): boolean =>
          each.node === node && isSame(each, { id, digest }) && each.column === column
        return {
          ...job,
          stored: job.stored.map((each) => (isCorrupted(each) ? { ...each, isGood: false } : each)),
        }
      })
    case 'committed': {
      const commit = event['commit'] as unknown as Checkpoint
      return update(memory, commit.id.job, (job) => {
        const known = remember(job, commit, problems)
        const { newest } = known
        const isNewer =
          newest === null ||
          compareEpochs(commit.id, newest.id) > 0 ||
          (compareEpochs(commit.id, newest.id) === 0 && commit.id.token > newest.id.token)
        return isNewer ? { ...known, newest: commit } : known
      })
    }
    case 'start':
      return followStart(memory, node, event, problems)
    case 'stop':
      return followStop(memory, node, event)
    case 'elected':
      return { ...memory, elected: [...memory.elected.slice(-8), Number(event['token'])] }
    case 'delivered':
      return update(memory, name, (job) => deliver(job, node, event, problems))
    default:
      return memory
  }
}

/** One content for each assignment and epoch. */
function remember(job: JobMemory, { id, digest }: Checkpoint, problems: Problems): JobMemory {
  if (compareJobIds(id.assignment, job.since) < 0) return job
  const key = `${id.assignment.join('.')} ${id.epoch}`
  const known = job.digests[key]
  if (known !== undefined && known !== digest)
    problems.content = `two contents of ${id.job} are committed as checkpoint ${id.epoch} under assignment ${id.assignment.join('.')}`
  return known === undefined ? { ...job, digests: { ...job.digests, [key]: digest } } : job
}

function followStart(memory: JobsMemory, node: NodeId, event: Output, problems: Problems): JobsMemory {
  const {
    job: name,
    assignment,
    commit,
  } = event as unknown as {
    job: string
    assignment: JobId
    commit: Checkpoint
  }
  return update(memory, name, (before) => {
    if (compareJobIds(assignment, before.since) < 0) return before
    const job = remember(before, commit, problems)
    const label = assignment.join('.')
    if (job.runs.some((run) => compareJobIds(run.assignment, assignment) === 0))
      problems.owner = `${name} is started twice under assignment ${label}`
    const last = job.runs
      .filter((run) => compareJobIds(run.assignment, assignment) < 0)
      .reduce<JobRun | null>(
        (a, b) => (a === null || compareJobIds(b.assignment, a.assignment) > 0 ? b : a),
        null,
      )
    if (last?.isStopped === true && !last.hasLeft && !job.isCancelled)
      problems.owner = `${node} starts ${name}, which ${last.node} ran in quorum until it had to stop`
    const { newest } = job
    const isLater = newest !== null && compareJobIds(assignment, newest.id.assignment) > 0
    if (isLater && compareEpochs(commit.id, newest.id) < 0)
      problems.survival = `${node} resumes ${name} from checkpoint ${commit.id.epoch}, but checkpoint ${newest.id.epoch} is committed`
    const acknowledged = job.stored.filter((each) => isSame(each, commit))
    const columns = new Set(acknowledged.map(({ column }) => column)).size
    if (columns <= commit.code.data)
      problems.content = `${node} starts ${name} from checkpoint ${commit.id.epoch}, of which only ${columns} columns were ever stored`
    const run = { node, assignment, isActive: true, isStopped: false, hasLeft: false }
    const ended = job.runs.map((each) => (each.node === node ? { ...each, isActive: false } : each))
    return { ...job, runs: [...ended.slice(-8), run] }
  })
}

function followStop(memory: JobsMemory, node: NodeId, event: Output): JobsMemory {
  const { job: name, assignment } = event as unknown as { job: string; assignment: JobId }
  const shown = memory.nodes.find((each) => each.node === node)
  const isStopped = shown !== undefined && shown.view.role !== 'dead' && isInQuorum(shown)
  return update(memory, name, (job) => ({
    ...job,
    runs: job.runs.map((run) =>
      run.node === node && compareJobIds(run.assignment, assignment) === 0
        ? { ...run, isActive: false, isStopped }
        : run,
    ),
  }))
}

/** The sink refuses tokens smaller than the largest that it has seen, and drops what it has. */
function deliver(job: JobMemory, node: NodeId, event: Output, problems: Problems): JobMemory {
  const { seq, value, token } = event as unknown as { seq: number; value: string; token: number }
  if (token < job.token) return job
  const { accepted } = job
  const known = accepted[seq]
  if (known !== undefined && known !== value)
    problems.owner = `${node} delivers output ${seq} of ${job.job} as made by ${value}; the sink has accepted one made by ${known}`
  if (seq > accepted.length)
    problems.owner = `${node} delivers output ${seq} of ${job.job}, but outputs from ${accepted.length} on are missing`
  return { ...job, token, accepted: seq === accepted.length ? [...accepted, value] : accepted }
}
