import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { RefusalLog } from './refusal-log.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe('refusals', () => {
  it('are reported at once, then every ten seconds with a count, at the end of a flood, and at once after a quiet time', () => {
    const said: string[] = []
    const refusals = new RefusalLog(({ reason, count, from }) => said.push(`${count} ${reason} ${from}`))
    const flood = (count: number): void => {
      for (let each = 0; each < count; each++) {
        refusals.add(
          'too short',
          () => 'x',
          () => '',
        )
      }
    }
    flood(50_000)
    expect(said).toEqual(['1 too short x'])
    vi.advanceTimersByTime(10_000)
    flood(7)
    vi.advanceTimersByTime(10_000)
    expect(said).toEqual(['1 too short x', '49999 too short x', '7 too short x'])
    vi.advanceTimersByTime(10_000)
    flood(1)
    expect(said.at(-1)).toBe('1 too short x')
    expect(refusals.total).toBe(50_008)
    refusals.close()
  })

  it('are not reported while there are few of a kind that is tolerated, and at once when there are more', () => {
    const said: string[] = []
    const refusals = new RefusalLog(({ reason, count }) => said.push(`${count} ${reason}`))
    const add = (count: number): void => {
      for (let each = 0; each < count; each++) {
        refusals.add(
          'heard before',
          () => 'x',
          () => '',
          { tolerated: 20 },
        )
      }
    }
    for (let interval = 0; interval < 3; interval++) {
      add(20)
      vi.advanceTimersByTime(10_000)
    }
    expect(said).toEqual([])
    add(21)
    expect(said).toEqual(['21 heard before'])
    add(300)
    expect(said).toHaveLength(1)
    vi.advanceTimersByTime(10_000)
    expect(said).toEqual(['21 heard before', '300 heard before'])
    vi.advanceTimersByTime(10_000)
    add(20)
    expect(said).toHaveLength(2)
    refusals.close()
  })
})
