import { describe, expect, it } from 'vitest'
import {
  better,
  hasSeen,
  isOutlived,
  type Session,
  type Stamps,
  withNumber,
  withoutLarger,
} from './session.ts'

/** A session that has seen these numbers in this order. */
const seen = (...numbers: readonly number[]): readonly number[] =>
  numbers.reduce<readonly number[]>((recent, number) => withNumber(recent, number) ?? recent, [])

/** 10, 20, 30 ... 320: as many numbers as a session remembers. */
const TENS = Array.from({ length: 32 }, (_, place) => 10 * (place + 1))

describe('the numbers of a session', () => {
  it('are kept largest first, at most 32', () => {
    expect(seen(1, 3, 2)).toEqual([3, 2, 1])
    expect(seen(...TENS, 330, 340)).toEqual([340, 330, ...TENS.slice(2).reverse()])
    expect(seen(...TENS, 45).slice(-5)).toEqual([50, 45, 40, 30, 20])
    expect(seen(...TENS, 45)).toHaveLength(32)
  })

  it('refuse a duplicate, and everything older than a full list', () => {
    const full = seen(...TENS)
    expect(withNumber(full, 40)).toBeNull()
    expect(withNumber(full, 9)).toBeNull()
    expect(withNumber(seen(10, 20), 9)).toEqual([20, 10, 9])
  })

  it('agree with the question whether a number was seen', () => {
    const full = seen(...TENS)
    for (let number = 1; number <= 330; number++)
      expect([number, hasSeen(full, number)]).toEqual([number, withNumber(full, number) === null])
    expect(hasSeen([], 1)).toBe(false)
    expect(hasSeen(seen(5), 4)).toBe(false)
  })

  it('drop the mistaken ones when a smaller one turns out to be the largest', () => {
    expect(withoutLarger([90, 80, 7, 5], 8)).toEqual([8, 7, 5])
    expect(withoutLarger([90], 3)).toEqual([3])
  })
})

describe('the largest number', () => {
  const session: Session = {
    incarnation: 1,
    recent: [90],
    newestAt: 500,
    stamps: { sent: 0, received: 0 },
    awake: null,
  }
  const echo = (sent: number): Stamps => ({ sent, received: sent })

  it('is a mistake if a datagram that answers a later one has a smaller number', () => {
    expect(isOutlived(session, echo(501))).toBe(true)
  })
  it('stands for datagrams that answer an earlier one, or none', () => {
    expect(isOutlived(session, echo(500))).toBe(false)
    expect(isOutlived(session, null)).toBe(false)
  })
})

describe('the stamps of a session', () => {
  const stamps = (sent: number, received: number): Stamps => ({ sent, received })
  const kept = stamps(1000, 1500)
  const AGE = 10_000

  it.each([
    ['a quicker message', stamps(2000, 2400), 0],
    ['an equally quick message', stamps(2000, 2500), 0],
    ['a message that is slower by the drift since then', stamps(2000, 2520), 0.01],
    ['any message once the kept ones are old', stamps(9000, 20_000), 0],
  ])('come from %s', (_what, next, rho) => {
    expect(better(kept, next, rho, AGE)).toBe(next)
  })

  it('stay if the next message was slower', () => {
    expect(better(kept, stamps(2000, 2501), 0, AGE)).toBe(kept)
    expect(better(kept, stamps(2000, 2521), 0.01, AGE)).toBe(kept)
  })

  it('go at once if the peer slept after them, and are not taken from before its sleep', () => {
    const after = stamps(2000, 9000)
    expect(better(kept, after, 0, AGE, 1500)).toBe(after)
    const before = stamps(1400, 1600)
    expect(better(stamps(2000, 2900), before, 0, AGE, 1500).sent).toBe(2000)
  })

  it('go if the latest message was stamped earlier: they were a mistake', () => {
    const earlier = stamps(900, 5000)
    expect(better(kept, earlier, 0, AGE, null, true)).toBe(earlier)
    expect(better(kept, earlier, 0, AGE, null, false)).toBe(kept)
  })
})
