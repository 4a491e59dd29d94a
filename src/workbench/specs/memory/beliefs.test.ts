import { describe, expect, it } from 'vitest'
import { downAt, endedAt, followsAt, leadsAt, memoryAfter, upAt } from '../../../../test/support/traces.ts'
import type { RunFacts } from '../spec.ts'
import { beliefs, living } from './beliefs.ts'

const RUN: RunFacts = { nodes: [1, 2, 3], prefers: 'lowest', constants: { kappaBI: 100_000 } }

describe('beliefs', () => {
  it('begin with all nodes down', () => {
    expect(beliefs.begin({ ...RUN, nodes: [1] })).toEqual([{ node: 1, up: false, role: null, leader: null }])
  })

  it('follow views, starts and crashes', () => {
    const [one, two, three] = memoryAfter(beliefs, RUN, [leadsAt(0, 1, null), followsAt(0, 2, 1), upAt(0, 3)])
    expect([one, two, three]).toEqual([
      { node: 1, up: true, role: 'leader', leader: 1 },
      { node: 2, up: true, role: 'follower', leader: 1 },
      { node: 3, up: true, role: null, leader: null },
    ])
    const crashed = memoryAfter(beliefs, RUN, [leadsAt(0, 1, null), downAt(1, 1)])
    expect(crashed[0]).toEqual({ node: 1, up: false, role: null, leader: null })
    expect(living(crashed)).toEqual([])
  })

  it('stay the same object for a repeated view, an unknown node and other observations', () => {
    const memory = memoryAfter(beliefs, RUN, [followsAt(0, 2, 1)])
    for (const seen of [followsAt(5, 2, 1), followsAt(5, 9, 1), endedAt(5), downAt(5, 3)])
      expect(beliefs.next(memory, seen)).toBe(memory)
  })
})
