import { describe, expect, it } from 'vitest'
import type { Output, Plain } from '../../../core/index.ts'
import type { LeaseInsight, LeaseNeed } from '../../../protocols/index.ts'
import { mismatchWarning } from './mismatch.ts'
import { levelChangeOf, timingStatusOf } from './timing-status.ts'

describe('a change of the length of leases', () => {
  it.each<[string, Plain, number | null, string]>([
    ['late', 'n3', 48_000, 'n3 handled timers up to 48 ms late'],
    ['delay', 'n3', 4200, 'messages from the leader took up to 4.2 ms to reach n3'],
    ['round', null, 63_000, 'a majority took up to 63 ms to answer the leader'],
    ['loss', null, null, 'messages between the nodes got lost'],
    ['quiet', null, null, 'all timers and messages were in time'],
    ['bounds', 'n1', null, 'the bounds of n1 were changed'],
    ['bounds', null, null, 'a majority grants no other lease'],
    ['inherited', null, null, 'taken over from the leader before, or needed to win the election'],
  ])('has its reason in a sentence: %s', (cause, by, amount, reason) => {
    const event: Output = { type: 'level', level: 12, lock: 119_215, former: 61_037, cause, by, amount }
    expect(levelChangeOf(event)).toEqual({
      level: 12,
      leaseMs: 119.215,
      fromMs: 61.037,
      cause,
      by,
      text: `lease 61 ms -> 119 ms: ${reason}`,
    })
  })
})

describe('the present length of leases', () => {
  const seen: LeaseInsight = {
    level: 12,
    levels: [9, 28],
    lock: 119_215,
    bounds: [60_000, 5_000_000],
    margin: 48_000,
    assumed: { sigma: 12_000, delta: 6000 },
    failOver: { typical: 110_000, worst: 200_000 },
    renewalPeriod: 47_000,
    need: null,
    voters: [{ node: 'n3', lateness: 36_000, delay: 12_000, loss: 0.125, at: 999_000 }],
    refusals: [{ node: 'n2', bounds: [200_000, 300_000] }],
  }
  const textOf = (level: number, need: Omit<LeaseNeed, 'lock'>): string | undefined =>
    timingStatusOf({ ...seen, level, need: { ...need, lock: 61_037 } }, 1_000_000).need?.text

  it('is in milliseconds, and says how old evidence is', () => {
    expect(timingStatusOf(seen, 1_000_000)).toEqual({
      level: 12,
      levels: [9, 28],
      leaseMs: 119.215,
      renewalMs: 47,
      marginMs: 48,
      leaseMinMs: 60,
      leaseMaxMs: 5000,
      failoverMs: { typical: 110, worst: 200 },
      need: null,
      evidence: [{ id: 'n3', latenessMs: 36, delayMs: 12, loss: 0.125, msAgo: 1 }],
      refusals: [{ id: 'n2', leaseMinMs: 200, leaseMaxMs: 300 }],
    })
    expect(timingStatusOf({ ...seen, failOver: null }, 1_000_000).failoverMs).toBeNull()
  })

  it('says what holds it there, or that it becomes shorter', () => {
    const late: Omit<LeaseNeed, 'lock'> = { level: 12, cause: 'late', by: 'n3', amount: 36_000 }
    const none: Omit<LeaseNeed, 'lock'> = { level: 9, cause: 'quiet', by: null, amount: null }
    expect(textOf(12, late)).toBe('n3 handled timers up to 36 ms late')
    expect(textOf(15, late)).toBe(
      'n3 handled timers up to 36 ms late; leases become shorter step by step while this lasts',
    )
    expect(textOf(12, none)).toBe(
      'all timers and messages are in time; leases become shorter step by step while this lasts',
    )
    expect(textOf(9, none)).toBe(
      'all timers and messages are in time; leases are as short as leaseMinMs allows',
    )
  })
})

it.each<[field: string, ours: Plain, theirs: Plain, there: string, here: string]>([
  ['timing', 'adaptive', null, 'fixed', 'adaptive'],
  ['timing', null, 'adaptive', 'adaptive', 'fixed'],
  // A node with fixed timing compares its constants first. Nodes with adaptive timing agree on none.
  ['delta', 10_000, null, 'adaptive', 'fixed'],
  ['delta', null, 10_000, 'fixed', 'adaptive'],
])('the warning about another timing names both kinds: %s, %j and %j', (field, ours, theirs, there, here) => {
  expect(mismatchWarning({ type: 'mismatch', peer: 'b', field, ours, theirs })).toBe(
    `b is configured differently: timing is "${there}" there and "${here}" here; use the same profile and options on all nodes`,
  )
})

it('a node with bounds that suit no other is named, with both bounds', () => {
  const event: Output = {
    type: 'mismatch',
    peer: 'n3',
    field: 'lease bounds',
    ours: { leaseMinMs: 20, leaseMaxMs: 2000 },
    theirs: { leaseMinMs: 3000, leaseMaxMs: 5000 },
  }
  expect(mismatchWarning(event)).toBe(
    'n3 grants leases of 3000 to 5000 ms and this node of 20 to 2000 ms, so neither has the vote of the other; set leaseMinMs and leaseMaxMs so that they overlap by a factor of 1.25 or more',
  )
})
