import { expect, it } from 'vitest'
import { ZERO } from './block.ts'
import { calls } from './calls.ts'

const call = calls({ self: 'b', nodes: ['a', 'b', 'c'] })

it('numbers the calls of a round, and finds the round of a reply', () => {
  expect(call.reads(2, ['a', 'c'])).toEqual([
    { type: 'register', call: { id: 2 * 2 ** 14, op: 'read', of: 'a' } },
    { type: 'register', call: { id: 2 * 2 ** 14 + 2, op: 'read', of: 'c' } },
  ])
  expect(call.roundOf({ id: 2 * 2 ** 14 + 2, op: 'read', of: 'c' })).toBe(2)
  expect(call.roundOf({ id: 3 * 2 ** 14, op: 'read', of: 'a' })).toBe(3)
})

it('writes its own register, and buries another', () => {
  expect(call.write(1, ZERO)).toEqual({
    type: 'register',
    call: { id: 2 ** 14 + 1, op: 'write', value: ZERO },
  })
  expect(call.bury(1, 'c', null)).toEqual({
    type: 'register',
    call: { id: 2 ** 14 + 2, op: 'bury', of: 'c', value: null },
  })
})
