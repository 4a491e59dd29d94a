import { describe, expect, it } from 'vitest'
import { type Graph, graphModel, statesAlong } from '../../../test/support/graph-model.ts'
import { findLivelock, livelockBytes } from './livelock.ts'
import { search } from './search.ts'

function livelockIn(graph: Graph) {
  const model = graphModel(graph)
  const { visited, transitions } = search(
    model,
    { depth: 100, maxStates: 1000, memoryBytes: 1e12 },
    () => true,
  )
  const found = findLivelock(model, visited, transitions)
  return found === null ? null : { path: statesAlong(found.steps), cycle: found.cycle }
}

describe('findLivelock', () => {
  it('finds none if a settled state is reachable from everywhere', () => {
    expect(livelockIn({ edges: { 0: [1], 1: [0, 2], 2: [] }, settled: [2] })).toBeNull()
  })

  it('finds none if settled states recur', () => {
    expect(livelockIn({ edges: { 0: [1], 1: [2], 2: [1] }, settled: [1] })).toBeNull()
  })

  it('leads to the cycle and once around it', () => {
    const edges = { 0: [1, 4], 1: [2], 2: [3], 3: [1], 4: [] }
    expect(livelockIn({ edges, settled: [4] })).toEqual({ path: [1, 2, 3, 1], cycle: 3 })
  })

  it('counts only the steps of the cycle, not the steps that lead into it', () => {
    // From 1 on no settled state is reachable, but the cycle is 2, 3.
    const edges = { 0: [1, 5], 1: [2], 2: [3], 3: [2], 5: [] }
    expect(livelockIn({ edges, settled: [5] })).toEqual({ path: [1, 2, 3, 2], cycle: 2 })
  })

  it('finds a state that only repeats itself', () => {
    expect(livelockIn({ edges: { 0: [0, 1], 1: [1] }, settled: [0] })).toEqual({ path: [1, 1], cycle: 1 })
  })

  it('does not count a fault as the way out', () => {
    const edges = { 0: [1], 1: [0, 2], 2: [] }
    expect(livelockIn({ edges, settled: [2], faults: ['1>2'] })).toEqual({ path: [1, 0], cycle: 2 })
  })
})

it('estimates its memory from edges and states', () => {
  const model = graphModel({ edges: { 0: [1], 1: [] } })
  const { visited } = search(model, { depth: 9, maxStates: 9, memoryBytes: 1e12 }, () => true)
  expect(livelockBytes(visited, 10)).toBe(10 * 8 + 2 * 13)
})
