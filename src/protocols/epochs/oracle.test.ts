import { describe, expect, it } from 'vitest'
import { blockAt, KIT, STATE, TIME, TIMING } from '../../../test/support/epochs-node.ts'
import { earliestContention, isChosen, oracleAfter } from './oracle.ts'
import type { EpochsState } from './state.ts'

describe('the oracle', () => {
  const owned = (of: string): EpochsState => ({
    ...STATE,
    time: { ...TIME, oracle: { gen: 2, of, at: 500 } },
  })
  it('chooses the owner of x', () => {
    expect([isChosen(KIT, owned('b')), isChosen(KIT, owned('a')), isChosen(KIT, STATE)]).toEqual([
      true,
      false,
      false,
    ])
  })
  it('lets another owner try first', () => {
    expect(earliestContention(KIT, owned('a'))).toBe(500 + TIMING.deference)
    expect(earliestContention(KIT, owned('b'))).toBeNull()
    expect(earliestContention(KIT, STATE)).toBeNull()
  })
  it('is not changed by a node that never contended', () => {
    expect(oracleAfter(null, 'c', blockAt(1), 9)).toBeNull()
  })
})
