import { beforeEach, describe, expect, it } from 'vitest'
import type { JobState } from '../recovery/cluster/handle.ts'
import { Observed, type ObservedNode } from './observed.ts'

const PICTURE = { width: 2, height: 2, iterations: 10 }
const TILES = [
  { name: 'tile-1', left: 0, top: 0, width: 2, height: 1 },
  { name: 'tile-2', left: 0, top: 1, width: 2, height: 1 },
]
const ROW = new Uint8Array([1, 2, 3, 4, 5, 6])
const VIEW = { token: 10, leader: 'n1', members: ['n1', 'n2', 'n3'] }

function job(name: string, more: Partial<JobState> = {}): JobState {
  const none = { submission: '', reason: '', tolerated: null, progress: null, stalledMs: null }
  return { name, status: 'running', node: 'n1', epoch: 1, holders: ['n1', 'n2', 'n3'], ...none, ...more }
}

function nodes(...down: readonly string[]): readonly ObservedNode[] {
  return ['n1', 'n2', 'n3'].map((id) => ({ id, isUp: !down.includes(id), view: null }))
}

const entry = (seq: number, token: number, tile = 'tile-1') => ({
  job: tile,
  submission: 'a',
  seq,
  token,
  output: ROW,
})

let observed: Observed
beforeEach(() => {
  observed = new Observed(PICTURE, TILES, 1)
})

describe('the sink', () => {
  it('draws every row once, and counts duplicates and outputs of replaced runs', async () => {
    expect(await observed.accept(entry(0, 5))).toBe('accepted')
    expect(await observed.accept(entry(0, 6))).toBe('duplicate')
    expect(await observed.accept(entry(0, 5))).toBe('fenced')
    expect(observed.counts).toMatchObject({ duplicates: 1, fenced: 1 })
    expect([...observed.canvas.readRows(TILES[0] as never, 0, 1)]).toEqual([...ROW])
    expect(observed.done).toBe(0.5)
  })

  it('is complete when it has all rows of all tiles', async () => {
    await observed.accept(entry(0, 5))
    expect(observed.isComplete).toBe(false)
    await observed.accept(entry(0, 5, 'tile-2'))
    expect(observed.isComplete).toBe(true)
  })

  it('ignores rows that are not part of the picture', async () => {
    await observed.accept(entry(7, 5))
    await observed.accept(entry(0, 5, 'tile-9'))
    expect(observed.done).toBe(0)
  })
})

describe('views', () => {
  it('are replaced only by later ones', () => {
    observed.receive('n1', { type: 'view', view: VIEW })
    observed.receive('n2', { type: 'view', view: { token: 9, leader: 'n2', members: ['n2'] } })
    observed.receive('n3', { type: 'view', view: { token: null, leader: null, members: [] } })
    expect(observed.view).toEqual(VIEW)
    expect(observed.counts.views).toBe(1)
  })

  it('show the step of the fault manager, and of no other node', () => {
    observed.receive('n1', { type: 'view', view: VIEW })
    observed.receive('n2', { type: 'step', step: 6, token: 10 })
    expect(observed.state(nodes()).step).toBeNull()
    observed.receive('n1', { type: 'step', step: 4, token: 10 })
    expect(observed.state(nodes()).step).toEqual({ step: 4, token: 10 })
  })
})

describe('jobs', () => {
  it('count new checkpoints, and ignore the table of an older view', () => {
    observed.receive('n1', { type: 'jobs', token: 10, jobs: [job('tile-1', { epoch: 3 })] })
    observed.receive('n1', { type: 'jobs', token: 10, jobs: [job('tile-1', { epoch: 5 })] })
    observed.receive('n2', { type: 'jobs', token: 9, jobs: [job('tile-1', { epoch: 1 })] })
    expect(observed.counts.checkpoints).toBe(5)
    expect(observed.jobOf('tile-1')?.epoch).toBe(5)
    expect(observed.state(nodes()).tiles[0]).toMatchObject({ node: 'n1', holders: ['n1', 'n2', 'n3'] })
  })

  it('count every run after the first as resumed', () => {
    for (const row of [0, 16, 32])
      observed.receive('n1', { type: 'log', job: 'tile-1', text: `starts at row ${row}` })
    expect(observed.counts.resumed).toBe(2)
    expect(observed.state(nodes()).events.map(({ text }) => text)).toEqual([
      'n1 resumes tile-1 at row 16',
      'n1 resumes tile-1 at row 32',
    ])
  })

  it('name the problem when a tile or a node fails', () => {
    observed.receive('n1', {
      type: 'jobs',
      token: 1,
      jobs: [job('tile-2', { status: 'failed', reason: 'x' })],
    })
    observed.receive('n2', { type: 'failed', message: 'no disk' })
    expect(observed.problem).toBe('tile-2 failed: x')
  })
})

describe('a node', () => {
  it('is down, joining or up', () => {
    observed.receive('n1', { type: 'view', view: { ...VIEW, members: ['n1', 'n2'] } })
    expect(observed.state(nodes('n2')).nodes.map(({ status }) => status)).toEqual(['up', 'down', 'joining'])
  })

  it('must not be killed before there is a view', () => {
    expect(observed.state(nodes()).nodes[0]?.keepReason).toBe('the nodes have not formed a view yet')
  })

  it('must not be killed while as many as tolerated are down or joining', () => {
    observed.receive('n1', { type: 'view', view: VIEW })
    expect(observed.state(nodes()).nodes.map(({ keepReason }) => keepReason)).toEqual([null, null, null])
    expect(observed.state(nodes('n2')).nodes.map(({ keepReason }) => keepReason)).toEqual([
      'n2 must return first',
      null,
      'n2 must return first',
    ])
  })

  it('must not be killed in a group that tolerates no loss', () => {
    const pair = new Observed(PICTURE, TILES, 0)
    pair.receive('n1', { type: 'view', view: VIEW })
    expect(pair.state(nodes()).nodes[0]?.keepReason).toBe('a group of 3 nodes tolerates no loss')
  })
})

it('keeps the newest events only', () => {
  for (let index = 0; index < 150; index++) observed.report(`event ${index}`)
  const { events } = observed.state(nodes())
  expect(events).toHaveLength(100)
  expect(events.at(-1)?.text).toBe('event 149')
})
