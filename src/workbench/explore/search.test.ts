import { describe, expect, it } from 'vitest'
import { type Graph, graphModel, statesAlong, violationOf } from '../../../test/support/graph-model.ts'
import { pathTo, type SearchBounds, type SearchProgress, search, stepBetween } from './search.ts'

const UNBOUNDED: SearchBounds = { depth: 100, maxStates: 1000, memoryBytes: 1e12 }

function searchGraph(
  graph: Graph,
  bounds: Partial<SearchBounds> = {},
  shouldContinue: (progress: SearchProgress) => boolean = () => true,
) {
  const model = graphModel(graph)
  return { model, ...search(model, { ...UNBOUNDED, ...bounds }, shouldContinue) }
}

/** Two ways to 4, of which the one over 2 is found first. */
const DIAMOND = { 0: [1, 2], 1: [3], 2: [4], 3: [4], 4: [5], 5: [] }

describe('a complete search', () => {
  it('expands every state once, by breadth', () => {
    const { model, visited, transitions, depth, cutShort, counterexample } = searchGraph({ edges: DIAMOND })
    expect(model.expanded).toEqual([0, 1, 2, 3, 4, 5])
    expect({ states: visited.size, transitions, depth, cutShort, counterexample }).toEqual({
      states: 6,
      transitions: 6,
      depth: 3,
      cutShort: null,
      counterexample: null,
    })
  })

  it('ends on a cycle', () => {
    const { visited, transitions, cutShort } = searchGraph({ edges: { 0: [1], 1: [2], 2: [0, 2] } })
    expect([visited.size, transitions, cutShort]).toEqual([3, 4, null])
  })

  it('finds the shortest path to a state', () => {
    const { model, visited } = searchGraph({ edges: DIAMOND })
    expect(statesAlong(pathTo(model, visited, 4))).toEqual([2, 4])
    expect(pathTo(model, visited, 0)).toEqual([])
    expect(statesAlong([stepBetween(model, visited, 3, 4)])).toEqual([4])
  })
})

describe('a counterexample', () => {
  it('is empty if the first state violates a specification', () => {
    const { cutShort, counterexample, model } = searchGraph({ edges: DIAMOND, beginsBadly: true })
    expect(cutShort).toBe('violation')
    expect(counterexample).toEqual({ violation: violationOf('at the start'), steps: [], isDeadEnd: false })
    expect(model.expanded).toEqual([])
  })

  it('is a shortest path to a state that violates', () => {
    const { counterexample } = searchGraph({ edges: DIAMOND, bad: [4, 5] })
    expect(counterexample?.violation).toEqual(violationOf('in 4'))
    expect(statesAlong(counterexample?.steps ?? [])).toEqual([2, 4])
    expect(counterexample?.isDeadEnd).toBe(false)
  })

  it('says whether only faults can follow', () => {
    expect(searchGraph({ edges: DIAMOND, bad: [5] }).counterexample?.isDeadEnd).toBe(true)
  })

  it('ends with the step that violates', () => {
    const { counterexample } = searchGraph({ edges: DIAMOND, badSteps: ['4>5'] })
    expect(counterexample?.violation).toEqual(violationOf('by 4>5'))
    expect(statesAlong(counterexample?.steps ?? [])).toEqual([2, 4, 5])
  })

  it('prefers a state that violates to a step from the same level, which is one step longer', () => {
    const { counterexample } = searchGraph({ edges: DIAMOND, bad: [2], badSteps: ['1>3'] })
    expect(statesAlong(counterexample?.steps ?? [])).toEqual([2])
  })

  it('takes the first of several violating steps of a level', () => {
    const { counterexample } = searchGraph({ edges: DIAMOND, badSteps: ['1>3', '2>4'] })
    expect(counterexample?.violation).toEqual(violationOf('by 1>3'))
  })
})

describe('bounds', () => {
  const LINE = Object.fromEntries(Array.from({ length: 50 }, (_, state) => [state, [state + 1]]))

  it('judges the states at the depth, but does not expand them', () => {
    const { model, cutShort, depth } = searchGraph({ edges: LINE }, { depth: 3 })
    expect([cutShort, depth, model.expanded]).toEqual(['depth', 3, [0, 1, 2]])
    expect(searchGraph({ edges: LINE, bad: [3] }, { depth: 3 }).cutShort).toBe('violation')
    expect(searchGraph({ edges: LINE, bad: [4] }, { depth: 3 }).cutShort).toBe('depth')
  })

  it('keeps a small number of states exactly', () => {
    const { visited, cutShort } = searchGraph({ edges: LINE }, { maxStates: 7 })
    expect([visited.size, cutShort]).toEqual([7, 'max-states'])
  })

  it('judges what it has found when it reaches the number of states', () => {
    const { cutShort, counterexample } = searchGraph({ edges: LINE, bad: [6] }, { maxStates: 7 })
    expect(cutShort).toBe('violation')
    expect(statesAlong(counterexample?.steps ?? [])).toEqual([1, 2, 3, 4, 5, 6])
  })

  it('ends when the memory is used up', () => {
    expect(searchGraph({ edges: LINE }, { memoryBytes: 1 }).cutShort).toBe('memory')
  })

  it('ends when it is asked to, with what it has', () => {
    const seen: SearchProgress[] = []
    const { cutShort, counterexample } = searchGraph({ edges: LINE, bad: [40] }, {}, (progress) => {
      seen.push(progress)
      return false
    })
    expect([cutShort, counterexample]).toEqual(['stopped', null])
    expect(seen).toEqual([{ states: 1, transitions: 1, depth: 0, waiting: 1 }])
  })
})
