import { expect, it } from 'vitest'
import { outputAt, viewAt } from '../../../test/support/traces.ts'
import { EpochWinners } from './epoch-winners.ts'

const learned = (node: number, epoch: number, leader: number) =>
  outputAt(0, node, { type: 'learned', epoch, leader })
const winnersOf = (...seen: readonly Parameters<EpochWinners['observe']>[0][]) => {
  const winners = new EpochWinners()
  for (const each of seen) winners.observe(each)
  return winners.byEpoch()
}

it('lists the leader of each epoch, in the order of epochs', () => {
  expect(Object.entries(winnersOf(learned(2, 9, 2), learned(1, 4, 1)))).toEqual([
    ['4', 1],
    ['9', 2],
  ])
})

it('believes only the node that has won', () => {
  expect(winnersOf(learned(1, 4, 2), outputAt(0, 2, { type: 'elected' }), viewAt(0, 2, 'leader'))).toEqual({})
})

it('keeps the first of two leaders', () => {
  expect(winnersOf(learned(1, 4, 1), learned(2, 4, 2))).toEqual({ 4: 1 })
})
