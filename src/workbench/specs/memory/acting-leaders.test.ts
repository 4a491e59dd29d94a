import { describe, expect, it } from 'vitest'
import { downAt, leadsAt, memoryAfter, outputAt } from '../../../../test/support/traces.ts'
import type { Observation } from '../../trace/index.ts'
import type { RunFacts } from '../spec.ts'
import { actingLeaders } from './acting-leaders.ts'

const RUN: RunFacts = { nodes: [1, 2, 3], prefers: 'lowest', constants: { kappaBI: 100_000 } }

describe('acting leaders', () => {
  const elected = (ms: number, node: number, token?: number): Observation =>
    outputAt(ms, node, token === undefined ? { type: 'elected' } : { type: 'elected', token })

  it('lead from their election until their demotion or crash, in id order', () => {
    const both = memoryAfter(actingLeaders, RUN, [elected(2, 3, 7), elected(1, 1)])
    expect(both).toEqual([
      { node: 1, token: 0, since: 1000 },
      { node: 3, token: 7, since: 2000 },
    ])
    expect(actingLeaders.next(both, outputAt(3, 3, { type: 'demoted', token: 7 }))).toEqual([both[0]])
    expect(actingLeaders.next(both, downAt(3, 1))).toEqual([both[1]])
  })

  it('replace their own earlier term', () => {
    expect(memoryAfter(actingLeaders, RUN, [elected(1, 1, 4), elected(5, 1, 6)])).toEqual([
      { node: 1, token: 6, since: 5000 },
    ])
  })

  it('stay the same object for views, other outputs and crashes of followers', () => {
    const memory = memoryAfter(actingLeaders, RUN, [elected(1, 1, 4)])
    for (const seen of [leadsAt(2, 2, null), outputAt(2, 1, { type: 'config' }), downAt(2, 2)])
      expect(actingLeaders.next(memory, seen)).toBe(memory)
  })
})
