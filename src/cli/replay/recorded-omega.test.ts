/** The analysis of real runs of omega, some of whose traces are lost. */
import { describe, expect, it } from 'vitest'
import { recordings } from '../../../test/support/recordings.ts'
import { type Definition, type PlainObject, present } from '../../core/index.ts'
import { protocolNamed } from '../../protocols/index.ts'
import { analyse, describeVerdict, type Recorded } from './recorded.ts'

const omega = present(protocolNamed('omega'), 'omega')

/** 1 is killed and comes back; 5 is cut off and comes back. */
const STORY: PlainObject = {
  protocol: 'omega',
  nodes: [1, 2, 3, 4, 5],
  network: { delayMs: [0.1, 2] },
  events: [
    { atMs: 2000, crash: 1 },
    { atMs: 4000, partition: [[5], [1, 2, 3, 4]] },
    { atMs: 6000, recover: 1 },
    { atMs: 6000, heal: 'all' },
  ],
  untilMs: 8000,
}

const named = ({ specs }: Recorded, verdict: string): readonly string[] =>
  specs.flatMap((spec) => (spec.verdict === verdict ? [spec.name] : []))

/** Analyses the traces that `isKept` selects. */
async function analyseScenario(
  scenario: PlainObject,
  isKept: (file: string) => boolean = () => true,
  { definition = omega, most = 1_000_000 }: { definition?: Definition; most?: number } = {},
): Promise<Recorded> {
  const { files } = await recordings(scenario, definition, most)
  return analyse(
    files.filter(({ file }) => isKept(file)),
    definition,
    null,
  )
}

const JUDGED = ['omega-views', 'omega-lives', 'theorem-3-3-logical', 'primary-chain']

describe('the analysis of a real run of omega', () => {
  it('replays every effect and judges the specifications of omega', async () => {
    const run = await analyseScenario(STORY)
    expect(run.replayed.difference).toBeNull()
    expect(named(run, 'violated')).toEqual([])
    expect(named(run, 'held')).toEqual(JUDGED)
    expect(run.leaderships.map(({ node }) => node)).toEqual(expect.arrayContaining([1, 2]))
    expect(describeVerdict(run)).toBe('no specification was violated')
  })

  it('does not blame nodes for promises in the lost trace of a killed node', async () => {
    const run = await analyseScenario(STORY, (file) => file !== '1-0.ndjson')
    expect(run.runs.map(({ node }) => node)).toEqual([1, 2, 3, 4, 5])
    expect(named(run, 'held')).toEqual(JUDGED)
  })

  it('judges black boxes that start in the middle from the moment when all have started', async () => {
    const run = await analyseScenario(STORY, undefined, { most: 160 })
    expect(run.runs.some(({ skipped }) => skipped > 0)).toBe(true)
    expect(named(run, 'violated')).toEqual([])
    expect(named(run, 'held')).toEqual(JUDGED)
  })

  it('does not judge the chain of views if the traces of two nodes are missing', async () => {
    const run = await analyseScenario(STORY, (file) => file.startsWith('5'))
    expect(named(run, 'violated')).toEqual([])
    expect(named(run, 'held')).toEqual(JUDGED.slice(0, 3))
    expect(run.specs.find(({ name }) => name === 'primary-chain')).toMatchObject({
      why: expect.stringMatching(/^not judged: traces of two or more nodes are missing/),
    })
  })

  it('finds views that go back after disks lost them', async () => {
    const nodes = STORY['nodes'] as readonly number[]
    const events = [
      { atMs: 2000, crash: 1 },
      ...nodes.slice(1).map((node) => ({ atMs: 4000, crash: node })),
      ...nodes.map((node) => ({ atMs: 4500, recover: node })),
    ]
    const forgetful: Definition = {
      ...omega,
      create(identity, options) {
        const protocol = omega.create(identity, options)
        return { ...protocol, start: (_stable, now) => protocol.start(null, now) }
      },
    }
    const run = await analyseScenario({ ...STORY, events, untilMs: 6000 }, undefined, {
      definition: forgetful,
    })
    expect(run.replayed.difference).toBeNull()
    expect(named(run, 'violated')).toContain('omega-views')
    expect(run.specs.find(({ name }) => name === 'omega-views')).toMatchObject({
      why: expect.stringMatching(/^\d installs view \d\.1 of 1, 2, 3, 4, 5 after view \d\.2 of 2, 3, 4, 5$/),
    })
  })
})
