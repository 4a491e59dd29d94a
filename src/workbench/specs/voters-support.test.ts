/** Whether linked voters support their leader: violating traces and near misses. */
import { describe, expect, it } from 'vitest'
import {
  commandedAt,
  connectivityAt,
  endedAt,
  judgement,
  leadsAt,
  outputAt,
  viewAt,
} from '../../../test/support/traces.ts'
import type { NodeId, PlainObject } from '../../core/index.ts'
import type { Observation, Reach } from '../trace/index.ts'
import type { Judgement, RunFacts } from './index.ts'

const RUN: RunFacts = {
  nodes: [1, 2, 3, 4],
  prefers: 'lowest',
  constants: { supportsWithin: 100_000, retirement: 300_000 },
}
const CONFIG = { id: [1, 1], sets: [[1, 2, 3]] }
const reach = (ms: number, change: Partial<Reach> = {}): Observation =>
  connectivityAt(ms, 'full', [], { running: RUN.nodes, ...change })
const round = (
  ms: number,
  members: readonly NodeId[],
  config: PlainObject = CONFIG,
  token = 1,
): Observation => leadsAt(ms, 1, ms + 100, members, token, { config })
const judge = (...observations: readonly Observation[]): Judgement =>
  judgement('voters-support', RUN, observations)
const missing = (voter: number, since: number): Judgement => ({
  violated: `${voter} does not support 1, though they are linked, and nothing has changed since ${since} ms`,
})

describe('voters-support', () => {
  it('asks for every voter that is linked, some time after the last change', () => {
    expect(judge(reach(0), round(10, [1, 2]), round(111, [1, 2]))).toEqual(missing(3, 10))
    expect(judge(reach(0), round(10, [1, 2]), round(110, [1, 2]))).toBe('held')
    expect(judge(reach(0), round(10, [1, 2]), round(111, [1, 2, 3]))).toBe('held')
    expect(judge(reach(0), round(10, [1, 2]), reach(50), round(150, [1, 2]))).toBe('held')
  })

  it('does not ask for those who have no vote, cannot store it, do not run or are not linked both ways', () => {
    const late = (change: Partial<Reach>): Judgement =>
      judge(reach(0, change), round(10, [1, 2]), round(111, [1, 2]))
    expect(late({ unwritable: [3] })).toBe('held')
    expect(late({ running: [1, 2] })).toBe('held')
    const both = [
      [1, 2],
      [2, 1],
      [1, 3],
    ] as const
    expect(late({ timely: both })).toBe('held')
    expect(late({ timely: [...both, [3, 1]] })).toEqual(missing(3, 10))
    expect(late({ byChance: true })).toBe('held')
  })

  it('gives time after a command, a new term, new voters and the return of a node that stepped down', () => {
    const first = [reach(0), round(10, [1, 2, 3])]
    const command = commandedAt(100, 1, { do: 'setPriority', priority: 1 })
    expect(judge(...first, command, round(200, [1, 2]))).toBe('held')
    expect(judge(...first, command, round(201, [1, 2]))).toEqual(missing(3, 100))
    expect(judge(...first, round(150, [1, 2], CONFIG, 2), round(250, [1, 2], CONFIG, 2))).toBe('held')
    const more = {
      id: [1, 2],
      sets: [
        [1, 2, 3],
        [1, 2, 3, 4],
      ],
    }
    expect(judge(...first, round(150, [1, 2, 3], more), round(251, [1, 2, 3], more))).toEqual(missing(4, 150))
    const down = outputAt(20, 2, { type: 'demoted', token: 0, cause: 'stepped down' })
    expect(judge(reach(0), down, round(30, [1, 3]), round(419, [1, 3]))).toBe('not concerned')
    expect(judge(reach(0), down, round(30, [1, 3]), round(421, [1, 3]))).toEqual(missing(2, 320))
  })

  it('leaves out who goes by other voters under the same id', () => {
    const other = viewAt(0, 3, 'follower', { detail: { config: { id: [1, 1], sets: [[1, 3]] } } })
    expect(judge(other, reach(0), round(10, [1, 2]), round(111, [1, 2]))).toBe('held')
    const older = viewAt(0, 3, 'follower', { detail: { config: { id: [0, 0], sets: [[1, 3]] } } })
    expect(judge(older, reach(0), round(10, [1, 2]), round(111, [1, 2]))).toEqual(missing(3, 10))
  })

  it('says nothing where nobody leads, and where the protocol states no bound', () => {
    expect(judge(reach(0), endedAt(999))).toBe('not concerned')
    const run = { ...RUN, constants: {} }
    expect(judgement('voters-support', run, [reach(0), round(10, [1]), round(200, [1])])).toBe(
      'not concerned',
    )
  })
})
