/** Promises about jobs and checkpoints: each on a violating trace and on a legal near miss. */
import { describe, expect, it } from 'vitest'
import { judgement, outputAt, timesReached, viewAt } from '../../../test/support/traces.ts'
import type { PlainObject } from '../../core/index.ts'
import type { Connected, Observation } from '../trace/index.ts'
import type { Judgement } from './index.ts'

const RUN = { nodes: [1, 2, 3, 4], prefers: 'lowest', constants: {} } as const
const judge = (name: string, ...seen: readonly Observation[]): Judgement => judgement(name, RUN, seen)
const reached = (name: string, ...seen: readonly Observation[]): number => timesReached(name, RUN, seen)

const idOf = (epoch: number, token = 1): PlainObject => ({ job: 'sum', assignment: [1, 1], epoch, token })
const commitOf = (epoch: number, token = 1): PlainObject => ({
  id: idOf(epoch, token),
  code: { columns: 4, data: 2 },
  holders: [1, 2, 3, 4],
  digest: `d${epoch}`,
})
const holds = (node: number, epoch = 1): Observation =>
  outputAt(0, node, { type: 'holds', id: idOf(epoch), column: node - 1, digest: `d${epoch}` })
const committed = (epoch: number, token = 1): Observation =>
  outputAt(0, 1, { type: 'committed', commit: commitOf(epoch, token) })
const start = (node: number, token: number, epoch = 1): Observation =>
  outputAt(0, node, { type: 'start', job: 'sum', assignment: [token, 1], commit: commitOf(epoch) })
const delivered = (node: number, seq: number, value: string): Observation =>
  outputAt(0, node, { type: 'delivered', job: 'sum', seq, value, token: 1 })
const STORED = [holds(1), holds(2), holds(3)]

const job = (status: string, extra: PlainObject = {}): PlainObject => ({
  name: 'sum',
  status,
  owner: null,
  assignment: [1, 1],
  declined: [],
  commit: null,
  ...extra,
})
const MEMBERS = [1, 2, 3]
const leader = (jobs: readonly PlainObject[], extra: PlainObject = {}): Observation =>
  viewAt(0, 1, 'leader', {
    token: 1,
    members: MEMBERS,
    detail: { inQuorum: true, slots: 1, jobs, ...extra },
  })
const member = (node: number, slots = 1, token = 1): Observation =>
  viewAt(0, node, 'follower', { token, members: MEMBERS, detail: { inQuorum: true, slots } })
const settled = (connected: Connected = 'full', ms = 2000): Observation => ({
  type: 'settled',
  at: ms * 1000,
  connected,
})

describe('one-accepted-owner', () => {
  it('rejects two starts under one assignment', () => {
    expect(judge('one-accepted-owner', ...STORED, start(2, 1), start(3, 1))).toEqual({
      violated: 'sum is started twice under assignment 1.1',
    })
  })
  it('rejects outputs that contradict what the sink accepted', () => {
    expect(judge('one-accepted-owner', delivered(1, 0, 'a'), delivered(2, 0, 'b'))).toEqual({
      violated: '2 delivers output 0 of sum as made by b; the sink has accepted one made by a',
    })
  })
  it('accepts one start per assignment, and outputs in order', () => {
    expect(judge('one-accepted-owner', ...STORED, start(2, 1), start(3, 2))).toBe('held')
    expect(judge('one-accepted-owner', delivered(1, 0, 'a'), delivered(1, 1, 'b'))).toBe('held')
  })
  it('is not concerned by stored columns and commits', () => {
    expect(judge('one-accepted-owner', ...STORED, committed(1))).toBe('not concerned')
  })
})

describe('one-content', () => {
  it('rejects a start from a checkpoint that was not stored', () => {
    expect(judge('one-content', holds(1), start(2, 1))).toEqual({
      violated: '2 starts sum from checkpoint 1, of which only 1 columns were ever stored',
    })
  })
  it('accepts a start with one column more than the code needs', () => {
    expect(judge('one-content', ...STORED, start(2, 1))).toBe('held')
    expect(judge('one-content', committed(1), committed(2))).toBe('held')
  })
  it('is not concerned by outputs of the job', () => {
    expect(judge('one-content', delivered(1, 0, 'a'))).toBe('not concerned')
  })
})

describe('checkpoints-survive', () => {
  const second = [holds(1, 2), holds(2, 2), holds(3, 2), committed(2)]

  it('rejects a job that resumes from an older checkpoint than was committed', () => {
    expect(judge('checkpoints-survive', ...STORED, ...second, start(3, 2, 1))).toEqual({
      violated: '3 resumes sum from checkpoint 1, but checkpoint 2 is committed',
    })
    expect(judge('checkpoints-survive', ...STORED, ...second, start(3, 2, 2))).toBe('held')
  })

  const reported = (...members: readonly number[]): readonly Observation[] => [
    viewAt(0, 1, 'leader', {
      token: 1,
      members,
      detail: { jobs: [job('running', { commit: commitOf(1) })] },
    }),
    viewAt(1, 1, 'leader', { token: 1, members, detail: { jobs: [job('lost', { commit: commitOf(1) })] } }),
  ]
  const ALL = [...STORED, holds(4)]

  it('rejects a lost job while enough holders are members', () => {
    expect(judge('checkpoints-survive', ...ALL, ...reported(1, 2))).toEqual({
      violated: 'sum is reported lost, but 2 of 4 holders are gone, and 2 may be',
    })
  })
  it('accepts a lost job once more holders are gone than the code tolerates', () => {
    expect(judge('checkpoints-survive', ...ALL, ...reported(1))).toBe('held')
  })
  it('counts a corrupted column as gone', () => {
    const corrupted = outputAt(0, 2, { type: 'corrupted', id: idOf(1), column: 1, digest: 'd1' })
    expect(judge('checkpoints-survive', ...ALL, corrupted, ...reported(1, 2))).toBe('held')
  })
  it('accepts a lost job without a checkpoint', () => {
    const lost = [leader([job('running')]), leader([job('lost')])]
    expect(judge('checkpoints-survive', ...lost)).toBe('held')
  })
  it('is not concerned by views without a newly lost job', () => {
    expect(judge('checkpoints-survive', ...ALL, leader([job('running')]))).toBe('not concerned')
  })
})

describe('jobs-resume', () => {
  const others = [member(2), member(3)]
  const judged = (...seen: readonly Observation[]): Judgement =>
    judge('jobs-resume', ...others, ...seen, settled())

  it.each([
    ['submitted', {}, 'sum is submitted, but its definition is not stored'],
    ['running', { owner: [4, 1] }, 'sum is running at a node that is gone'],
    ['running', {}, 'sum is running at a node that is gone'],
    ['running', { owner: [2, 1] }, 'sum should run at 2, which has not started it'],
    ['waiting', {}, 'sum waits, but 1 has a free slot'],
    ['lost', {}, 'sum is lost without a checkpoint'],
  ] as const)('rejects a job that is %s with %j', (status, extra, violated) => {
    expect(judged(leader([job(status, extra)]))).toEqual({ violated })
  })

  it('rejects a lost job with enough good columns at members', () => {
    const lost = leader([job('lost', { commit: commitOf(1) })])
    expect(judged(...STORED, lost)).toEqual({
      violated: 'sum is reported lost, but 3 good columns are at members',
    })
    expect(judged(holds(1), holds(4), lost)).toBe('held')
  })

  it('accepts a job that runs where it should', () => {
    expect(judged(...STORED, start(2, 1), leader([job('running', { owner: [2, 1] })]))).toBe('held')
  })
  it('rejects a job whose owner had to stop', () => {
    const stop = outputAt(0, 2, { type: 'stop', job: 'sum', assignment: [1, 1] })
    const running = leader([job('running', { owner: [2, 1] })])
    expect(judged(...STORED, start(2, 1), stop, running)).toEqual({
      violated: 'sum should run at 2, which has not started it',
    })
  })
  it('accepts a job that waits while all slots are taken, or that a node declined', () => {
    const taken = MEMBERS.map((node) => job('running', { name: `j${node}`, owner: [node, 1] }))
    const started = MEMBERS.map((node) =>
      outputAt(0, node, { type: 'start', job: `j${node}`, assignment: [1, 1], commit: commitOf(1) }),
    )
    expect(judged(...started, leader([...taken, job('waiting')]))).toBe('held')
    expect(judged(leader([job('waiting', { declined: [2] })]))).toBe('held')
  })
  it('rejects a committed job that the manager has forgotten, unless it was cancelled', () => {
    expect(judged(committed(0), leader([]))).toEqual({
      violated: 'sum is committed, but the fault manager has no such job',
    })
    const cancelled: Observation = {
      type: 'commanded',
      at: 0,
      node: 1,
      command: { do: 'cancel', job: 'sum' },
    }
    expect(judged(committed(0), cancelled, leader([]))).toBe('not concerned')
  })
  it('accepts finished and cancelled jobs', () => {
    expect(judged(leader([job('finished'), job('cancelled')]))).toBe('held')
  })

  it.each([
    ['the table has just changed', [leader([job('submitted')])], settled('full', 999)],
    ['the leader is out of quorum', [leader([job('submitted')], { inQuorum: false })], settled()],
    ['a member is in another view', [member(3, 1, 2), leader([job('submitted')])], settled()],
    [
      'two members are not linked',
      [leader([job('submitted')])],
      settled([
        [1, 2],
        [1, 3],
      ]),
    ],
    ['no job is known', [leader([])], settled()],
  ])('is not concerned if %s', (_why, seen, last) => {
    expect(judge('jobs-resume', ...others, ...seen, last)).toBe('not concerned')
  })
  it('is not concerned before the world has settled', () => {
    expect(judge('jobs-resume', ...others, leader([job('submitted')]))).toBe('not concerned')
  })
})

describe('goals of recovery', () => {
  it('checkpoint-committed: only by a running job, not by the definition of a job', () => {
    expect(reached('checkpoint-committed', committed(0), committed(1), committed(2))).toBe(2)
  })
  it('job-resumed: only under a later assignment', () => {
    expect(reached('job-resumed', ...STORED, start(2, 1))).toBe(0)
    expect(reached('job-resumed', ...STORED, start(2, 1), start(3, 2))).toBe(1)
  })
  it('reencoded: the same epoch with a larger token', () => {
    expect(reached('reencoded', committed(1), committed(1, 2))).toBe(1)
    expect(reached('reencoded', committed(1), committed(2, 2), committed(1, 2))).toBe(0)
  })
  it('job-lost: when the leader first shows it', () => {
    const lost = leader([job('lost')])
    expect(reached('job-lost', leader([job('running')]), lost, lost)).toBe(1)
    expect(reached('job-lost', lost)).toBe(0)
  })
  it('column-repaired: by the notification of a repair', () => {
    expect(reached('column-repaired', outputAt(0, 2, { type: 'repair', job: 'sum' }), holds(1))).toBe(1)
  })
})
