import { describe, expect, it } from 'vitest'
import type { Plain, PlainObject } from '../../core/index.ts'
import { MOST_NUMBER } from './bounds.ts'
import { type Remedy, recoverLocalLeader } from './recover.ts'
import { CorruptStableDataError, checkedStable, forgetfulStable, stableFault } from './stable.ts'

const SOUND: PlainObject = {
  incarnation: 4,
  lockTime: 900,
  promised: { number: 60, owner: 'b' },
  config: { id: [50, 1], sets: [['a', 'b']] },
}
const REMEDY: Remedy = { self: 'a', moment: 1000, above: 0, voters: null }
const having = (change: PlainObject): Plain => ({ ...SOUND, ...change })

describe('stable data', () => {
  it('that this node wrote is accepted', () => {
    expect(checkedStable(SOUND)).toBe(SOUND)
    expect(stableFault(forgetfulStable('a', ['b', 'a'], 1_700_000_000_000))).toBeNull()
  })

  it.each<[string, Plain, string, string]>([
    ['a list', [], '', 'must be an object'],
    [
      'no incarnation',
      having({ incarnation: 0 }),
      'incarnation',
      `must be a whole number from 1 to ${MOST_NUMBER}`,
    ],
    [
      'no lock time',
      having({ lockTime: null }),
      'lockTime',
      `must be a whole number from 1 to ${MOST_NUMBER}`,
    ],
    ['an unknown field', having({ extra: 1 }), 'extra', 'is unknown'],
    ['no promise', having({ promised: 5 }), 'promised', 'must be an object'],
    ['no voters', having({ config: { id: [0, 0] } }), 'config', 'must have an id and sets of voters'],
    [
      'voters that are no lists',
      having({ config: { id: [0, 0], sets: ['a'] } }),
      'config.sets',
      'must be lists of ids',
    ],
    [
      'a promise without an owner',
      having({ promised: { number: 5, owner: null } }),
      'promised',
      'an epoch and its owner go together',
    ],
    ['an empty set', having({ config: { id: [0, 0], sets: [[]] } }), 'config.sets.0', 'must name a voter'],
  ])('with %s is corrupt', (_what, data, field, problem) => {
    expect(stableFault(data)).toEqual([field, problem])
    expect(() => checkedStable(data)).toThrow(CorruptStableDataError)
    expect(() => checkedStable(data)).toThrow(`(${field === '' ? 'as a whole' : field}: ${problem})`)
  })

  it('of a node without storage promises everything up to now', () => {
    expect(forgetfulStable('a', ['b', 'a'], 77)).toEqual({
      incarnation: 77,
      lockTime: 1,
      promised: { number: 77, owner: 'a' },
      config: { id: [0, 0], sets: [['a', 'b']] },
    })
  })
})

describe('a recovery', () => {
  it('changes nothing if the data is usable and no voters are given', () => {
    expect(recoverLocalLeader(SOUND, REMEDY)).toBeNull()
  })

  it('promises every epoch up to a token that is larger than the promise of usable data', () => {
    expect(recoverLocalLeader(SOUND, { ...REMEDY, above: 60 })).toBeNull()
    expect(recoverLocalLeader(SOUND, { ...REMEDY, above: 2000 })).toEqual({
      stable: { ...SOUND, promised: { number: 2000, owner: 'a' } },
      changes: ['every epoch up to 2000 is promised'],
    })
  })

  it('keeps what is sound, and promises every epoch up to the largest known number', () => {
    const damaged = having({ promised: { number: -1, owner: 'b' } })
    expect(recoverLocalLeader(damaged, REMEDY)).toEqual({
      stable: { ...SOUND, promised: { number: 1000, owner: 'a' } },
      changes: [
        `promised.number must be a whole number from 0 to ${MOST_NUMBER}`,
        'every epoch up to 1000 is promised',
      ],
    })
  })

  it.each<[string, Plain, Partial<Remedy>, number]>([
    ['the wall clock', having({ incarnation: 0 }), {}, 1000],
    ['the largest token', having({ incarnation: 0 }), { above: 5000 }, 5000],
    ['its own promise', having({ incarnation: 0, promised: { number: 7000, owner: 'b' } }), {}, 7000],
    [
      'the epoch of its voters',
      having({ incarnation: 0, config: { id: [8000, 1], sets: [['a']] } }),
      {},
      8000,
    ],
  ])('takes the promise from %s', (_what, data, change, number) => {
    const recovered = recoverLocalLeader(data, { ...REMEDY, ...change })
    expect(recovered?.stable).toMatchObject({ promised: { number, owner: 'a' } })
  })

  it('writes new voters under a configuration that is newer than any', () => {
    const recovered = recoverLocalLeader(SOUND, { ...REMEDY, voters: ['c', 'a', 'c'] })
    expect(recovered?.stable).toMatchObject({ config: { id: [1000, 0], sets: [['a', 'c']] } })
    expect(recovered?.changes.at(-1)).toBe('the voters are a, c')
    expect(stableFault(recovered?.stable)).toBeNull()
  })

  it('asks for the voters if the stored ones are unusable', () => {
    const damaged = having({ config: { id: [1, 1], sets: [[]] } })
    expect(() => recoverLocalLeader(damaged, REMEDY)).toThrow(
      'voters: the stored voters are unusable; name all voters of the group',
    )
    expect(recoverLocalLeader(damaged, { ...REMEDY, voters: ['a'] })).not.toBeNull()
  })

  it('waits for the longest lock of any profile if its own lock time is lost', () => {
    const recovered = recoverLocalLeader(having({ lockTime: 0 }), REMEDY)
    expect(recovered?.stable).toMatchObject({ lockTime: 60_000_000 })
    const bare = recoverLocalLeader('damaged', { ...REMEDY, voters: ['a'] })
    expect(bare?.stable).toMatchObject({ incarnation: 1000, lockTime: 60_000_000 })
    expect(bare?.changes[0]).toBe('the data must be an object')
  })

  it('refuses a token beyond the limit', () => {
    expect(() => recoverLocalLeader(having({ lockTime: 0 }), { ...REMEDY, above: MOST_NUMBER })).toThrow(
      `above: must be below ${MOST_NUMBER}`,
    )
  })
})
