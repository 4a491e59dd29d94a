/**
 * Every run of two ends up to 14 transitions, on the very functions that the layer uses. A datagram may be lost (it is
 * never delivered), doubled and reordered (every message ever sent can arrive at any time): so a channel is simply all
 * counts that its sender has had.
 */
import { describe, expect, it } from 'vitest'
import { BEGIN, type Counters, heard, isUp, mayMove, moved } from './counters.ts'

type Two = { readonly a: Counters; readonly b: Counters }

const MOST = 14

/** All that can follow, and what each end then saw. */
function next({ a, b }: Two, slack: number): Two[] {
  const after: Two[] = []
  if (mayMove(a, slack) && a.count < MOST) after.push({ a: moved(a), b })
  if (mayMove(b, slack) && b.count < MOST) after.push({ a, b: moved(b) })
  for (let said = BEGIN.count; said <= b.count; said++) after.push({ a: heard(a, said), b })
  for (let said = BEGIN.count; said <= a.count; said++) after.push({ a, b: heard(b, said) })
  return after
}

function everything(slack: number): readonly Two[] {
  const first: Two = { a: BEGIN, b: BEGIN }
  const seen = new Set([JSON.stringify(first)])
  const all = [first]
  for (const two of all) {
    for (const each of next(two, slack)) {
      const text = JSON.stringify(each)
      if (seen.has(text)) continue
      seen.add(text)
      all.push(each)
    }
  }
  return all
}

describe.each([1, 2, 3])('counts with slack %i, exhaustively', (slack) => {
  const all = everything(slack)

  it('neither end leads by more than the slack, though each knows only what it has heard', () => {
    expect(Math.max(...all.map(({ a, b }) => Math.abs(a.count - b.count)))).toBe(slack === 1 ? 1 : 2)
  })

  it('when all has been heard, the histories are the same', () => {
    const quiet = all.filter(({ a, b }) => a.theirs === b.count && b.theirs === a.count)
    expect(quiet.length).toBeGreaterThan(MOST / 2)
    expect(quiet.every(({ a, b }) => a.count === b.count)).toBe(true)
  })

  it('an end never counts more moves of the other than it has made, and has made all moves that the other counts', () => {
    expect(all.every(({ a, b }) => a.theirs <= b.count && b.theirs <= a.count)).toBe(true)
    expect(all.every(({ a, b }) => a.theirs <= a.count && b.theirs <= b.count)).toBe(true)
  })

  it('an end goes up again only after the other has seen the down', () => {
    for (const two of all) {
      const risen = next(two, slack).filter(({ a }) => isUp(a) && a.count === two.a.count + 1)
      for (const { a } of risen) expect(two.b.count).toBeGreaterThanOrEqual(a.count - 1)
    }
  })
})

it('has as many states as these, so that a change of the rules shows', () => {
  expect([1, 2, 3].map((slack) => everything(slack).length)).toEqual([103, 201, 201])
})

describe('an outage that begins when one end is up and the other is not yet', () => {
  const leading = moved(BEGIN)

  it('with slack 1 is not seen by the first until the other has been heard again', () => {
    expect(mayMove(leading, 1)).toBe(false)
    expect(mayMove(heard(leading, 2), 1)).toBe(true)
  })

  it('with slack 2 is', () => {
    expect(mayMove(leading, 2)).toBe(true)
    expect(mayMove(moved(leading), 2)).toBe(false)
  })
})
