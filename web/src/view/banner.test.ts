import { expect, it } from 'vitest'
import { type Banner, bannerOf, LADDER, LEVEL_NAMES } from './banner.ts'

it.each<[Banner['level'] & ('healthy' | 'at-risk' | 'no-leader' | 'alarm'), string, string, string]>([
  ['healthy', 'healthy: a leads g', 'Healthy', 'a leads g'],
  ['at-risk', 'at risk: a leads g; b is unreachable', 'At risk', 'a leads g; b is unreachable'],
  [
    'no-leader',
    'no leader in g for 1.2 s: 1 of 3 voters is reachable',
    'No leader',
    'in g for 1.2 s: 1 of 3 voters is reachable',
  ],
  ['alarm', 'SAFETY ALARM in g: two leaders', 'SAFETY ALARM', 'in g: two leaders'],
])('says the level %s once', (level, banner, word, rest) => {
  expect(bannerOf({ level, banner })).toEqual({ level, word, rest })
})

it('shows a sentence of another version as it is', () => {
  expect(bannerOf({ level: 'healthy', banner: 'tout va bien' }).rest).toBe('tout va bien')
})

it('has a word for each step of the ladder', () => {
  expect(LADDER.map((level) => LEVEL_NAMES[level])).toEqual([
    'Healthy',
    'Degraded',
    'At risk',
    'No leader',
    'SAFETY ALARM',
  ])
})
