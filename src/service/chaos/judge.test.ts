import { describe, expect, it } from 'vitest'
import { judge } from './judge.ts'
import type { Line } from './witness.ts'

type Seen = Pick<Line, 'id' | 'token' | 'pid' | 'did' | 'atMs'>

/** Lines as in the file: "a 1 100 begin". */
const lines = (...texts: readonly string[]): readonly Seen[] =>
  texts.map((text, place) => {
    const [id = '', token, pid, did] = text.split(' ')
    return { id, token: Number(token), pid: Number(pid), did: did as Line['did'], atMs: 10 * place }
  })

describe('the judge', () => {
  it('has nothing to say of one command after the other', () => {
    expect(
      judge(lines('a 1 100 begin', 'a 1 100 on', 'a 1 100 end', 'b 2 200 begin', 'a 4 101 begin')),
    ).toEqual([])
  })

  it.each([
    [
      ['a 1 100 begin', 'b 2 200 begin', 'a 1 100 on', 'b 2 200 on'],
      "a's command (token 1, process 100) wrote after b's command (token 2, process 200) had begun",
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
      "b's command (token 2, process 200) began while another command was still there",
    ],
    [
      ['a 1 100 begin', 'b 2 200 begin', 'b 2 200 overlap', 'b 2 200 alone'],
      "b's command (token 2, process 200) began while another command was still there, for about 10 ms more",
    ],
    [['a  100 begin'], "a's command (token 0, process 100) has no proper token"],
  ])('objects to %j', (texts, problem) => {
    expect(judge(lines(...texts))).toEqual([problem])
  })
})
