/** Since when a leader leads, as one agent observed it. */
import { expect, it } from 'vitest'
import { LeaderMonitor } from './leader-monitor.ts'

function lab() {
  let now = 0
  const monitor = new LeaderMonitor(
    () => {},
    () => now,
  )
  return {
    monitor,
    observe(at: number, id: string | null, token: number | null = null) {
      now = at
      monitor.observeLeader(id === null ? null : { id, token })
      return monitor.leaderSinceMs()
    },
  }
}

it('keeps the start of a term that goes on after this node did not hear its leader for a while', () => {
  const { monitor, observe } = lab()
  expect(observe(100, 'a', 1)).toBe(0)
  expect(observe(150, null)).toBeNull()
  expect(monitor.leaderlessMs()).toBe(0)
  expect(observe(160, 'a', 1)).toBe(60)
  expect(monitor.leaderlessMs()).toBeNull()
})

it('begins again with another token or another leader, and without tokens after each gap', () => {
  const { observe } = lab()
  observe(100, 'a', 1)
  observe(150, null)
  expect(observe(160, 'a', 2)).toBe(0)
  expect(observe(170, 'b', 3)).toBe(0)
  expect(observe(200, 'c')).toBe(0)
  expect(observe(210, 'c')).toBe(10)
  observe(220, null)
  expect(observe(230, 'c')).toBe(0)
})
