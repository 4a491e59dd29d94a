/** Jobs, checkpoints and failures in the timed world, with the modelled host. */
import { describe, expect, it } from 'vitest'
import { ids, simulate } from '../../../test/support/run.ts'
import type { PlainObject } from '../../core/index.ts'
import type { Report } from '../../workbench/sim/index.ts'

const BOTH = ['reported', 'datagrams'] as const

function run(
  n: number,
  events: readonly PlainObject[],
  options: PlainObject = {},
  file: PlainObject = {},
): Report {
  return simulate({
    protocol: 'recovery',
    nodes: ids(n),
    seed: 3,
    network: { delayMs: [0.1, 2] },
    events,
    untilMs: 6500,
    ...file,
    options: { jobs: 1, length: 2000, ...options },
  })
}

type Shown = {
  readonly name: string
  readonly status: string
  readonly owner: readonly [number, number] | null
  readonly epoch: number
  readonly reason: string
  readonly tolerated: number | null
}

function jobsAt(report: Report, node: number): readonly Shown[] {
  return (report.nodes[String(node)]?.['jobs'] ?? []) as unknown as readonly Shown[]
}

const violated = ({ specs }: Report) => specs.filter(({ verdict }) => verdict === 'violated')
const reached = ({ goals }: Report, name: string): boolean =>
  goals.find((goal) => goal.name === name)?.reached === true

describe.each(BOTH)('a job, links: %s', (links) => {
  it('runs to its end, and its result stays', () => {
    const report = run(3, [], { links, length: 8 })
    expect(jobsAt(report, 1)).toMatchObject([{ name: 'job-1', status: 'done', epoch: 4, tolerated: 2 }])
    expect(jobsAt(report, 3)).toMatchObject([{ name: 'job-1', status: 'done', epoch: 4, tolerated: null }])
    expect(violated(report)).toEqual([])
  })

  it('is resumed elsewhere when its owner dies, and re-encoded for the members that are left', () => {
    const report = run(5, [{ atMs: 3000, crash: 1 }], { links })
    const [job] = jobsAt(report, 2)
    expect(job).toMatchObject({ status: 'running', owner: [2, 1], tolerated: 2 })
    expect(job?.epoch).toBeGreaterThan(10)
    expect(reached(report, 'job-resumed')).toBe(true)
    expect(reached(report, 'reencoded')).toBe(true)
    expect(violated(report)).toEqual([])
  })

  it('goes on where it is when another node dies or returns', () => {
    const report = run(
      4,
      [
        { atMs: 3000, crash: 4 },
        { atMs: 4500, recover: 4 },
      ],
      { links },
    )
    expect(jobsAt(report, 1)).toMatchObject([{ status: 'running', owner: [1, 1], tolerated: 2 }])
    expect(reached(report, 'job-resumed')).toBe(false)
    expect(violated(report)).toEqual([])
  })

  it('survives a second failure while it is being recovered', () => {
    for (const atMs of [3002, 3010, 3600]) {
      const report = run(
        5,
        [
          { atMs: 3000, crash: 1 },
          { atMs, crash: 2 },
        ],
        { links },
      )
      expect(jobsAt(report, 3)).toMatchObject([{ status: 'running', owner: [3, 1] }])
      expect(violated(report)).toEqual([])
    }
  })
})

describe('columns', () => {
  it('that a disk corrupted are found and repaired', () => {
    const report = run(3, [{ atMs: 4000, command: { do: 'corrupt', node: 3 } }], {
      links: 'reported',
      length: 4,
    })
    expect(jobsAt(report, 1)).toMatchObject([{ status: 'done', tolerated: 2 }])
    expect(reached(report, 'column-repaired')).toBe(true)
    expect(violated(report)).toEqual([])
  })

  const WITHOUT_QUORUM = [
    { atMs: 4000, command: { do: 'corrupt', node: 1 } },
    { atMs: 4000, command: { do: 'corrupt', node: 2 } },
    { atMs: 4000, command: { do: 'corrupt', node: 3 } },
  ]

  it('that are all corrupt lose the job, which is reported by name', () => {
    const events = [...WITHOUT_QUORUM, { atMs: 4001, crash: 1 }]
    const report = run(3, events, { links: 'reported', every: 2000 })
    const [job] = jobsAt(report, 2)
    expect(job).toMatchObject({ name: 'job-1', status: 'lost', owner: null })
    expect(job?.reason).toBe('0 of 1 columns of checkpoint 0; missing: 1, 2, 3')
    expect(violated(report)).toEqual([])
  })

  it('of a node that returns bring a lost job back', () => {
    const gone = [
      { atMs: 4000, crash: 1 },
      { atMs: 4000, command: { do: 'corrupt', node: 2 } },
      { atMs: 4000, command: { do: 'corrupt', node: 3 } },
    ]
    const lost = run(3, gone, { links: 'reported', every: 2000 })
    expect(jobsAt(lost, 2)).toMatchObject([
      { status: 'lost', reason: '0 of 1 columns of checkpoint 0; missing: 1, 2, 3' },
    ])
    const found = run(3, [...gone, { atMs: 6000, recover: 1 }], { links: 'reported', every: 2000 })
    expect(jobsAt(found, 2)).toMatchObject([{ status: 'running' }])
    expect(violated(found)).toEqual([])
  })
})

describe('a checkpoint', () => {
  it('that the leader cannot confirm with all its holders is not lost: they have acknowledged their columns', () => {
    const links = [
      [1, 4],
      [1, 5],
      [2, 4],
      [2, 5],
      [3, 4],
    ]
    const events = [
      { atMs: 1253, links },
      { atMs: 1824, command: { do: 'submit', job: 'job-9', node: 4 } },
    ]
    const options = { links: 'datagrams', waitMs: 300, stopMs: 1000, length: 40, every: 1, slots: 2 }
    const report = run(5, events, options, { seed: 6961, network: { delayMs: 0.945 }, untilMs: 3000 })
    expect(jobsAt(report, 1).find(({ name }) => name === 'job-9')?.status).toBe('running')
    expect(violated(report)).toEqual([])
  })

  it('that failed and was tried again with another content is restored from columns of that content only', () => {
    const events = [
      { atMs: 275, loss: 0.252 },
      { atMs: 276, slow: [[3, 1]], delayMs: [0, 495.193] },
      { atMs: 576, heal: 'all' },
      { atMs: 585, command: { do: 'corrupt', node: 3 } },
      { atMs: 872, partition: [[1, 3], [2]] },
      { atMs: 1059, heal: 'all' },
    ]
    const options = { links: 'datagrams', waitMs: 300, stopMs: 1000, length: 40, every: 3, slots: 1 }
    const file = { seed: 8362, network: { delayMs: [0.1, 2.889], fifo: true }, untilMs: 11_790 }
    const report = run(3, events, options, file)
    expect(jobsAt(report, 1)).toMatchObject([{ status: 'done' }])
    expect(violated(report)).toEqual([])
  })
})

describe('the table of jobs', () => {
  it('forgets a cancelled job once all nodes know it, and its name can be used again', () => {
    const cancel = { atMs: 4000, command: { do: 'cancel', job: 'job-1', node: 3 } }
    const gone = run(3, [cancel], { links: 'reported' })
    expect(jobsAt(gone, 2)).toEqual([])
    const again = run(3, [cancel, { atMs: 6000, command: { do: 'submit', job: 'job-1', node: 2 } }], {
      links: 'reported',
    })
    expect(jobsAt(again, 2)).toMatchObject([{ name: 'job-1', status: 'running' }])
    expect(violated(again)).toEqual([])
  })

  it('ends a job with a cancel that waited for a leader, although the job was done meanwhile', () => {
    const events = [
      { atMs: 3, command: { do: 'cancel', job: 'job-1', node: 5 } },
      { atMs: 5, cut: [[5, 4]] },
      { atMs: 698, heal: 'all' },
    ]
    const options = { links: 'datagrams', length: 4, every: 3 }
    const report = run(3, events, options, { nodes: [1, 4, 5], network: { delayMs: 3.688 }, untilMs: 6441 })
    expect(jobsAt(report, 1)).toEqual([])
    expect(violated(report)).toEqual([])
  })

  it('refuses a name that is in use', () => {
    const report = run(3, [{ atMs: 4000, command: { do: 'submit', job: 'job-1', node: 2 } }], {
      links: 'reported',
    })
    expect(jobsAt(report, 2)).toMatchObject([{ name: 'job-1', status: 'running', owner: [1, 1] }])
    expect(violated(report)).toEqual([])
  })

  it('lets a job wait until a slot is free', () => {
    const noSlots = ids(3).map((node) => ({ atMs: 0, command: { do: 'slots', slots: 0, node } }))
    const waiting = run(3, noSlots, { links: 'reported' })
    expect(jobsAt(waiting, 1)).toMatchObject([{ status: 'waiting', epoch: 0 }])
    const placed = run(3, [...noSlots, { atMs: 5000, command: { do: 'slots', slots: 1, node: 3 } }], {
      links: 'reported',
    })
    expect(jobsAt(placed, 1)).toMatchObject([{ status: 'running', owner: [3, 1] }])
    expect(violated(placed)).toEqual([])
  })

  it('shares jobs out by load', () => {
    const report = run(4, [], { links: 'reported', jobs: 4, slots: 2 })
    const owners = jobsAt(report, 1).map(({ owner }) => owner?.[0])
    expect(new Set(owners)).toEqual(new Set([1, 2, 3, 4]))
  })
})

it('waits before it restarts the jobs of a lost owner, where jobs have effects outside', () => {
  const events = [{ atMs: 3000, crash: 1 }]
  const early = run(3, events, { links: 'reported', waitMs: 2000 }, { untilMs: 4900 })
  expect(jobsAt(early, 2)).toMatchObject([{ status: 'running', owner: [1, 1] }])
  const late = run(3, events, { links: 'reported', waitMs: 2000 }, { untilMs: 5100 })
  expect(jobsAt(late, 2)).toMatchObject([{ status: 'running', owner: [2, 1] }])
})
