import { expect, it } from 'vitest'
import { compareIds, sortIds, withId, withoutId } from './ids.ts'

it('orders numbers by value, strings by code unit, numbers first', () => {
  expect(sortIds(['b', 10, 'a', 9])).toEqual([9, 10, 'a', 'b'])
  expect(compareIds(2, 2)).toBe(0)
  expect(compareIds('a', 1)).toBe(1)
})

it('keeps sets sorted, and the same when nothing changes', () => {
  const set = [1, 3]
  expect(withId(set, 2)).toEqual([1, 2, 3])
  expect(withId(set, 3)).toBe(set)
  expect(withoutId(set, 1)).toEqual([3])
  expect(withoutId(set, 7)).toBe(set)
})
