import { describe, expect, it } from 'vitest'
import { closedPairs, connectedPairs, isCut, toggleLink } from './closed-links.ts'
import { append, deliverable, type Inbox } from './inbox.ts'
import {
  aheadOf,
  canFlip,
  DEFAULT_LINK_HISTORY,
  dropFromCrashed,
  endOf,
  endsAfterCrash,
  inboxAfterMove,
  initialEnds,
  moveEnd,
  mustFollow,
} from './link-ends.ts'

const TOGETHER = { slack: 0, labelled: true }
const note = (from: number, text: string, ahead?: number) => ({
  from,
  body: { kind: 'note', text },
  ...(ahead === undefined ? {} : { ahead }),
})

describe('the ends of a link', () => {
  const ends = initialEnds(3, () => true)

  it('are one end for each pair, seen from both sides', () => {
    const moved = moveEnd(ends, 3, 2, 0, DEFAULT_LINK_HISTORY)
    expect(endOf(moved, 3, 2, 0)).toEqual({ up: false, lead: 1 })
    expect(endOf(moved, 3, 0, 2)).toEqual({ up: true, lead: -1 })
    expect(endOf(moved, 3, 0, 1)).toEqual({ up: true, lead: 0 })
  })

  it('follow each other back to no lead', () => {
    const moved = moveEnd(ends, 3, 0, 1, DEFAULT_LINK_HISTORY)
    expect(mustFollow(endOf(moved, 3, 1, 0))).toBe(true)
    expect(mustFollow(endOf(moved, 3, 0, 1))).toBe(false)
    const followed = moveEnd(moved, 3, 1, 0, DEFAULT_LINK_HISTORY)
    expect(endOf(followed, 3, 1, 0)).toEqual({ up: false, lead: 0 })
  })

  it('may flip while they lead by less than the slack', () => {
    expect(canFlip({ up: true, lead: 0 }, 0, 1, DEFAULT_LINK_HISTORY)).toBe(true)
    expect(canFlip({ up: true, lead: 1 }, 0, 1, DEFAULT_LINK_HISTORY)).toBe(false)
    expect(canFlip({ up: true, lead: -1 }, 0, 1, DEFAULT_LINK_HISTORY)).toBe(false)
  })

  it('move together with slack 0, by the smaller index', () => {
    expect(canFlip({ up: true, lead: 0 }, 0, 1, TOGETHER)).toBe(true)
    expect(canFlip({ up: true, lead: 0 }, 1, 0, TOGETHER)).toBe(false)
    expect(endOf(moveEnd(ends, 3, 0, 1, TOGETHER), 3, 1, 0)).toEqual({ up: false, lead: 0 })
  })

  it('go down at a crashed node, and peers that are up have to follow', () => {
    const after = endsAfterCrash(ends, 3, 1)
    expect(endOf(after, 3, 1, 0)).toEqual({ up: false, lead: 1 })
    expect(mustFollow(endOf(after, 3, 0, 1))).toBe(true)
    const down = endsAfterCrash(
      initialEnds(3, () => false),
      3,
      1,
    )
    expect(mustFollow(endOf(down, 3, 0, 1))).toBe(false)
  })
})

describe('messages on links with incarnations', () => {
  it('are lost if the sender is down or behind, and ahead if it leads', () => {
    expect(aheadOf({ up: false, lead: 0 }, DEFAULT_LINK_HISTORY)).toBe(-1)
    expect(aheadOf({ up: true, lead: -2 }, DEFAULT_LINK_HISTORY)).toBe(-1)
    expect(aheadOf({ up: true, lead: 2 }, DEFAULT_LINK_HISTORY)).toBe(2)
    expect(aheadOf({ up: true, lead: 2 }, { slack: 2, labelled: false })).toBe(0)
  })

  it('come one incarnation nearer when the receiver moves, and are lost after theirs', () => {
    const inbox: Inbox = [note(0, 'a'), note(0, 'b', 1), note(0, 'c', 2), note(1, 'd')]
    expect(inboxAfterMove(inbox, 0, DEFAULT_LINK_HISTORY)).toEqual([
      note(0, 'b'),
      note(0, 'c', 1),
      note(1, 'd'),
    ])
    expect(inboxAfterMove(inbox, 0, { slack: 1, labelled: false })).toBe(inbox)
  })

  it('of a crashed node arrive only in the current incarnation', () => {
    const inbox: Inbox = [note(0, 'a'), note(0, 'b', 1), note(1, 'd', 1)]
    expect(dropFromCrashed(inbox, 0)).toEqual([note(0, 'a'), note(1, 'd', 1)])
    expect(dropFromCrashed(inbox, 2)).toBe(inbox)
  })
})

describe('an inbox', () => {
  const fill = (order: 'fifo' | 'any', ...texts: readonly string[]): Inbox =>
    texts.reduce<Inbox>((inbox, text) => append(inbox, note(text === 'z' ? 0 : 1, text), order), [])

  it('groups messages by sender; a queue keeps sending order, a multiset has one order', () => {
    expect(fill('fifo', 'b', 'a', 'z')).toEqual([note(0, 'z'), note(1, 'b'), note(1, 'a')])
    expect(fill('any', 'b', 'a', 'z')).toEqual(fill('any', 'a', 'z', 'b'))
  })

  it('delivers the first message of a queue, and any message of a multiset', () => {
    expect(deliverable(fill('fifo', 'b', 'a', 'z'), 'fifo')).toEqual([
      { place: 0, nth: 0 },
      { place: 1, nth: 0 },
    ])
    expect(deliverable(fill('any', 'b', 'a', 'a'), 'any')).toEqual([
      { place: 0, nth: 0 },
      { place: 2, nth: 2 },
    ])
  })

  it('delivers only what the link lets through', () => {
    expect(deliverable(fill('fifo', 'b', 'z'), 'fifo', ({ from }) => from === 1)).toEqual([
      { place: 1, nth: 0 },
    ])
  })
})

describe('closed links', () => {
  it('are pairs in either order, kept sorted', () => {
    const cut = toggleLink(toggleLink([], 2, 1), 1, 0)
    expect(cut).toEqual([
      [0, 1],
      [1, 2],
    ])
    expect(isCut(cut, 2, 1)).toBe(true)
    expect(toggleLink(cut, 0, 1)).toEqual([[1, 2]])
  })

  it('are the links that are not up at both ends in one incarnation', () => {
    const ends = moveEnd(
      initialEnds(3, () => true),
      3,
      0,
      2,
      DEFAULT_LINK_HISTORY,
    )
    expect(closedPairs(3, ends)).toEqual([[0, 2]])
  })

  it('leave the connected pairs of running nodes', () => {
    expect(connectedPairs([1, 2, 3], [0, 1, 2], [])).toBe('full')
    expect(connectedPairs([1, 2, 3], [0, 1, 2], [[0, 1]])).toEqual([
      [1, 3],
      [2, 3],
    ])
    expect(connectedPairs([1, 2, 3], [2], [[0, 1]])).toBe('full')
  })
})
