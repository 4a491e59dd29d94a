import { expect, it } from 'vitest'
import type { LeaseSpan } from '../../engine/picture.ts'
import { sentenceOf } from '../panels/lease-panel.tsx'
import { leaseBars, leaseLeft } from './leases.ts'

const span = (from: number, to: number, until: number, believed = until, token = 1): LeaseSpan => ({
  from,
  to,
  until,
  believed,
  token,
})

it('joins the renewals of one lease to one bar', () => {
  const bars = leaseBars([span(0, 400, 1000), span(400, 800, 1400), span(800, 1800, 1800)], 0, 5000)
  expect(bars).toEqual([{ from: 0, until: 1800, believed: 1800, token: 1, renewals: [400, 800] }])
})

it('starts another bar for another token, and after an end', () => {
  const bars = leaseBars(
    [span(0, 1000, 1000), span(2000, 3000, 3000), span(3000, 4000, 4000, 4000, 2)],
    0,
    5000,
  )
  expect(bars.map(({ from }) => from)).toEqual([0, 2000, 3000])
})

it('shows how far the belief of the holder reaches beyond the lease', () => {
  const [bar] = leaseBars([span(0, 2500, 1000, 2500)], 0, 5000)
  expect(bar).toMatchObject({ until: 1000, believed: 2500 })
})

it('leaves out what ended before the range', () => {
  const spans = Array.from({ length: 100 }, (_, place) => span(place * 10, place * 10 + 5, place * 10 + 5))
  expect(leaseBars(spans, 900, 950).length).toBeLessThan(10)
})

it('says in a sentence what the holder believes', () => {
  const text = (at: number, until: number, believed: number): string =>
    sentenceOf({ node: 1 }, leaseLeft(span(0, 9_000_000, until, believed), at))
  expect(text(1000, 100_000, 100_000)).toBe('Node 1 and all others agree on the end of the lease.')
  expect(text(1000, 100_000, 150_000)).toBe(
    'Node 1 will believe that it leads for 50 ms after its lease has ended.',
  )
  expect(text(120_000, 100_000, 150_000)).toBe(
    'The lease has ended for all others, but node 1 believes that it still leads.',
  )
  expect(text(1000, 100_000, 80_000)).toBe('Node 1 stops 20 ms before its lease ends for all others.')
})
