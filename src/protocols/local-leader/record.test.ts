import { describe, expect, it } from 'vitest'
import {
  afterFailure,
  afterMiss,
  afterRound,
  afterWin,
  type CandidateRecord,
  CLEAN_RECORD,
} from './record.ts'

const missed = (how: 'refused' | 'unanswered', times: number): CandidateRecord =>
  Array.from({ length: times }).reduce<CandidateRecord>((record) => afterMiss(record, how), CLEAN_RECORD)
const FAILED = afterFailure(CLEAN_RECORD)
/** The number of rounds in a row that must go well before the node has its rank again. */
const roundsToRecover = (from: CandidateRecord): number => {
  let record = from
  for (let rounds = 0; ; rounds++) {
    if (record.proofs === null) return rounds
    record = afterRound(record, true)
  }
}

describe('a candidate', () => {
  it('loses its rank after two rounds without answers, or eight that were refused', () => {
    expect(missed('unanswered', 1)).toEqual({ ...CLEAN_RECORD, misses: 4 })
    expect(missed('unanswered', 2)).toEqual({ misses: 0, failures: 1, proofs: 0, isProven: false })
    expect(missed('refused', 7).proofs).toBeNull()
    expect(missed('refused', 8).proofs).toBe(0)
  })

  it('needs a new probe after every miss', () => {
    expect(afterMiss({ ...CLEAN_RECORD, isProven: true }, 'refused').isProven).toBe(false)
  })

  it('needs twice as many good rounds after each failure, up to a limit', () => {
    const twice = afterFailure(FAILED)
    const often = afterFailure(afterFailure(afterFailure(twice)))
    expect([FAILED, twice, often].map(roundsToRecover)).toEqual([8, 16, 32])
    expect(often.failures).toBe(3)
  })

  it('starts again if a round leaves it out', () => {
    const half = afterRound(afterRound(FAILED, true), true)
    expect(half.proofs).toBe(2)
    expect(afterRound(half, false)).toEqual({ ...half, proofs: 0 })
  })

  it('has the same record if a round changes nothing', () => {
    expect(afterRound(CLEAN_RECORD, true)).toBe(CLEAN_RECORD)
    expect(afterRound(CLEAN_RECORD, false)).toBe(CLEAN_RECORD)
    expect(afterRound(FAILED, false)).toBe(FAILED)
  })

  it('forgets misses in a good round', () => {
    expect(afterRound(missed('refused', 3), true)).toEqual(CLEAN_RECORD)
  })
})

describe('a leader', () => {
  it('has its rank at once, and a clean record once it has led for long', () => {
    expect(afterWin({ ...FAILED, misses: 1 }, false)).toEqual({ ...CLEAN_RECORD, failures: 1 })
    expect(afterWin(FAILED, true)).toEqual(CLEAN_RECORD)
  })
  it('has the same record if there is nothing to forget', () => {
    expect(afterWin(CLEAN_RECORD, true)).toBe(CLEAN_RECORD)
    const once = { ...CLEAN_RECORD, failures: 1 }
    expect(afterWin(once, false)).toBe(once)
  })
})
