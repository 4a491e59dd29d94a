/** Each step of recovery that a defect skips is caught by a specification. The scenarios are shrunk from campaigns. */
import { describe, expect, it } from 'vitest'
import { simulate } from '../../../test/support/run.ts'
import type { PlainObject } from '../../core/index.ts'
import type { Report } from '../../workbench/sim/index.ts'
import { MISREADINGS, type Misreading } from './defects.ts'

type Caught = { readonly scenario: PlainObject; readonly spec: string; readonly why: string }

const OPTIONS = { links: 'reported', jobs: 1, length: 40, stopMs: 100 }

const CAUGHT: { readonly [name in Exclude<Misreading, 'none'>]: Caught } = {
  // Node 2 leads again after views without it, and has an old table: the job runs a second time from an old checkpoint.
  'no-fence': {
    scenario: {
      nodes: [1, 2, 3],
      options: { ...OPTIONS, waitMs: 300, every: 3, slots: 2 },
      seed: 193,
      network: { delayMs: 1.862 },
      events: [
        { atMs: 1502, links: [[1, 3]] },
        { atMs: 1742, links: [[2, 3]] },
      ],
      untilMs: 7779,
    },
    spec: 'one-accepted-owner',
    why: '2 delivers output 36 of job-1 as made by 40002.2; the sink has accepted one made by 20001.5',
  },
  // The columns of a checkpoint that is never committed replace the columns of the last committed checkpoint.
  'delete-before-commit': {
    scenario: {
      nodes: [1, 2, 3, 4],
      options: { ...OPTIONS, every: 1, slots: 1 },
      seed: 1,
      network: { delayMs: 0.139 },
      events: [
        { atMs: 1793, links: [[1, 3]] },
        {
          atMs: 4180,
          links: [
            [1, 2],
            [1, 4],
            [2, 4],
          ],
        },
      ],
      untilMs: 9064,
    },
    spec: 'checkpoints-survive',
    why: 'job-1 is reported lost, but 1 of 4 holders are gone, and 2 may be',
  },
  // The next leader does not know that node 1 runs the job, and starts it again.
  'assignment-not-recorded': {
    scenario: {
      nodes: [1, 2, 4],
      options: { ...OPTIONS, waitMs: 300, every: 1, slots: 2 },
      seed: 5,
      network: { delayMs: 3.088 },
      events: [{ atMs: 97, partition: [[4], [1, 2]] }],
      untilMs: 4976,
    },
    spec: 'one-accepted-owner',
    why: '1 starts job-1, which 1 ran in quorum until it had to stop',
  },
  // Only one column of checkpoint 8 was stored when its owner was cut off.
  'uncommitted-epoch-used': {
    scenario: {
      nodes: [1, 2, 3],
      options: { ...OPTIONS, stopMs: 1000, every: 1, slots: 2 },
      seed: 16,
      network: { delayMs: [0.1, 1.533] },
      events: [
        { atMs: 0.8, command: { do: 'corrupt', node: 1 } },
        { atMs: 3.2, links: [[1, 2]] },
        {
          atMs: 5,
          links: [
            [1, 2],
            [2, 3],
          ],
        },
        { atMs: 307.4, cut: [[1, 2]] },
      ],
      untilMs: 7166,
    },
    spec: 'one-content',
    why: '2 starts job-1 from checkpoint 8, of which only 1 columns were ever stored',
  },
}

function run({ scenario }: Caught, misreading: Misreading): Report {
  const options = { ...(scenario['options'] as PlainObject), misreading }
  return simulate({ protocol: 'recovery', ...scenario, options }, { strict: false })
}

describe.each(Object.entries(CAUGHT) as readonly [Misreading, Caught][])('the defect %s', (name, caught) => {
  it(`violates ${caught.spec}`, () => {
    const { specs } = run(caught, name)
    expect(specs.find((spec) => spec.name === caught.spec)).toMatchObject({
      verdict: 'violated',
      why: caught.why,
    })
  })

  it('is the only cause: without it the scenario holds', () => {
    expect(run(caught, 'none').specs.filter(({ verdict }) => verdict === 'violated')).toEqual([])
  })
})

it('tests every defect', () => {
  expect(['none', ...Object.keys(CAUGHT)].sort()).toEqual([...MISREADINGS].sort())
})
