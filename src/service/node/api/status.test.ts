import { expect, it } from 'vitest'
import type { Output } from '../../../core/index.ts'
import { installedView } from './status.ts'

it('lists the members of an installed view with their incarnations, and who joined and left', () => {
  const event = {
    event: 'view',
    id: [4, 'a'],
    members: [
      ['a', 1],
      ['b', 3],
    ],
    joined: [['b', 3]],
    left: [
      ['b', 2],
      ['c', 1],
    ],
  } as unknown as Output
  // b came back with a new incarnation: it left and joined.
  expect(installedView(event)).toEqual({
    id: [4, 'a'],
    members: ['a', 'b'],
    incarnations: [1, 3],
    joined: ['b'],
    left: ['b', 'c'],
  })
})
