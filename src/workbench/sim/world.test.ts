/** The timed world's effect on its nodes, with a protocol whose behaviour the scenario dictates. */
import { describe, expect, it } from 'vitest'
import { probeDefinition } from '../../../test/support/probe.ts'
import type { Effect, Plain, PlainObject } from '../../core/index.ts'
import { persist, send, setTimer, stopTimer } from '../../core/index.ts'
import type { TraceRecord } from '../trace/index.ts'
import { parseScenario, runScenario } from './index.ts'

const lookup = { names: ['probe'], find: () => probeDefinition }

type Got = { readonly atMs: number; readonly node: Plain; readonly what: Plain; readonly now: Plain }

/** All inputs of nodes, in order, with true times. */
function gotten(file: PlainObject): readonly Got[] {
  const records: TraceRecord[] = []
  const scenario = parseScenario({ protocol: 'probe', nodes: [1, 2, 3], untilMs: 1000, ...file }, lookup)
  runScenario(probeDefinition, scenario, { record: (record) => records.push(record) })
  return records.flatMap((record): Got[] => {
    if (record.type !== 'start' && record.type !== 'step') return []
    return record.effects.flatMap((effect): Got[] => {
      if (effect.type !== 'output' || effect.event.type === 'started') return []
      const { input, now } = effect.event as unknown as { input: PlainObject; now: number }
      const what =
        input['type'] === 'message' ? (input['body'] as PlainObject)['text'] : (input['name'] ?? input['by'])
      return [{ atMs: record.at / 1000, node: record.node, what: what ?? null, now }]
    })
  })
}

const note = (to: number, text: string, kind = 'note'): Effect => send(to, { kind, text })
const act = (atMs: number, node: number, ...effects: Effect[]): PlainObject => ({
  atMs,
  command: { node, do: 'act', effects },
})
const brief = (got: readonly Got[]): readonly Plain[] => got.map(({ atMs, node, what }) => [atMs, node, what])
const FIXED = { delayMs: 5 }

describe('messages', () => {
  it('arrive after their delay, within its range', () => {
    expect(brief(gotten({ network: FIXED, events: [act(10, 1, note(2, 'a'), note(3, 'b'))] }))).toEqual([
      [15, 2, 'a'],
      [15, 3, 'b'],
    ])
    const notes = Array.from({ length: 200 }, (_, index) => note(2, String(index)))
    const got = gotten({ network: { delayMs: [5, 9] }, events: [act(10, 1, ...notes)] })
    expect(got).toHaveLength(200)
    expect(Math.min(...got.map(({ atMs }) => atMs))).toBeLessThan(15.2)
    expect(Math.max(...got.map(({ atMs }) => atMs))).toBeGreaterThan(18.8)
    expect(got.every(({ atMs }) => atMs >= 15 && atMs <= 19)).toBe(true)
  })

  it('may overtake each other, unless links keep their order', () => {
    const notes = Array.from({ length: 30 }, (_, index) => note(2, String(index).padStart(2, '0')))
    const order = (fifo: boolean): readonly Plain[] =>
      gotten({ network: { delayMs: [1, 50], fifo }, events: [act(10, 1, ...notes)] }).map(({ what }) => what)
    const sent = notes.map((_, index) => String(index).padStart(2, '0'))
    expect(order(false)).not.toEqual(sent)
    expect(order(true)).toEqual(sent)
  })

  it('are lost and doubled as often as the scenario says', () => {
    const notes = Array.from({ length: 2000 }, (_, index) => note(2, String(index)))
    const count = (network: PlainObject): number => gotten({ network, events: [act(10, 1, ...notes)] }).length
    expect(count({ loss: 1 })).toBe(0)
    expect(count({ duplicate: 1 })).toBe(4000)
    expect(count({ loss: 0.3 })).toBeGreaterThan(1250)
    expect(count({ loss: 0.3 })).toBeLessThan(1550)
  })

  it('obey the first rule that fits', () => {
    const rules = [
      { from: 1, to: 3, drop: true },
      { kind: 'other', delayMs: 100 },
      { from: 1, delayMs: 7 },
    ]
    const events = [act(10, 1, note(2, 'a'), note(3, 'b'), note(2, 'c', 'other')), act(10, 2, note(1, 'd'))]
    expect(brief(gotten({ network: { ...FIXED, rules }, events }))).toEqual([
      [15, 1, 'd'],
      [17, 2, 'a'],
      [110, 2, 'c'],
    ])
  })
})

describe('links', () => {
  const tick = (atMs: number): readonly PlainObject[] => [
    act(atMs, 1, note(2, `1-2 ${atMs}`)),
    act(atMs, 2, note(1, `2-1 ${atMs}`), note(3, `2-3 ${atMs}`)),
  ]
  const texts = (events: readonly PlainObject[], more: PlainObject = {}): readonly Plain[] =>
    gotten({ network: FIXED, events, ...more })
      .map(({ what }) => what as string)
      .toSorted((a, b) => (a < b ? -1 : 1))

  it('are cut and healed, both ways or one', () => {
    expect(texts([{ atMs: 1, cut: [[1, 2]] }, ...tick(10)])).toEqual(['2-3 10'])
    expect(texts([{ atMs: 1, cutOneWay: [[1, 2]] }, ...tick(10)])).toEqual(['2-1 10', '2-3 10'])
    expect(texts([{ atMs: 1, cut: [[1, 2]] }, { atMs: 2, heal: [[2, 1]] }, ...tick(10)])).toHaveLength(3)
  })

  it('are split by a partition; unnamed nodes form one more block', () => {
    expect(texts([{ atMs: 1, partition: [[1], [2, 3]] }, ...tick(10)])).toEqual(['2-3 10'])
    expect(texts([{ atMs: 1, partition: [[1]] }, ...tick(10)])).toEqual(['2-3 10'])
    expect(texts([{ atMs: 1, partition: [[1]] }, { atMs: 2, heal: 'all' }, ...tick(10)])).toHaveLength(3)
  })

  it('form the graph that was given, and healing everything restores that graph', () => {
    const links = [[1, 2]]
    expect(texts(tick(10), { links })).toEqual(['1-2 10', '2-1 10'])
    expect(texts([{ atMs: 1, cut: [[1, 2]] }, { atMs: 2, heal: 'all' }, ...tick(10)], { links })).toEqual([
      '1-2 10',
      '2-1 10',
    ])
    expect(texts([{ atMs: 1, links: [[2, 3]] }, ...tick(10)], { links })).toEqual(['2-3 10'])
  })

  it('let through what is already on its way when they are cut', () => {
    expect(texts([...tick(10), { atMs: 12, cut: [[1, 2]] }])).toHaveLength(3)
  })

  it('can be slow until they are healed', () => {
    const events = [
      { atMs: 1, slow: [[1, 2]], delayMs: [50, 50] },
      act(10, 1, note(2, 'slow')),
      { atMs: 20, heal: [[1, 2]] },
      act(21, 1, note(2, 'quick')),
    ]
    expect(brief(gotten({ network: FIXED, events }))).toEqual([
      [26, 2, 'quick'],
      [60, 2, 'slow'],
    ])
  })
})

describe('timers', () => {
  it('fire once, at their time; setting one again replaces it; a stopped one never fires', () => {
    const events = [
      act(10, 1, setTimer('a', 20_000), setTimer('b', 30_000), setTimer('c', 40_000)),
      act(15, 1, setTimer('a', 50_000), stopTimer('b')),
      act(16, 1, setTimer('c', 1000)),
    ]
    expect(brief(gotten({ events }))).toEqual([
      [17, 1, 'c'],
      [65, 1, 'a'],
    ])
  })

  it('with a range fire somewhere within it', () => {
    const names = Array.from({ length: 100 }, (_, index) => String(index))
    const got = gotten({ events: [act(10, 1, ...names.map((name) => setTimer(name, [5000, 25_000])))] })
    expect(got).toHaveLength(100)
    expect(got.every(({ atMs }) => atMs >= 15 && atMs <= 35)).toBe(true)
    expect(new Set(got.map(({ atMs }) => atMs)).size).toBeGreaterThan(50)
  })

  it("run on the node's own clock, which drifts", () => {
    const events = [1, 2, 3].map((node) => act(0, node, setTimer('t', 900_000_000)))
    const drifting = gotten({ clocks: { driftPpm: 1000 }, events, untilMs: 1_000_000 })
    expect(new Set(drifting.map(({ atMs }) => atMs)).size).toBe(3)
    for (const { atMs } of drifting) expect(Math.abs(atMs - 900_000)).toBeLessThan(901)
    const exact = gotten({ events, untilMs: 1_000_000 })
    expect(exact.map(({ atMs }) => atMs)).toEqual([900_000, 900_000, 900_000])
    expect(new Set(exact.map(({ now }) => now)).size).toBe(3)
  })
})

describe('a pause', () => {
  const events = [
    act(10, 1, setTimer('t', 20_000)),
    { atMs: 12, pause: 1, forMs: 100 },
    act(20, 2, note(1, 'early')),
    act(200, 2, note(1, 'late')),
  ]
  it('holds everything back while the clock runs on; then timers come first', () => {
    expect(brief(gotten({ network: FIXED, events }))).toEqual([
      [112, 1, 't'],
      [112, 1, 'early'],
      [205, 1, 'late'],
    ])
  })

  it('keeps the order of a link to the last instant of it', () => {
    const notes = [act(0, 2, note(1, 'first')), act(5, 2, note(1, 'second')), { atMs: 4, pause: 1, forMs: 6 }]
    const got = gotten({ network: { delayMs: 5, fifo: true }, events: notes })
    expect(brief(got)).toEqual([
      [10, 1, 'first'],
      [10, 1, 'second'],
    ])
  })

  it('that stopped the clock ends with a crash: the clock of a recovered node runs', () => {
    const crashed = [
      { atMs: 10, suspend: 1, forMs: 800 },
      { atMs: 20, crash: 1 },
      { atMs: 30, recover: 1 },
      act(40, 1, setTimer('t', 50_000)),
    ]
    expect(brief(gotten({ events: crashed }))).toEqual([[90, 1, 't']])
  })

  it('holds commands back as well', () => {
    const paused = [{ atMs: 5, pause: 1, forMs: 100 }, act(10, 1, note(2, 'late'))]
    expect(brief(gotten({ network: FIXED, events: paused }))).toEqual([[110, 2, 'late']])
  })

  it('becomes a suspend when the clock stops too: then the timer has not expired, and the first input says so', () => {
    const suspended = events.map((event) =>
      'pause' in event ? { atMs: event['atMs'] as number, suspend: 1, forMs: 100 } : event,
    )
    const got = gotten({ network: FIXED, events: suspended })
    expect(brief(got)).toEqual([
      [112, 1, 100_000],
      [112, 1, 'early'],
      [130, 1, 't'],
      [205, 1, 'late'],
    ])
    expect((got[2]?.now as number) - (got[1]?.now as number)).toBe(18_000)
  })

  it('may be followed by a crash, which loses what was held back', () => {
    const crash = [...events, { atMs: 50, crash: 1 }, { atMs: 60, recover: 1 }]
    expect(brief(gotten({ network: FIXED, events: crash }))).toEqual([[205, 1, 'late']])
  })
})

describe('a crash', () => {
  const outcome = (events: readonly PlainObject[]) => {
    const records: TraceRecord[] = []
    const scenario = parseScenario(
      { protocol: 'probe', nodes: [1, 2], network: FIXED, events, untilMs: 1000 },
      lookup,
    )
    runScenario(probeDefinition, scenario, { record: (record) => records.push(record) })
    const restarts = records.filter((record) => record.type === 'start' && record.at > 0)
    return { records, stable: restarts.map((record) => ('stable' in record ? record.stable : null)) }
  }

  it('leaves only what was persisted last', () => {
    const { stable } = outcome([
      act(10, 1, persist('old'), persist('new')),
      { atMs: 20, crash: 1 },
      { atMs: 30, recover: 1 },
    ])
    expect(stable).toEqual(['new'])
  })

  it('stops timers, and messages to it are lost', () => {
    const events = [
      act(10, 1, setTimer('t', 50_000)),
      act(18, 2, note(1, 'lost')),
      { atMs: 20, crash: 1 },
      { atMs: 30, recover: 1 },
      act(40, 2, note(1, 'heard')),
    ]
    expect(brief(gotten({ network: FIXED, events }))).toEqual([[45, 1, 'heard']])
    expect(outcome(events).records).toContainEqual({ type: 'lost', at: 23_000, message: 0, why: 'down' })
  })

  it('may fall after any prefix of the effects of a step', () => {
    for (const afterEffects of [0, 1, 2, 3]) {
      const { records, stable } = outcome([
        { atMs: 5, crash: 1, afterEffects },
        act(10, 1, note(2, 'a'), persist('noted'), note(2, 'b')),
        { atMs: 30, recover: 1 },
      ])
      const heard = records.flatMap((record) =>
        record.type === 'step' && record.input.type === 'message' ? [record.input.body['text']] : [],
      )
      expect(heard).toEqual([['a'], ['a'], ['a', 'b']].at(afterEffects - 1)?.slice(0, afterEffects))
      expect(stable).toEqual(afterEffects === 3 ? [] : [afterEffects >= 2 ? 'noted' : null])
    }
  })
})
