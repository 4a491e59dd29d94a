import { describe, expect, it } from 'vitest'
import { downAt, memoryAfter, upAt, viewAt } from '../../../../test/support/traces.ts'
import type { RunFacts } from '../spec.ts'
import { linkedNodes } from './links.ts'

const RUN: RunFacts = { nodes: [1, 2, 3], prefers: 'lowest', constants: { kappaBI: 100_000 } }

describe('linked nodes', () => {
  it('read links, suspicions and notes from the details of a view', () => {
    const shown = viewAt(0, 1, 'leader', {
      members: [1, 2],
      detail: { linked: [2], suspects: [3], notes: 4 },
    })
    expect(memoryAfter(linkedNodes, RUN, [shown])[0]).toEqual({
      node: 1,
      up: true,
      role: 'leader',
      members: [1, 2],
      linked: [2],
      suspects: [3],
      notes: 4,
    })
    expect(memoryAfter(linkedNodes, RUN, [viewAt(0, 2, 'dead')])[1]).toEqual({
      node: 2,
      up: true,
      role: 'dead',
      members: null,
      linked: [],
      suspects: [],
      notes: 0,
    })
  })

  it('forget everything in a crash, and stay the same object otherwise', () => {
    const memory = memoryAfter(linkedNodes, RUN, [viewAt(0, 1, 'leader', { detail: { linked: [2] } })])
    expect(linkedNodes.next(memory, downAt(1, 1))).toEqual(linkedNodes.begin(RUN))
    expect(linkedNodes.next(memory, viewAt(3, 1, 'leader', { detail: { linked: [2] } }))).toBe(memory)
    expect(linkedNodes.next(memory, upAt(3, 2))).toBe(memory)
  })
})
