import { describe, expect, it } from 'vitest'
import { exploring, ids, simulate } from '../../../test/support/run.ts'

describe('Gamma', () => {
  it.each([
    [2, 17],
    [3, 541],
  ])(
    'elects at most one of %i nodes, for every choice of candidates and every order of messages',
    (n, states) => {
      const report = exploring('gamma', n)
      expect(report).toMatchObject({ complete: true, counterexample: null, states })
      expect(report.goals).toMatchObject([{ name: 'elected', reached: true }])
    },
  )

  it('elects two leaders if a node that was woken up by a message may become a candidate', () => {
    const { counterexample } = exploring('gamma', 3, { options: { passive: false } })
    expect(counterexample?.why).toBe('1 and 2 lead at the same time')
  })

  it('elects the least node that woke up by itself, and all nodes learn it', () => {
    const report = simulate({
      protocol: 'gamma',
      nodes: ids(5),
      network: { delayMs: 5 },
      events: [4, 2, 5].map((node) => ({ atMs: 1, command: { node, do: 'wake' } })),
      untilMs: 100,
    })
    expect(report.leaders).toEqual([2])
    expect(Object.values(report.nodes).map(({ leader }) => leader)).toEqual([2, 2, 2, 2, 2])
    expect([4, 5].map((node) => report.nodes[node]?.role)).toEqual(['follower', 'follower'])
  })
})
