/** Every rule against its defect: the situation in which the two differ. */
import { describe, expect, it } from 'vitest'
import { type Block, NO_MORE } from './block.ts'
import { MISREADINGS, type Misreading, rulesWith } from './defects.ts'
import { type EpochsRules, isDeletable, type RegisterOptions, RULES, tombstoneIn } from './rules.ts'
import type { EpochsState } from './state.ts'

const block = (ctr: number, val: string | null = null, pbal = 0): Block => ({
  ctr,
  pbal,
  bal: 0,
  val,
  more: NO_MORE,
})
const OPTIONS: RegisterOptions = { registers: 'atomic', tick: 'split', removals: true, burials: false }
const state = (phase: 0 | 1 | 2, own: Block, read: EpochsState['read'] = []): EpochsState => ({
  status: 'Participant',
  ctr: own.ctr,
  phase,
  diskWritten: false,
  own,
  writing: null,
  read,
  learned: null,
  time: null,
})

/** The same question to the rules and to the defect, and both answers. */
type Difference = readonly [ask: (rules: EpochsRules) => unknown, right: unknown, wrong: unknown]
const DIFFERENCES: { readonly [M in Misreading]: Difference } = {
  'tie-lowest-id': [(r) => r.isBetterVote(1, 'b', 1, 'a'), true, false],
  'leader-keeps-round': [(r) => [r.keepsRound(true), r.keepsRound(false)], [false, false], [true, false]],
  'participant-keeps-round': [
    (r) => [r.keepsRound(true), r.keepsRound(false)],
    [false, false],
    [false, true],
  ],
  'negation-scope': [(r) => r.isGreaterBallot(9, 'b', 1, 'a'), true, false],
  parentheses: [(r) => r.isGreaterBallot(9, 'a', 1, 'b'), true, false],
  'ballots-without-id': [(r) => r.isGreaterBallot(1, 'b', 1, 'a'), true, false],
  'ballots-of-own-epoch': [(r) => [r.countsBallot(1, 2), r.countsBallot(2, 2)], [true, true], [false, true]],
  'forgotten-counter': [(r) => r.recallCounter(block(7)), 7, 0],
  'lost-block': [(r) => r.registerModel(OPTIONS).forgets, false, true],
  'kept-phase': [
    (r) => r.persistedPhase(state(0, block(1)), state(1, block(1))),
    null,
    { phase: 1, diskWritten: false },
  ],
  'leader-jumps': [(r) => [r.canRenew(1, 2), r.canRenew(1, 3)], [true, false], [true, true]],
  'phase-0-suspends': [
    (r) => r.givesUpInPhase0(state(0, block(2, null, 1), [['b', block(1, null, 5)]]), 'a'),
    false,
    true,
  ],
  'delete-at-once': [(r) => r.deletable(OPTIONS)?.(block(3, 'a'), []), false, true],
  'tombstone-only': [(r) => r.deletable(OPTIONS)?.(block(3), [block(2)]), false, true],
  'blind-burial': [(r) => r.registerModel({ ...OPTIONS, burials: true }).burials, 'compared', 'blind'],
  'stale-reads': [(r) => r.registerModel(OPTIONS).semantics, 'atomic', 'stale'],
  'torn-blocks': [(r) => r.registerModel(OPTIONS).semantics, 'atomic', 'torn'],
  'late-writes': [
    (r) => [r.registerModel(OPTIONS).semantics, r.registerModel(OPTIONS).compare],
    ['atomic', true],
    ['late', false],
  ],
  'no-start': [(r) => r.actsFrom(500, 100), 500, 100],
  'early-release': [
    (r) => {
      const lease = { token: 1, startAt: 0, until: 9, acting: true }
      const time = { lease, partition: { view: null, fencing: null } }
      return r.stopBeforeRelease(time as never, 'x').time.lease
    },
    null,
    { token: 1, startAt: 0, until: 9, acting: true },
  ],
  'no-rounds': [(r) => [r.acceptsReply(1, 1), r.acceptsReply(1, 2)], [true, false], [true, true]],
}

describe('a defect', () => {
  it.each(MISREADINGS)('%s changes its own rule, and no other', (name) => {
    const [ask, right, wrong] = DIFFERENCES[name]
    expect(ask(RULES)).toEqual(right)
    expect(ask(rulesWith(name))).toEqual(wrong)
    const rules = rulesWith(name)
    const changed = (Object.keys(RULES) as (keyof EpochsRules)[]).filter(
      (rule) => rules[rule] !== RULES[rule],
    )
    expect(changed).toHaveLength(name === 'blind-burial' ? 2 : 1)
  })

  it('is absent by default', () => {
    expect(rulesWith(null)).toBe(RULES)
  })
})

describe('a register', () => {
  it('may be deleted only with an option for it', () => {
    expect(RULES.deletable({ ...OPTIONS, removals: false })).toBeNull()
    expect(RULES.deletable({ ...OPTIONS, removals: false, burials: true })).toBe(isDeletable)
  })

  it('may be deleted once it holds a tombstone that all others have reached', () => {
    expect(isDeletable(block(3), [block(3), block(9)])).toBe(true)
    expect(isDeletable(block(3), [block(3), block(2)])).toBe(false)
    expect(isDeletable(block(3), [null])).toBe(false)
    expect(isDeletable(block(3), [])).toBe(true)
  })

  it.each([
    ['a block without a vote', block(3), 3],
    ['a block with a vote', block(3, 'a'), null],
    ['nothing', null, null],
    ['a damaged value', 'damaged', null],
  ])('with %s: the counter of its tombstone is %j', (_what, value, ctr) => {
    expect(tombstoneIn(value)?.ctr ?? null).toBe(ctr)
  })

  it.each([
    ['split', 'apart'],
    ['atomic', 'at once'],
  ] as const)('acknowledges the ticks of option %s %s', (tick, acknowledged) => {
    expect(RULES.registerModel({ ...OPTIONS, tick }).acknowledged).toBe(acknowledged)
  })
})
