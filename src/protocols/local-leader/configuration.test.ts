/** Voter configurations: order, majorities, and the way from one set of voters to another. */
import { describe, expect, it } from 'vitest'
import type { NodeId } from '../../core/index.ts'
import {
  type Configuration,
  contradicts,
  holdsMajorities,
  initialConfiguration,
  isNewer,
  isVoter,
  nextConfiguration,
  votersOf,
} from './voters.ts'

const config = (epoch: number, counter: number, ...sets: readonly (readonly NodeId[])[]): Configuration => ({
  id: [epoch, counter],
  sets,
})
const OLD = ['a', 'b', 'c']
const NEW = ['b', 'c', 'd']

describe('a configuration', () => {
  it('starts with the sorted voters under no epoch', () => {
    expect(initialConfiguration(['c', 'a'])).toEqual(config(0, 0, ['a', 'c']))
  })

  it.each([
    [config(2, 0, OLD), config(1, 9, OLD), true],
    [config(1, 2, OLD), config(1, 1, OLD), true],
    [config(1, 1, OLD), config(1, 1, NEW), false],
    [config(1, 9, OLD), config(2, 0, OLD), false],
  ])('is newer by epoch, then counter: %j against %j is %j', (a, b, newer) => {
    expect(isNewer(a, b)).toBe(newer)
  })

  it('contradicts another only under the same id with other voters', () => {
    expect(contradicts(config(1, 1, OLD), config(1, 1, NEW))).toBe(true)
    expect(contradicts(config(1, 1, OLD), config(1, 1, OLD))).toBe(false)
    expect(contradicts(config(1, 1, OLD), config(1, 2, NEW))).toBe(false)
  })

  it('has the voters of all its sets', () => {
    const joint = config(1, 2, OLD, NEW)
    expect(votersOf(joint)).toEqual(['a', 'b', 'c', 'd'])
    expect(votersOf(config(1, 1, OLD))).toBe(OLD)
    expect(['a', 'd', 'e'].map((node) => isVoter(joint, node))).toEqual([true, true, false])
  })

  it.each([
    [config(1, 1, OLD), ['a', 'b'], true],
    [config(1, 1, OLD), ['a', 'x', 'y'], false],
    [config(1, 1, ['a', 'b', 'c', 'd']), ['a', 'b'], false],
    [config(1, 2, OLD, NEW), ['a', 'b'], false],
    [config(1, 2, OLD, NEW), ['b', 'c'], true],
    [config(1, 2, OLD, NEW), ['a', 'b', 'd'], true],
  ])('needs a majority of every set: %j with %j is %j', (given, supporters, holds) => {
    expect(holdsMajorities(given, supporters)).toBe(holds)
  })
})

describe('a change of voters', () => {
  it('takes three renewals: the present voters again, both sets, the new set alone', () => {
    const steps: Configuration[] = [config(3, 5, OLD)]
    for (let step = 0; step < 4; step++) {
      steps.push(nextConfiguration(steps.at(-1) as Configuration, NEW, 7))
    }
    expect(steps.slice(1)).toEqual([
      config(7, 1, OLD),
      config(7, 2, OLD, NEW),
      config(7, 3, NEW),
      config(7, 3, NEW),
    ])
  })

  it('skips the first renewal if the leader wrote the present voters itself', () => {
    expect(nextConfiguration(config(7, 1, OLD), NEW, 7)).toEqual(config(7, 2, OLD, NEW))
  })

  it('that an earlier leader began is written again under the own epoch before it is completed', () => {
    const began = config(5, 2, OLD, NEW)
    const again = nextConfiguration(began, null, 7)
    expect(again).toEqual(config(7, 1, OLD, NEW))
    expect(nextConfiguration(again, null, 7)).toEqual(config(7, 2, NEW))
  })

  it('is none if the voters are as wanted, or nothing is wanted', () => {
    const present = config(3, 5, OLD)
    expect(nextConfiguration(present, OLD, 7)).toBe(present)
    expect(nextConfiguration(present, null, 7)).toBe(present)
  })

  it('writes the same voters again, once, if a voter has a newer configuration', () => {
    expect(nextConfiguration(config(3, 5, OLD), null, 7, true)).toEqual(config(7, 1, OLD))
    const mine = config(7, 1, OLD)
    expect(nextConfiguration(mine, null, 7, true)).toBe(mine)
  })

  it('never leaves two consecutive configurations without a common majority', () => {
    const subsets = (of: readonly string[]): readonly (readonly string[])[] =>
      Array.from({ length: 2 ** of.length }, (_, bits) => of.filter((_node, at) => (bits & (1 << at)) !== 0))
    const all = subsets(['a', 'b', 'c', 'd'])
    const steps = [config(3, 5, OLD), config(7, 1, OLD), config(7, 2, OLD, NEW), config(7, 3, NEW)]
    for (const [at, before] of steps.slice(0, -1).entries()) {
      const after = steps[at + 1] as Configuration
      for (const one of all.filter((set) => holdsMajorities(before, set)))
        for (const two of all.filter((set) => holdsMajorities(after, set)))
          expect(one.some((node) => two.includes(node))).toBe(true)
    }
  })
})
