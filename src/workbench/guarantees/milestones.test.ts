import { expect, it } from 'vitest'
import type { Milestone } from '../../protocols/index.ts'
import { rowOf } from './milestones.ts'

const milestone: Milestone = { name: 'acts', output: 'elected', computed: { typical: 50, worst: 100 } }

it('a row has the median and the maximum beside the bounds', () => {
  expect(rowOf(milestone, [90, 30, 60])).toEqual({
    name: 'acts',
    typical: 50,
    worst: 100,
    runs: 3,
    median: 60,
    most: 90,
    exceeded: false,
  })
  expect(rowOf(milestone, [90, 30, 60, 40]).median).toBe(40)
})

it('a bound is exceeded by a later time, or if the milestone never came', () => {
  expect(rowOf(milestone, [30, 100]).exceeded).toBe(false)
  expect(rowOf(milestone, [30, 101]).exceeded).toBe(true)
  expect(rowOf(milestone, [30, 0]).exceeded).toBe(true)
})

it('a row without runs has no times', () => {
  expect(rowOf(milestone, [])).toMatchObject({ runs: 0, median: 0, most: 0, exceeded: false })
})
