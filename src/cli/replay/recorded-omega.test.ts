/** What is made of the traces of real processes under omega: the same, where some of them took theirs along. */
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

/** Of the traces of these runs only. */
async function understood(
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

describe('a run of omega out of the traces of its processes', () => {
  it('is replayed to the letter and judged by its own specifications', async () => {
    const run = await understood(STORY)
    expect(run.replayed.difference).toBeNull()
    expect(named(run, 'violated')).toEqual([])
    expect(named(run, 'held')).toEqual(JUDGED)
    expect(run.leaderships.map(({ node }) => node)).toEqual(expect.arrayContaining([1, 2]))
    expect(describeVerdict(run)).toBe('every promise that could be judged was kept')
  })

  it('who was killed took its promises along: that is nobody’s fault', async () => {
    const run = await understood(STORY, (file) => file !== '1-0.ndjson')
    expect(run.runs.map(({ node }) => node)).toEqual([1, 2, 3, 4, 5])
    expect(named(run, 'held')).toEqual(JUDGED)
  })

  it('boxes that begin in the middle are judged from where they all begin', async () => {
    const run = await understood(STORY, undefined, { most: 160 })
    expect(run.runs.some(({ skipped }) => skipped > 0)).toBe(true)
    expect(named(run, 'violated')).toEqual([])
    expect(named(run, 'held')).toEqual(JUDGED)
  })

  it('the chain of views is not judged where two have left no trace: they may have had one of their own', async () => {
    const run = await understood(STORY, (file) => file.startsWith('5'))
    expect(named(run, 'violated')).toEqual([])
    expect(named(run, 'held')).toEqual(JUDGED.slice(0, 3))
    expect(run.specs.find(({ name }) => name === 'primary-chain')).toMatchObject({
      why: expect.stringMatching(/^not judged: there is no trace of two nodes or more/),
    })
  })

  it('views that go back, for disks that forgot them, are found out', async () => {
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
    const run = await understood({ ...STORY, events, untilMs: 6000 }, undefined, { definition: forgetful })
    expect(run.replayed.difference).toBeNull()
    expect(named(run, 'violated')).toContain('omega-views')
    expect(run.specs.find(({ name }) => name === 'omega-views')).toMatchObject({
      why: expect.stringMatching(/^\d installs view \d\.1 of 1, 2, 3, 4, 5 after view \d\.2 of 2, 3, 4, 5$/),
    })
  })
})
