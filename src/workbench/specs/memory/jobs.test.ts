/** The memory of jobs: columns, commits, runs, the sink, and what each node shows. */
import { describe, expect, it } from 'vitest'
import { commandedAt, downAt, outputAt, viewAt } from '../../../../test/support/traces.ts'
import type { PlainObject, View } from '../../../core/index.ts'
import type { Observation } from '../../trace/index.ts'
import {
  type Checkpoint,
  compareEpochs,
  compareJobIds,
  goodColumns,
  isInQuorum,
  type JobId,
  type JobMemory,
  type JobsMemory,
  jobsFold,
  jobsShown,
  newlyLost,
  type StoredId,
} from './jobs.ts'

const RUN = { nodes: [1, 2, 3, 4], prefers: 'lowest', constants: {} } as const
const START = jobsFold.begin(RUN)

const idOf = (assignment: JobId, epoch: number, token = assignment[0]): StoredId => ({
  job: 'sum',
  assignment,
  epoch,
  token,
})
const commitOf = (id: StoredId, digest = `d${id.epoch}`): Checkpoint => ({
  id,
  code: { columns: 4, data: 2 },
  holders: [1, 2, 3, 4],
  digest,
})
const holds = (node: number, id: StoredId, column: number, digest = `d${id.epoch}`): Observation =>
  outputAt(0, node, { type: 'holds', id, column, digest })
const corrupted = (node: number, id: StoredId, column: number): Observation =>
  outputAt(0, node, { type: 'corrupted', id, column, digest: `d${id.epoch}` })
const committed = (commit: Checkpoint): Observation => outputAt(0, 1, { type: 'committed', commit })
const start = (node: number, assignment: JobId, commit: Checkpoint): Observation =>
  outputAt(0, node, { type: 'start', job: 'sum', assignment, commit })
const stop = (node: number, assignment: JobId): Observation =>
  outputAt(0, node, { type: 'stop', job: 'sum', assignment })
const delivered = (node: number, seq: number, value: string, token: number): Observation =>
  outputAt(0, node, { type: 'delivered', job: 'sum', seq, value, token })
const shows = (
  ms: number,
  node: number,
  role: View['role'],
  detail: PlainObject,
  token: number | null = 1,
): Observation => viewAt(ms, node, role, { token, detail, members: [1, 2, 3, 4] })
const job = (status: string, extra: PlainObject = {}): PlainObject => ({
  name: 'sum',
  status,
  owner: null,
  assignment: [1, 1],
  declined: [],
  commit: null,
  ...extra,
})

const after = (...seen: readonly Observation[]): JobsMemory =>
  seen.reduce((memory, each) => jobsFold.next(memory, each), START)
const sum = (memory: JobsMemory): JobMemory => {
  const [only] = memory.jobs
  if (only === undefined) throw new Error('no job')
  return only
}
const FIRST = idOf([1, 1], 1)
/** Three of four columns of the first checkpoint are stored. */
const STORED = [holds(1, FIRST, 0), holds(2, FIRST, 1), holds(3, FIRST, 2)]

describe('identifiers', () => {
  it.each([
    [[1, 1], [1, 1], 0],
    [[1, 2], [1, 1], 1],
    [[1, 9], [2, 1], -1],
    [[3, 0], [2, 9], 1],
  ] as const)('orders assignment %j against %j by token, then number', (a, b, sign) => {
    expect(Math.sign(compareJobIds(a, b))).toBe(sign)
  })

  it('treats two encodings of one content as equal', () => {
    expect(compareEpochs(idOf([1, 1], 3, 1), idOf([1, 1], 3, 7))).toBe(0)
    expect(compareEpochs(idOf([1, 1], 4), idOf([1, 1], 3))).toBeGreaterThan(0)
    expect(compareEpochs(idOf([2, 1], 0), idOf([1, 1], 9))).toBeGreaterThan(0)
  })
})

describe('columns', () => {
  it('counts each good column once, at the given nodes only', () => {
    const memory = after(...STORED, holds(4, FIRST, 2))
    expect(goodColumns(memory, commitOf(FIRST), [1, 2, 3, 4])).toBe(3)
    expect(goodColumns(memory, commitOf(FIRST), [1, 4])).toBe(2)
    expect(goodColumns(memory, commitOf(FIRST), [3])).toBe(0)
  })

  it('does not count a corrupted column until it is stored again', () => {
    const broken = after(...STORED, corrupted(2, FIRST, 1))
    expect(goodColumns(broken, commitOf(FIRST), [1, 2, 3])).toBe(2)
    expect(goodColumns(jobsFold.next(broken, holds(2, FIRST, 1)), commitOf(FIRST), [1, 2, 3])).toBe(3)
  })

  it('corrupts only the named column of the named node', () => {
    const memory = after(...STORED, corrupted(2, FIRST, 0), corrupted(1, idOf([1, 1], 2), 0))
    expect(goodColumns(memory, commitOf(FIRST), [1, 2, 3])).toBe(3)
  })

  it('keeps encodings of one content apart by their token', () => {
    expect(goodColumns(after(...STORED), commitOf(idOf([1, 1], 1, 2)), [1, 2, 3])).toBe(0)
  })

  it('counts only columns of the content that was committed', () => {
    const memory = after(holds(1, FIRST, 0, 'other'), holds(2, FIRST, 1))
    expect(goodColumns(memory, commitOf(FIRST), [1, 2])).toBe(1)
  })

  it('is zero for a job that was never seen', () => {
    expect(goodColumns(START, commitOf(FIRST), [1, 2, 3, 4])).toBe(0)
  })

  it('forgets columns of checkpoints that are older than the newest commit', () => {
    const second = idOf([1, 1], 2)
    const memory = after(...STORED, committed(commitOf(second)), holds(1, second, 0))
    expect(sum(memory).stored.map(({ id, column }) => [id.epoch, column])).toEqual([[2, 0]])
  })
})

describe('commits', () => {
  it('keeps the newest by assignment, epoch and token', () => {
    const newest = (...commits: readonly Checkpoint[]) => sum(after(...commits.map(committed))).newest?.id
    expect(newest(commitOf(idOf([1, 1], 2)), commitOf(FIRST))).toEqual(idOf([1, 1], 2))
    expect(newest(commitOf(FIRST), commitOf(idOf([2, 1], 0)))).toEqual(idOf([2, 1], 0))
    expect(newest(commitOf(FIRST), commitOf(idOf([1, 1], 1, 5)))).toEqual(idOf([1, 1], 1, 5))
    expect(newest(commitOf(idOf([1, 1], 1, 5)), commitOf(FIRST))).toEqual(idOf([1, 1], 1, 5))
  })

  it('reports two contents under one assignment and epoch, and forgets the report afterwards', () => {
    const twice = after(committed(commitOf(FIRST, 'a')), committed(commitOf(idOf([1, 1], 1, 2), 'b')))
    expect(twice.content).toBe('two contents of sum are committed as checkpoint 1 under assignment 1.1')
    expect(jobsFold.next(twice, downAt(1, 3)).content).toBeNull()
  })

  it('accepts the same content again, and other contents under another assignment', () => {
    expect(after(committed(commitOf(FIRST, 'a')), committed(commitOf(FIRST, 'a'))).content).toBeNull()
    expect(
      after(committed(commitOf(FIRST, 'a')), committed(commitOf(idOf([1, 2], 1), 'b'))).content,
    ).toBeNull()
  })
})

describe('a new job of the same name', () => {
  const again = outputAt(0, 1, { type: 'submitted', job: 'sum', assignment: [3, 1] })

  it('starts with an empty memory, and with the token of its submission', () => {
    const memory = after(...STORED, committed(commitOf(FIRST)), delivered(1, 0, 'x', 1), again)
    expect(sum(memory)).toEqual({
      job: 'sum',
      since: [3, 1],
      token: 3,
      runs: [],
      newest: null,
      digests: {},
      stored: [],
      accepted: [],
      isCancelled: false,
      cancels: [],
    })
  })

  it('is cancelled while a cancellation still waits for a leader, and not after it was carried out', () => {
    const cancel = commandedAt(0, 1, { do: 'cancel', job: 'sum' })
    const isCancelled = (...more: readonly Observation[]): boolean =>
      sum(after(...STORED, cancel, ...more, again)).isCancelled
    expect(isCancelled()).toBe(true)
    const elsewhere = shows(1, 2, 'follower', { inQuorum: true, jobs: [job('cancelled')] })
    expect(isCancelled(elsewhere)).toBe(true)
    const here = shows(1, 1, 'follower', { inQuorum: true, jobs: [job('cancelled')] })
    expect(isCancelled(here)).toBe(false)
    expect(isCancelled(downAt(1, 1))).toBe(false)
  })

  it('is not restarted by a late report of an older submission', () => {
    const late = outputAt(0, 2, { type: 'submitted', job: 'sum', assignment: [2, 1] })
    expect(sum(after(again, late)).since).toEqual([3, 1])
  })

  it('ignores starts and contents of the earlier job', () => {
    const memory = after(again, start(2, [1, 1], commitOf(FIRST)))
    expect([sum(memory).runs, memory.owner, memory.content]).toEqual([[], null, null])
    expect(sum(after(again, committed(commitOf(FIRST)))).digests).toEqual({})
  })
})

describe('runs', () => {
  it('lists a start as an active run', () => {
    expect(sum(after(...STORED, start(2, [1, 1], commitOf(FIRST)))).runs).toMatchObject([
      { node: 2, assignment: [1, 1], isActive: true, isStopped: false },
    ])
  })

  it('ends the earlier run of a node when the node starts the job again', () => {
    const memory = after(...STORED, start(2, [1, 1], commitOf(FIRST)), start(2, [2, 1], commitOf(FIRST)))
    expect(sum(memory).runs.map(({ isActive }) => isActive)).toEqual([false, true])
  })

  it('reports a second start under one assignment', () => {
    const twice = after(...STORED, start(2, [1, 1], commitOf(FIRST)), start(3, [1, 1], commitOf(FIRST)))
    expect(twice.owner).toBe('sum is started twice under assignment 1.1')
  })

  it('reports a start from a checkpoint with too few columns', () => {
    const few = after(holds(1, FIRST, 0), holds(2, FIRST, 1), start(2, [1, 1], commitOf(FIRST)))
    expect(few.content).toBe('2 starts sum from checkpoint 1, of which only 2 columns were ever stored')
  })

  it('reports a start from an older checkpoint only under a later assignment', () => {
    const second = idOf([1, 1], 2)
    const before = [...STORED, committed(commitOf(second))]
    expect(after(...before, start(3, [2, 1], commitOf(FIRST))).survival).toBe(
      '3 resumes sum from checkpoint 1, but checkpoint 2 is committed',
    )
    expect(after(...before, start(3, [1, 1], commitOf(FIRST))).survival).toBeNull()
  })

  it('ends the runs of a node that goes down, and forgets what it showed', () => {
    const memory = after(
      ...STORED,
      shows(0, 2, 'follower', { inQuorum: true }),
      start(2, [1, 1], commitOf(FIRST)),
      downAt(1, 2),
    )
    expect(sum(memory).runs.map(({ isActive }) => isActive)).toEqual([false])
    expect(memory.nodes).toEqual([])
  })

  it('keeps the last nine runs', () => {
    const starts = Array.from({ length: 12 }, (_, at) => start(2, [at + 1, 1], commitOf(FIRST)))
    expect(sum(after(...STORED, ...starts)).runs.map(({ assignment }) => assignment[0])).toEqual([
      4, 5, 6, 7, 8, 9, 10, 11, 12,
    ])
  })
})

describe('a stop', () => {
  const started = [...STORED, shows(0, 2, 'follower', { inQuorum: true }), start(2, [1, 1], commitOf(FIRST))]

  it('of a node in quorum blocks every later start elsewhere', () => {
    const memory = after(...started, stop(2, [1, 1]), start(3, [2, 1], commitOf(FIRST)))
    expect(memory.owner).toBe('3 starts sum, which 2 ran in quorum until it had to stop')
  })

  it('of a node that leaves the quorum in the same step does not', () => {
    const left = shows(1, 2, 'follower', { inQuorum: false })
    const memory = after(...started, stop(2, [1, 1]), left, start(3, [2, 1], commitOf(FIRST)))
    expect(memory.owner).toBeNull()
  })

  it('of a node that dies in the same step does not', () => {
    const died = shows(1, 2, 'dead', { inQuorum: true })
    expect(after(...started, stop(2, [1, 1]), died, start(3, [2, 1], commitOf(FIRST))).owner).toBeNull()
  })

  it('after a cancellation does not', () => {
    const cancel = commandedAt(1, 1, { do: 'cancel', job: 'sum' })
    const memory = after(...started, cancel, stop(2, [1, 1]), start(3, [2, 1], commitOf(FIRST)))
    expect([sum(memory).isCancelled, memory.owner]).toEqual([true, null])
  })

  it('of another assignment leaves the run as it is', () => {
    expect(sum(after(...started, stop(2, [9, 9]))).runs[0]?.isActive).toBe(true)
  })
})

describe('the sink', () => {
  it('accepts numbered outputs in order, and repeats of the same value', () => {
    const memory = after(delivered(1, 0, 'a', 1), delivered(1, 1, 'b', 1), delivered(2, 0, 'a', 2))
    expect([sum(memory).accepted, sum(memory).token, memory.owner]).toEqual([['a', 'b'], 2, null])
  })

  it('refuses a token that is smaller than the largest', () => {
    const memory = after(delivered(2, 0, 'a', 2), delivered(1, 0, 'x', 1), delivered(1, 1, 'y', 1))
    expect([sum(memory).accepted, memory.owner]).toEqual([['a'], null])
  })

  it('reports two values under one number', () => {
    expect(after(delivered(1, 0, 'a', 1), delivered(2, 0, 'b', 2)).owner).toBe(
      '2 delivers output 0 of sum as made by b; the sink has accepted one made by a',
    )
  })

  it('reports a gap in the numbers', () => {
    expect(after(delivered(1, 0, 'a', 1), delivered(1, 2, 'c', 1)).owner).toBe(
      '1 delivers output 2 of sum, but outputs from 1 on are missing',
    )
  })
})

describe('what nodes show', () => {
  it('reads jobs and quorum from the details of a view, and copes without any', () => {
    const [shown] = after(shows(0, 1, 'leader', { inQuorum: true, jobs: [job('waiting')] })).nodes
    if (shown === undefined) throw new Error('no node')
    expect([jobsShown(shown).map(({ name }) => name), isInQuorum(shown)]).toEqual([['sum'], true])
    const [bare] = after(viewAt(0, 1, 'follower')).nodes
    if (bare === undefined) throw new Error('no node')
    expect([jobsShown(bare), isInQuorum(bare)]).toEqual([[], false])
  })

  it('dates a table by its last change, apart from checkpoints', () => {
    const since = (...details: readonly PlainObject[]) =>
      after(...details.map((each, at) => shows(at, 1, 'leader', { jobs: [each] }))).nodes[0]?.since
    expect(since(job('waiting'), job('waiting'))).toBe(0)
    expect(since(job('waiting'), job('waiting', { commit: commitOf(FIRST) }))).toBe(0)
    expect(since(job('waiting'), job('running', { owner: [2, 1] }))).toBe(1000)
  })

  it('stays the same object if a view repeats, or an unknown node goes down', () => {
    const shown = shows(0, 1, 'leader', { inQuorum: true, jobs: [job('waiting')] })
    const memory = after(shown)
    expect(jobsFold.next(memory, shown)).toBe(memory)
    expect(jobsFold.next(memory, { ...shown, at: 5000 })).toBe(memory)
    expect(jobsFold.next(memory, downAt(5, 3))).toBe(memory)
    expect(jobsFold.next(memory, { type: 'ended', at: 0 })).toBe(memory)
  })
})

describe('lost jobs', () => {
  const seen = (status: string, token = 1, role: View['role'] = 'leader') =>
    shows(0, 1, role, { jobs: [job(status)] }, token) as Observation & { readonly type: 'view' }

  it('are new if the leader showed them otherwise before', () => {
    expect(newlyLost(after(seen('running')), seen('lost'))).toEqual(['sum'])
    expect(after(seen('running'), seen('lost')).lost).toEqual(['sum'])
  })

  it.each([
    ['the table is taken over with a new token', seen('running', 1), seen('lost', 2)],
    ['the node does not lead', seen('running'), seen('lost', 1, 'follower')],
    ['they were lost before', seen('lost'), seen('lost')],
    ['nothing is lost', seen('waiting'), seen('running')],
  ])('are none if %s', (_why, before, now) => {
    expect(newlyLost(after(before), now)).toEqual([])
  })

  it('are none if the node has shown nothing yet', () => {
    expect(newlyLost(START, seen('lost'))).toEqual([])
  })

  it('are forgotten with the next observation', () => {
    expect(after(seen('running'), seen('lost'), downAt(1, 3)).lost).toEqual([])
  })
})
