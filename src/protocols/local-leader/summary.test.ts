import { describe, expect, it } from 'vitest'
import { summaryOf } from './summary.ts'

const reply = (votes: readonly { readonly node: number; readonly support: boolean }[]) =>
  summaryOf({ kind: 'Reply', candidate: 1, votes: [...votes], promised: { number: 3, owner: 4 } })

describe('the words for a Reply', () => {
  it('name who supports and who refuses a candidate', () => {
    expect(reply([{ node: 2, support: true }])).toEqual({ words: '2 supports 1', isRoutine: true })
    expect(reply([{ node: 2, support: false }])).toEqual({
      words: '2 refuses 1, promised to 4 in epoch 3',
      isRoutine: false,
    })
  })

  it('say what a Reply without a vote is for', () => {
    expect(reply([])).toEqual({ words: 'names the voters', isRoutine: true })
  })
})
