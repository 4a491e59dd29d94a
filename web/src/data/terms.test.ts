import { describe, expect, it } from 'vitest'
import { mergeHistory, mergeTerm } from './terms.ts'
import type { Term } from './types.ts'

const term = (number: number, minute: number, change: Partial<Term> = {}): Term => ({
  number,
  leader: 'a',
  token: number,
  from: `2030-01-01T00:0${minute}:00Z`,
  until: null,
  cause: null,
  ended: null,
  ...change,
})

describe('the history', () => {
  it('of an agent that was restarted continues what the page knew', () => {
    const merged = mergeHistory([term(1, 1), term(2, 3)], [term(1, 5, { leader: 'b' })])
    expect(
      merged.map(({ leader, from, until }) => [leader, from.slice(14, 16), until?.slice(14, 16)]),
    ).toEqual([
      ['a', '01', undefined],
      ['a', '03', '05'],
      ['b', '05', undefined],
    ])
  })

  it('of the same run replaces what the page knew', () => {
    const fresh = [term(1, 1, { until: '2030-01-01T00:02:00Z' }), term(2, 2)]
    expect(mergeHistory([term(1, 1)], fresh)).toEqual(fresh)
    expect(mergeHistory(fresh, [])).toEqual(fresh)
  })

  it('replaces an entry that was refined, and adds a new one', () => {
    const refined = term(1, 1, { leader: null, cause: { kind: 'paused', node: 'a', text: 'a was paused' } })
    expect(mergeTerm([term(1, 1), term(2, 2)], refined)).toEqual([refined, term(2, 2)])
    const added = mergeTerm([term(1, 1)], term(2, 2))
    expect(added.map(({ until }) => until)).toEqual(['2030-01-01T00:02:00Z', null])
  })

  it('has at most 500 entries', () => {
    const many = Array.from({ length: 600 }, (_, index) =>
      term(index, 1, { from: new Date(index).toISOString() }),
    )
    expect(mergeHistory([], many)).toHaveLength(500)
    expect(mergeTerm(many, term(601, 2))).toHaveLength(500)
  })
})
