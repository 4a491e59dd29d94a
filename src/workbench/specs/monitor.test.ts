import { describe, expect, it } from 'vitest'
import { downAt, followsAt, leadsAt } from '../../../test/support/traces.ts'
import type { Observation } from '../trace/index.ts'
import { monitor, vacuous, Watch } from './monitor.ts'
import type { Fold, Goal, RunFacts, Spec } from './spec.ts'

const RUN: RunFacts = { nodes: [1, 2], prefers: 'lowest', constants: {} }
/** Counts views; the second one counts crashes. */
const views: Fold<number> = {
  begin: () => 0,
  next: (count, { type }) => (type === 'view' ? count + 1 : count),
}
const crashes: Fold<number> = {
  begin: () => 10,
  next: (count, { type }) => (type === 'down' ? count + 1 : count),
}
const spec = (name: string, fold: Fold<number>, when: Spec['when'] = 'always'): Spec<number> => ({
  name,
  title: name,
  source: 'a test',
  when,
  fold,
  judge: (count, { type }) => {
    if (type !== 'view') return 'not concerned'
    return count < 3 ? 'held' : { violated: `${name}: ${count}` }
  },
})
const goal: Goal<number> = { name: 'third view', title: 'x', fold: views, reached: (count) => count === 2 }
const asSpecs = (...specs: readonly Spec<number>[]): readonly Spec[] => specs
const asGoals = (...goals: readonly Goal<number>[]): readonly Goal[] => goals
const VIEW = leadsAt(1, 1, null)

describe('a monitor', () => {
  const watched = monitor(asSpecs(spec('a', views), spec('b', crashes), spec('c', views)), asGoals(goal), RUN)

  it('keeps one memory for each distinct fold', () => {
    expect(watched.folds).toEqual([views, crashes])
    expect([watched.foldOfSpec, watched.foldOfGoal]).toEqual([[0, 1, 0], [0]])
    expect(watched.begin()).toEqual([0, 10])
  })

  it('changes only the memories that an observation concerns', () => {
    const memory = watched.begin()
    expect(watched.next(memory, VIEW)).toEqual([1, 10])
    expect(watched.next(memory, downAt(1, 1))).toEqual([0, 11])
    expect(watched.next(memory, { type: 'ended', at: 0 })).toBe(memory)
    expect(memory).toEqual([0, 10])
  })

  it('judges each specification by the memory of its fold', () => {
    expect([0, 1, 2].map((place) => watched.judge(place, [1, 10], VIEW))).toEqual([
      'held',
      { violated: 'b: 10' },
      'held',
    ])
  })
})

describe('a watch', () => {
  const watch = (seen: readonly Observation[], ...specs: readonly Spec<number>[]): Watch => {
    const made = new Watch(monitor(asSpecs(...specs), asGoals(goal), RUN))
    for (const each of seen) made.observe(each)
    return made
  }
  const many = [VIEW, followsAt(2, 2, 1), followsAt(3, 2, 1), followsAt(4, 2, 1)]

  it('keeps the first violation, and its time', () => {
    const made = watch(many, spec('a', views))
    expect(made.verdicts()).toEqual([{ name: 'a', verdict: 'violated', atMs: 3, why: 'a: 3' }])
    expect(made.violated).toBe(true)
  })

  it('counts how often a specification was judged', () => {
    const made = watch([...many.slice(0, 2), downAt(5, 1)], spec('a', views))
    expect(made.verdicts()).toEqual([{ name: 'a', verdict: 'held', judged: 2 }])
    expect(made.violated).toBe(false)
  })

  it('shows a goal the memory before the observation', () => {
    expect(watch(many).goals()).toEqual([{ name: 'third view', reached: true, count: 1 }])
    expect(watch(many.slice(0, 2)).goals()).toEqual([{ name: 'third view', reached: false, count: 0 }])
  })

  it.each([
    ['always', 'never judged: nothing happened that it speaks of'],
    ['settled', 'never judged: the run had no settled moment with all living processes connected'],
    ['state', 'never judged: it speaks of states, which schedules and searches show'],
  ] as const)('reports a specification of kind %s that was never judged as vacuous', (when, why) => {
    const never = spec('a', views, when)
    expect(watch([downAt(1, 1)], never).verdicts()).toEqual([{ name: 'a', verdict: 'vacuous', why }])
    expect(vacuous(never as unknown as Spec)).toEqual({ name: 'a', verdict: 'vacuous', why })
  })
})
