import { expect, it } from 'vitest'
import { RecentWarnings } from './warnings.ts'

type Warning = { readonly what: string; readonly detail: string }

function opened(): { readonly warnings: RecentWarnings; readonly emitted: Warning[] } {
  const emitted: Warning[] = []
  let now = Date.UTC(2026, 0, 1)
  const warnings = new RecentWarnings(
    (warning) => emitted.push(warning),
    () => (now += 1000),
  )
  return { warnings, emitted }
}

it('holds warnings back until the caller of join can listen', () => {
  const { warnings, emitted } = opened()
  warnings.add('peers', 'b cannot be resolved')
  expect(emitted).toEqual([])
  expect(warnings.list()).toHaveLength(1)
  warnings.open()
  warnings.add('clock', 'was set')
  expect(emitted.map(({ what }) => what)).toEqual(['peers', 'clock'])
})

it('lists the newest first, and a repeated warning once with its count and its newest text', () => {
  const { warnings } = opened()
  warnings.add('late', 'by 20 ms')
  warnings.add('key', 'b uses another key (1 datagram)')
  warnings.add('late', 'by 90 ms')
  warnings.add('key', 'b uses another key (12 datagrams)')
  warnings.add('key', 'c uses another key (1 datagram)')
  expect(warnings.list().map(({ what, detail, count }) => [what, detail, count])).toEqual([
    ['key', 'c uses another key (1 datagram)', 1],
    ['key', 'b uses another key (12 datagrams)', 2],
    ['late', 'by 90 ms', 2],
  ])
  expect(warnings.list()[0]?.at).toBe('2026-01-01T00:00:05.000Z')
})

it('keeps fifty', () => {
  const { warnings } = opened()
  for (let each = 0; each < 80; each++) warnings.add('peers', `peer ${each}`)
  expect(warnings.list()).toHaveLength(50)
  expect(warnings.list().at(-1)?.detail).toBe('peer 30')
})
