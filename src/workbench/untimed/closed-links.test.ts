import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Cut, closedPairs, connectedPairs, isCut, toggleLink } from './closed-links.ts'
import { DEFAULT_LINK_HISTORY, initialEnds, moveEnd } from './link-ends.ts'

describe('cut links', () => {
  it('are cut both ways', () => {
    const cut = toggleLink([], 2, 0)
    expect(cut).toEqual([[0, 2]])
    expect([isCut(cut, 0, 2), isCut(cut, 2, 0), isCut(cut, 0, 1)]).toEqual([true, true, false])
  })

  it('are the same set for every order of cutting, and healing undoes it', () => {
    const pair = fc.tuple(fc.nat(4), fc.nat(4)).filter(([a, b]) => a !== b)
    fc.assert(
      fc.property(fc.array(pair, { maxLength: 8 }), (pairs) => {
        const toggled = (list: readonly (readonly [number, number])[]): Cut =>
          list.reduce<Cut>((cut, [a, b]) => toggleLink(cut, a, b), [])
        expect(toggled(pairs)).toEqual(toggled(pairs.toReversed()))
        expect(toggled([...pairs, ...pairs.toReversed()])).toEqual([])
      }),
    )
  })
})

describe('closed pairs of reported links', () => {
  it('are none while all ends are up', () => {
    expect(
      closedPairs(
        3,
        initialEnds(3, () => true),
      ),
    ).toEqual([])
  })

  it('are all while all ends are down', () => {
    expect(
      closedPairs(
        3,
        initialEnds(3, () => false),
      ),
    ).toEqual([
      [0, 1],
      [0, 2],
      [1, 2],
    ])
  })

  it('include a link whose ends do not agree yet', () => {
    const moved = moveEnd(
      initialEnds(3, () => true),
      3,
      2,
      0,
      DEFAULT_LINK_HISTORY,
    )
    expect(closedPairs(3, moved)).toEqual([[0, 2]])
    const back = moveEnd(moved, 3, 2, 0, { slack: 2, labelled: true })
    // Up at both ends again, but in different incarnations.
    expect(closedPairs(3, back)).toEqual([[0, 2]])
  })
})

describe('connected pairs', () => {
  const nodes = ['a', 'b', 'c']

  it('are full if no link between running nodes is cut', () => {
    expect(connectedPairs(nodes, [0, 1, 2], [])).toBe('full')
    expect(connectedPairs(nodes, [0, 1], [[1, 2]])).toBe('full')
    expect(connectedPairs(nodes, [1], [])).toBe('full')
  })

  it('are listed by name otherwise', () => {
    expect(connectedPairs(nodes, [0, 1, 2], [[0, 2]])).toEqual([
      ['a', 'b'],
      ['b', 'c'],
    ])
    expect(connectedPairs(nodes, [0, 2], [[0, 2]])).toEqual([])
  })
})
