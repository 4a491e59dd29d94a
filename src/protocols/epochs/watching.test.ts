import { describe, expect, it } from 'vitest'
import { blockAt, TIME } from '../../../test/support/epochs-node.ts'
import { type Block, ZERO } from './block.ts'
import type { Lease, Removal, Seen, Timed } from './state.ts'
import { noteBlock, rankOf, shiftTime, startAfter } from './watching.ts'

/** What a node knows after these blocks of node a, each at its time. */
const noted = (...blocks: readonly (readonly [block: Block, now: number])[]): Timed =>
  blocks.reduce<Timed>((time, [each, now]) => {
    const next = noteBlock(time, 'a', each, now)
    if (typeof next === 'string') throw new Error(next)
    return next
  }, TIME)

describe('a block of another node', () => {
  it('dates its stamp by when the stamp was first seen', () => {
    const stamped = blockAt(3, { lctr: 3, lbal: 1 })
    const at = (time: Timed) => time.seen.map((seen) => seen.at)
    expect(at(noted([stamped, 2000]))).toEqual([2000])
    expect(at(noted([stamped, 2000], [{ ...stamped, ctr: 4 }, 3000]))).toEqual([2000])
    expect(at(noted([stamped, 2000], [blockAt(4, { lctr: 4, lbal: 1 }), 3000]))).toEqual([3000])
  })

  it('shows progress if its counter is the greatest so far', () => {
    expect(noted([blockAt(3), 2000])).toMatchObject({ greatest: 3, advancedAt: 2000 })
    expect(noted([blockAt(3), 2000], [blockAt(3, { led: 1 }), 3000])).toMatchObject({ advancedAt: 2000 })
  })

  it('names the leader if it published a greater epoch that it led', () => {
    expect(noted([blockAt(3, { led: 3, term: 2 }), 2000])).toMatchObject({
      hint: 'a',
      last: 'a',
      led: 3,
      term: 2,
    })
  })

  it('leaves the group without a leader if its lease was released', () => {
    const free: Block = { ...blockAt(3, { led: 3 }), val: 'a' }
    const time = noted([free, 2000])
    expect(time).toMatchObject({ hint: null, last: 'a', isVacant: true, advancedAt: 2000 })
    expect(noteBlock(time, 'c', blockAt(4), 3000)).toMatchObject({ isVacant: false })
  })

  it('is the same memory if it shows nothing new', () => {
    const time = noted([blockAt(3), 2000])
    expect(noteBlock(time, 'a', blockAt(3), 3000)).toBe(time)
  })

  it('enters the oracle with its generation', () => {
    expect(noted([blockAt(3, { gen: 2 }), 2000]).oracle).toEqual({ gen: 2, of: 'a', at: 2000 })
  })

  it.each([
    ['counter', blockAt(2), '(3, 1) to (2, 1)'],
    ['ballot', blockAt(3, {}, 0), '(3, 1) to (3, 0)'],
  ])('raises the alarm if its %s went back', (_what, older, numbers) => {
    expect(noteBlock(noted([blockAt(3), 2000]), 'a', older, 3000)).toBe(
      `the register of a went back from ${numbers}: the store loses or replays writes`,
    )
  })

  it('may be empty again only after a tombstone', () => {
    const buried = noted([blockAt(3, { gone: true }), 2000])
    expect(noteBlock(buried, 'a', ZERO, 3000)).toMatchObject({ seen: [] })
    expect(noteBlock(buried, 'a', blockAt(1), 3000)).toMatch('went back from (3, 1) to (1, 1)')
  })
})

describe('START by stamps', () => {
  const seen = (lctr: number, at: number): Seen => ({
    of: 'a',
    ctr: 1,
    pbal: 1,
    lctr,
    lbal: 1,
    gone: false,
    at,
  })
  it('waits for the newest stamp of a vote', () => {
    expect(startAfter([seen(1, 100), seen(2, 400), seen(1, 300)], 50, 200)).toBe(450)
  })
  it('is now if there is no stamp, or every lease is over', () => {
    expect(startAfter([], 50, 200)).toBe(200)
    expect(startAfter([seen(0, 900)], 50, 200)).toBe(200)
    expect(startAfter([seen(3, 100)], 50, 200)).toBe(200)
  })
})

describe('the order of succession', () => {
  it.each([
    ['a', null, 0],
    ['c', null, 2],
    ['b', 'a', 0],
    ['c', 'a', 1],
    ['a', 'a', 2],
    ['a', 'c', 0],
    ['a', 'gone', 0],
  ] as const)('gives %j after %j the place %j', (self, last, rank) => {
    expect(rankOf(self, last, ['a', 'b', 'c'])).toBe(rank)
  })
})

describe('a shift of time', () => {
  it('moves every instant, and nothing else', () => {
    const lease: Lease = { token: 3, startAt: 10, until: 20, acting: true }
    const removal: Removal = { of: 'c', stage: 'wait', to: 4, since: 30 }
    const full: Timed = { ...noted([blockAt(3, { gen: 1 }), 2000]), lease, removal }
    expect(shiftTime(full, 5)).toEqual({
      ...full,
      w: full.w + 5,
      startAt: full.startAt + 5,
      advancedAt: 2005,
      seen: full.seen.map((seen) => ({ ...seen, at: seen.at + 5 })),
      lease: { ...lease, startAt: 15, until: 25 },
      removal: { ...removal, since: 35 },
      oracle: { gen: 1, of: 'a', at: 2005 },
    })
    expect(shiftTime({ ...TIME, removal: { ...removal, since: null } }, 5).removal?.since).toBeNull()
  })
})
