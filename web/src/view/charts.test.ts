import { expect, it } from 'vitest'
import { chartsOf, isolatedIn, marksUpTo, timesShown } from './charts.ts'
import { measured, statusWith } from './fixture.ts'

const sample = (second: number, change: object = {}) => ({
  at: new Date(1000 * second).toISOString(),
  rttMs: 1,
  latenessMs: 2,
  delayMs: 3,
  renewalMarginMs: null,
  failoverMs: null,
  ...change,
})

it('has a series for each chart, with the limits that the values are compared with', () => {
  const charts = chartsOf([sample(10), sample(15, { failoverMs: 200 }), sample(20)], statusWith({ measured }))
  expect(charts.map(({ name, newestMs, limit }) => [name, newestMs, limit?.ms ?? null])).toEqual([
    ['failoverMs', 200, null],
    ['rttMs', 1, null],
    ['renewalMarginMs', null, 40],
    ['latenessMs', 2, 30],
  ])
  expect(charts[0]).toMatchObject({ times: [10, 15, 20], values: [null, 200, null], arePoints: true })
})

it.each([
  [1.15, [0, 1]],
  [4.9, [0, 2]],
  [6, [0, 5]],
  [345, [0, 200]],
])('marks 0 and a round number up to %d', (most, marks) => {
  expect(marksUpTo(most)).toEqual(marks)
})

it('shows nothing where nothing was measured', () => {
  const noLease = statusWith({ leader: { id: 'a', token: 1, expiresInMs: null } })
  expect(chartsOf([], noLease).map(({ newestMs, limit }) => [newestMs, limit])).toEqual([
    [null, null],
    [null, null],
    [null, null],
    [null, null],
  ])
  expect(chartsOf([], null)).toHaveLength(4)
})

it('shows half a minute around a single sample, and a point for a value that no line shows', () => {
  expect(timesShown(100, 100)).toEqual([85, 115])
  expect(timesShown(100, 160)).toEqual([100, 160])
  expect(isolatedIn([3])).toEqual([0])
  expect(isolatedIn([null, 3, null, 4, 5, null, 0])).toEqual([1, 6])
  expect(isolatedIn([1, 2])).toEqual([])
})

it('says that only the leader measures its margin, except to the leader', () => {
  const whyEmpty = (role: 'leader' | 'follower'): string | undefined =>
    chartsOf([], statusWith({ self: { id: 'a', role } }))[2]?.whyEmpty
  expect([whyEmpty('follower'), whyEmpty('leader')]).toEqual([
    'Only the leader measures this.',
    'Nothing measured yet.',
  ])
  const noLease = statusWith({ leader: { id: 'a', token: 1, expiresInMs: null } })
  expect(chartsOf([], noLease)[2]?.whyEmpty).toBe('This protocol has no leases.')
})
