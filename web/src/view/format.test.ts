import { describe, expect, it } from 'vitest'
import { formatAgo, formatMs, formatTime, plural } from './format.ts'

describe('durations', () => {
  it.each([
    [null, '–'],
    [0, '0.0 ms'],
    [0.44, '0.4 ms'],
    [9.94, '9.9 ms'],
    [9.96, '10 ms'],
    [83.4, '83 ms'],
    [999.4, '999 ms'],
    [999.6, '1.0 s'],
    [12_340, '12.3 s'],
    [59_960, '1 min'],
    [200_000, '3 min 20 s'],
    [7_500_000, '2 h 5 min'],
    [7_200_000, '2 h'],
    [273_600_000, '3 d 4 h'],
  ])('%s ms is %s', (ms, text) => {
    expect(formatMs(ms)).toBe(text)
  })

  it('are ages, but never in the future', () => {
    expect([formatAgo(1200), formatAgo(-3), formatAgo(null)]).toEqual(['1.2 s ago', '0.0 ms ago', 'never'])
  })
})

it('shows the time of day to the millisecond', () => {
  expect(formatTime(new Date(2030, 0, 2, 3, 4, 5, 67).getTime())).toBe('03:04:05.067')
})

it('counts in words', () => {
  expect([plural(1, 'event'), plural(2, 'event')]).toEqual(['1 event', '2 events'])
})
