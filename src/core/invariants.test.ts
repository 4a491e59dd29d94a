import { describe, expect, it } from 'vitest'
import { AssertionFailedError } from './assert.ts'
import type { Output } from './contract.ts'
import { assertLease, assertNoDecrease, nextTerm, type TermRecord } from './invariants.ts'

const failing = (message: string): AssertionFailedError => new AssertionFailedError(message)

describe('assertNoDecrease', () => {
  it('accepts an equal or larger number', () => {
    expect(() => assertNoDecrease('the epoch', 3, 3)).not.toThrow()
    expect(() => assertNoDecrease('the epoch', 3, 4)).not.toThrow()
  })

  it('fails on a smaller number, and on NaN', () => {
    expect(() => assertNoDecrease('the epoch', 4, 3)).toThrow(failing('the epoch decreased from 4 to 3'))
    expect(() => assertNoDecrease('the epoch', 4, Number.NaN)).toThrow(AssertionFailedError)
  })
})

describe('assertLease', () => {
  it('accepts a lease that ends when its request allows, or earlier', () => {
    expect(() => assertLease(150, 100, 50)).not.toThrow()
    expect(() => assertLease(120, 100, 50)).not.toThrow()
  })

  it('fails on a lease that outlasts its request', () => {
    const message = 'the lease ends 51 µs after its request, but may last only 50 µs'
    expect(() => assertLease(151, 100, 50)).toThrow(failing(message))
  })
})

describe('nextTerm', () => {
  const elected = (token: number | null): Output => ({ type: 'elected', token, cause: 'elected' })
  const demoted: Output = { type: 'demoted', token: null, cause: 'expired' }
  const follow = (...events: readonly Output[]): TermRecord | null =>
    events.reduce<TermRecord | null>((term, event) => nextTerm(term, event), null)

  it('follows terms that start and end in turn, and ignores other outputs', () => {
    expect(follow(elected(3), { type: 'following', leader: 'b' })).toEqual({ token: 3, isOver: false })
    expect(follow(elected(3), demoted, elected(3), demoted)).toEqual({ token: 3, isOver: true })
  })

  it('remembers the last token across a term without one', () => {
    expect(() => follow(elected(3), demoted, elected(null), demoted, elected(2))).toThrow(
      failing('the token decreased from 3 to 2'),
    )
  })

  it('fails when a term starts during another', () => {
    expect(() => follow(elected(3), elected(4))).toThrow(
      failing('a term starts (token 4) during another (3)'),
    )
  })

  it('fails when a term ends twice, or without a start', () => {
    expect(() => follow(elected(3), demoted, demoted)).toThrow(failing('a term ends, but none is under way'))
    expect(() => follow(demoted)).toThrow(AssertionFailedError)
  })

  it('fails when a token decreases', () => {
    expect(() => follow(elected(3), demoted, elected(2))).toThrow(failing('the token decreased from 3 to 2'))
  })
})
