import { expect, it } from 'vitest'
import { NewOutputs } from './new-outputs.ts'

const listOf = (...seqs: readonly number[]) => seqs.map((seq) => ({ seq, output: `output ${seq}` }))

it('prints every output once, in whichever order the job emits them', () => {
  const outputs = new NewOutputs()
  const select = (...seqs: readonly number[]): readonly number[] =>
    outputs.select({ submission: 'a', outputs: listOf(...seqs) }).map(({ seq }) => seq)
  expect(select(5, 6)).toEqual([5, 6])
  expect(select(1, 5, 6)).toEqual([1])
  expect(select(1, 2, 5, 6, 9)).toEqual([2, 9])
  expect(select(1, 2, 5, 6, 9)).toEqual([])
})

it('prints the outputs of the next job of the name from the beginning', () => {
  const outputs = new NewOutputs()
  outputs.select({ submission: 'a', outputs: listOf(1, 2, 3) })
  expect(outputs.select({ submission: 'b', outputs: listOf(1) })).toEqual(listOf(1))
  expect(outputs.select({ submission: 'b', outputs: listOf(1, 2) })).toEqual(listOf(2))
})
