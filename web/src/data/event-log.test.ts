import { expect, it } from 'vitest'
import { LOG_LIMIT, PageLog } from './event-log.ts'

const entry = (text: string) => ({ atMs: 0, kind: 'page', node: null, text }) as const

it('keeps the newest entries, and their numbers', () => {
  const log = new PageLog()
  for (let round = 0; round < 50; round += 1)
    log.add(Array.from({ length: 1000 }, (_, index) => entry(`${1000 * round + index}`)))
  expect(log.entries.length).toBeGreaterThanOrEqual(LOG_LIMIT)
  expect(log.entries.length).toBeLessThanOrEqual(LOG_LIMIT + 1000)
  expect(log.entries.at(-1)).toMatchObject({ number: 50_000, text: '49999' })
  log.clear()
  log.add([entry('next')])
  expect(log.entries).toMatchObject([{ number: 50_001, text: 'next' }])
})
