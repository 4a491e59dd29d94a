import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Claims } from './claims.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

/** A term under way: `end` tells it to, and `isOver` says whether it has. */
function term(claims: Claims): { end(): Promise<void>; isOver(): boolean } {
  const ending = new AbortController()
  let isOver = false
  void claims.holdTerm({ signal: ending.signal }).then(() => {
    isOver = true
  })
  return {
    async end() {
      ending.abort()
      await vi.advanceTimersByTimeAsync(0)
    },
    isOver: () => isOver,
  }
}

describe('claims', () => {
  it('grants nothing before the work of the term runs, which would forget it, nor between two terms', async () => {
    const claims = new Claims()
    expect([claims.acquire(null, 100), claims.phase]).toEqual([null, 'idle'])
    const { end, isOver } = term(claims)
    const claim = claims.acquire(null, 100) as string
    expect([claim, claims.phase]).toEqual([expect.any(String), 'open'])
    await end()
    expect([claims.acquire(claim, 100), claims.phase, isOver()]).toEqual([claim, 'ending', false])
    claims.release(claim)
    await vi.advanceTimersByTimeAsync(0)
    expect([claims.acquire(null, 100), claims.phase, isOver()]).toEqual([null, 'idle', true])
  })

  it('ends a term at once without claims', async () => {
    const { end, isOver } = term(new Claims())
    await end()
    expect(isOver()).toBe(true)
  })

  it('keeps the term until the claim is released', async () => {
    const claims = new Claims()
    const { end, isOver } = term(claims)
    const claim = claims.acquire(null, 100) as string
    await end()
    expect([isOver(), claims.phase]).toEqual([false, 'ending'])
    claims.release(claim)
    await vi.advanceTimersByTimeAsync(0)
    expect(isOver()).toBe(true)
  })

  it('expires a claim that is not renewed', async () => {
    const claims = new Claims()
    const { end, isOver } = term(claims)
    const claim = claims.acquire(null, 100) as string
    await end()
    await vi.advanceTimersByTimeAsync(80)
    expect(claims.acquire(claim, 100)).toBe(claim)
    await vi.advanceTimersByTimeAsync(90)
    expect(isOver()).toBe(false)
    await vi.advanceTimersByTimeAsync(20)
    expect(isOver()).toBe(true)
    expect(claims.acquire(claim, 100)).toBe(null)
  })

  it('refuses new claims while the term ends, and more than 64', async () => {
    const claims = new Claims()
    const { end } = term(claims)
    for (let each = 0; each < 64; each++) expect(claims.acquire(null, 100)).not.toBe(null)
    expect(claims.acquire(null, 100)).toBe(null)
    await vi.advanceTimersByTimeAsync(101)
    expect(claims.acquire(null, 100)).not.toBe(null)
    await end()
    expect(claims.acquire(null, 100)).toBe(null)
  })

  it('forgets the claims of an earlier term', async () => {
    const claims = new Claims()
    const { end } = term(claims)
    const claim = claims.acquire(null, 1_000_000) as string
    await end()
    term(claims)
    expect(claims.acquire(claim, 100)).toBe(null)
  })
})
