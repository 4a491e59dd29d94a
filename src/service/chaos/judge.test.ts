import { describe, expect, it } from 'vitest'
import { countTerms, judge } from './judge.ts'

type Seen = Parameters<typeof judge>[0][number]

/** Parses lines in the format of the witness file: "a 1 100 begin". */
const lines = (...texts: readonly string[]): readonly Seen[] =>
  texts.map((text, index) => {
    const [id = '', token, pid, action] = text.split(' ')
    return { id, token: Number(token), pid: Number(pid), action: action ?? '', atMs: 10 * index }
  })

describe('judge', () => {
  it('accepts one command after the other', () => {
    expect(
      judge(lines('a 1 100 begin', 'a 1 100 on', 'a 1 100 end', 'b 2 200 begin', 'a 4 101 begin')),
    ).toEqual([])
  })

  it.each([
    [
      ['a 1 100 begin', 'b 2 200 begin', 'a 1 100 on', 'b 2 200 on'],
      "a's command (token 1, process 100) wrote after b's command (token 2, process 200) had started",
    ],
    [
      ['a 1 100 begin', 'b 1 200 begin'],
      "token 1 has two holders: a's command (token 1, process 100) and b's command (token 1, process 200)",
    ],
    [
      ['a 1 100 begin', 'a 1 101 begin'],
      "token 1 has two holders: a's command (token 1, process 100) and a's command (token 1, process 101)",
    ],
    [
      ['a 1 100 begin', 'b 2 200 begin', 'b 2 200 overlap'],
      "b's command (token 2, process 200) started while another command was still running",
    ],
    [
      ['a 1 100 begin', 'b 2 200 begin', 'b 2 200 overlap', 'b 2 200 alone'],
      "b's command (token 2, process 200) started while another command was still running for about 10 ms",
    ],
    [['a  100 begin'], "a's command (token 0, process 100) has an invalid token"],
  ])('rejects %j', (texts, problem) => {
    expect(judge(lines(...texts))).toEqual([problem])
  })
})

it.each([
  [[], 0],
  [['a 1 100 begin', 'a 1 100 on', 'a 1 100 end'], 1],
  [['a 1 100 begin', 'b 2 200 begin', 'a 3 101 begin', 'b 2 200 on'], 3],
])('counts the terms of %j', (texts, count) => {
  expect(countTerms(lines(...texts))).toBe(count)
})

it('reports each violation once, however often it is seen', () => {
  const late = ['a 1 100 begin', 'b 2 200 begin', 'a 1 100 on', 'a 1 100 on', 'a 1 100 on']
  expect(judge(lines(...late))).toHaveLength(1)
})

it('compares with the newest token, not with the last line', () => {
  expect(judge(lines('b 2 200 begin', 'a 1 100 begin', 'c 2 300 begin'))).toEqual([
    "a's command (token 1, process 100) wrote after b's command (token 2, process 200) had started",
    "token 2 has two holders: b's command (token 2, process 200) and c's command (token 2, process 300)",
  ])
})
