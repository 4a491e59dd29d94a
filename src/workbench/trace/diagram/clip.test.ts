import { describe, expect, it } from 'vitest'
import { clip, momentsOf } from './clip.ts'
import { describe as describeHistory } from './describe.ts'
import type { DiagramHistory, Flight, LanePeriod } from './history.ts'

const flight = (sentAt: number, endedAt: number | null, lost: Flight['lost'] = null): Flight => ({
  from: 1,
  to: 2,
  bodies: [{ kind: 'ping' }],
  kind: 'ping',
  sentAt,
  endedAt,
  lost,
})
const period = (from: number, until: number, state: LanePeriod['state'], text: string): LanePeriod => ({
  node: 1,
  from,
  until,
  state,
  text,
})
const HISTORY: DiagramHistory = {
  nodes: [1, 2],
  timed: true,
  begin: 0,
  end: 10_000,
  flights: [flight(1000, 2000), flight(3000, 6000), flight(7000, null), flight(8000, 8000, 'chance')],
  periods: [
    period(0, 4000, 'leaderless', 'no leader'),
    period(4000, 9000, 'leads', 'leads'),
    period(9000, 10_000, 'down', 'down'),
  ],
  stalls: [{ node: 2, from: 2000, until: 5000, word: 'paused' }],
  marks: [
    { node: 1, at: 500, type: 'timer', text: 't' },
    { node: 1, at: 9000, type: 'crash', text: 'crash' },
  ],
  notices: [{ at: 5000, text: 'cut 1–2' }],
}

describe('a window of a history', () => {
  const { flights, periods, stalls, marks, notices, begin, end } = clip(HISTORY, 4000, 7500)

  it('keeps messages that cross its border, with their true ends', () => {
    expect(flights).toEqual([flight(3000, 6000), flight(7000, null)])
  })
  it('cuts states and stalls off at its border', () => {
    expect(periods).toEqual([period(4000, 7500, 'leads', 'leads')])
    expect(stalls).toEqual([{ node: 2, from: 4000, until: 5000, word: 'paused' }])
  })
  it('drops events outside', () => {
    expect([marks, notices]).toEqual([[], HISTORY.notices])
  })
  it('never exceeds the history', () => {
    expect([begin, end]).toEqual([4000, 7500])
    expect(clip(HISTORY, -5, 99_999)).toEqual(HISTORY)
  })
})

describe('the moments of a history', () => {
  it('are sorted and distinct, with the first and the last', () => {
    expect(momentsOf(HISTORY)).toEqual([0, 500, 1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000, 10_000])
  })
  it('exclude the ends of messages outside the window', () => {
    expect(momentsOf(clip(HISTORY, 4000, 5500))).toEqual([4000, 5000, 5500])
  })
})

describe('the description for screen readers', () => {
  it('lists the events in order', () => {
    expect(describeHistory(HISTORY)).toBe(
      'A space-time diagram from 0 ms to 10 ms: time runs downwards, one lane per node (1, 2). ' +
        '4 messages are drawn, 1 of them lost. At 0 ms, 1: no leader. At 0.5 ms, 1: timer t. ' +
        'At 4 ms, 1: leads. At 5 ms, cut 1–2. At 9 ms, 1: crash.',
    )
  })
  it('counts steps in an untimed world', () => {
    expect(describeHistory({ ...HISTORY, timed: false })).toContain('from step 0 to step 10')
  })
  it('counts the events that it leaves out', () => {
    const marks = Array.from({ length: 70 }, (_, at) => ({
      node: 1,
      at,
      type: 'timer' as const,
      text: 't',
    }))
    const text = describeHistory({ ...HISTORY, periods: [], notices: [], marks })
    expect(text).toMatch(/10 more events follow\.$/)
    expect(text.match(/At /g)).toHaveLength(60)
  })
})
