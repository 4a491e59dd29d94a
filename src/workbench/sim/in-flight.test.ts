/** Events that name a message in flight, in a world whose nodes do what the scenario dictates. */
import { describe, expect, it } from 'vitest'
import { probeDefinition } from '../../../test/support/probe.ts'
import type { Effect, Plain, PlainObject } from '../../core/index.ts'
import { define, send } from '../../core/index.ts'
import type { TraceRecord } from '../trace/index.ts'
import { parseScenario, runScenario } from './index.ts'

function recordsOf(file: PlainObject, definition = probeDefinition): readonly TraceRecord[] {
  const lookup = { names: ['probe'], find: () => definition }
  const records: TraceRecord[] = []
  const scenario = parseScenario({ protocol: 'probe', nodes: [1, 2, 3], untilMs: 1000, ...file }, lookup)
  runScenario(definition, scenario, { record: (record) => records.push(record) })
  return records
}

/** What arrived where and when, and what was lost. */
function fates(file: PlainObject): readonly Plain[] {
  return recordsOf({ network: { delayMs: 50 }, ...file }).flatMap((record): Plain[] => {
    if (record.type === 'lost') return [[record.at / 1000, 'lost', record.message, record.why]]
    if (record.type !== 'step' || record.input.type !== 'message') return []
    return [[record.at / 1000, record.node, record.input.body['text'] ?? null]]
  })
}

const note = (to: number, text: string): Effect => send(to, { kind: 'note', text })
const act = (atMs: number, node: number, ...effects: Effect[]): PlainObject => ({
  atMs,
  command: { node, do: 'act', effects },
})
const THREE = act(10, 1, note(2, 'a'), note(2, 'b'), note(3, 'c'))

describe('a message in flight', () => {
  it('is dropped', () => {
    expect(fates({ events: [THREE, { atMs: 20, drop: 1 }] })).toEqual([
      [20, 'lost', 1, 'dropped'],
      [60, 2, 'a'],
      [60, 3, 'c'],
    ])
  })

  it('is delayed, and may be overtaken', () => {
    expect(fates({ events: [THREE, { atMs: 20, delay: 0, forMs: 30 }] })).toEqual([
      [60, 2, 'b'],
      [60, 3, 'c'],
      [90, 2, 'a'],
    ])
  })

  it('is copied to a loaded node, which handles the copy late too', () => {
    const load = { atMs: 15, load: [2], lateMs: 30 }
    expect(fates({ events: [act(10, 1, note(2, 'a')), load, { atMs: 20, copy: 0 }] })).toEqual([
      [60, 2, 'a'],
      [100, 2, 'a'],
    ])
    const exact = { atMs: 20, copy: 0, afterMs: 5 }
    expect(fates({ events: [act(10, 1, note(2, 'a')), load, exact] })).toEqual([
      [60, 2, 'a'],
      [65, 2, 'a'],
    ])
  })

  it('is copied behind the messages that load delays, on a link that keeps its order', () => {
    const events = [
      { atMs: 5, load: [2], lateMs: 200 },
      act(10, 1, note(2, 'a')),
      { atMs: 15, load: 'all', lateMs: 0 },
      act(20, 1, note(2, 'b')),
      { atMs: 30, copy: 1 },
    ]
    expect(fates({ network: { delayMs: 50, fifo: true }, events })).toEqual([
      [260, 2, 'a'],
      [260, 2, 'b'],
      [260, 2, 'b'],
    ])
  })

  it('holds up the messages behind it on a link that keeps its order', () => {
    const network = { delayMs: 50, fifo: true }
    const later = act(70, 1, note(2, 'd'))
    const delay = { atMs: 20, delay: 0, forMs: 100 }
    expect(fates({ network, events: [THREE, later, delay] })).toEqual([
      [60, 3, 'c'],
      [160, 2, 'a'],
      [160, 2, 'b'],
      [160, 2, 'd'],
    ])
    expect(fates({ network, events: [THREE, later, { ...delay, delay: 1 }] })).toEqual([
      [60, 2, 'a'],
      [60, 3, 'c'],
      [160, 2, 'b'],
      [160, 2, 'd'],
    ])
  })

  it('is copied: the copy takes a delay of its own, or the given one', () => {
    expect(fates({ events: [THREE, { atMs: 20, copy: 2 }] })).toEqual([
      [60, 2, 'a'],
      [60, 2, 'b'],
      [60, 3, 'c'],
      [70, 3, 'c'],
    ])
    expect(fates({ events: [THREE, { atMs: 20, copy: 0, afterMs: 300 }] })).toEqual([
      [60, 2, 'a'],
      [60, 2, 'b'],
      [60, 3, 'c'],
      [360, 2, 'a'],
    ])
  })

  it('is dropped and delayed with all its copies', () => {
    const copy = { atMs: 20, copy: 2, afterMs: 20 }
    expect(fates({ events: [THREE, copy, { atMs: 30, drop: 2 }] })).toEqual([
      [30, 'lost', 2, 'dropped'],
      [30, 'lost', 2, 'dropped'],
      [60, 2, 'a'],
      [60, 2, 'b'],
    ])
    expect(fates({ events: [THREE, copy, { atMs: 30, delay: 2, forMs: 5 }] }).slice(2)).toEqual([
      [65, 3, 'c'],
      [85, 3, 'c'],
    ])
  })

  it('may wait for a paused node', () => {
    const pause = { atMs: 20, pause: 2, forMs: 100 }
    expect(fates({ events: [THREE, pause, { atMs: 90, drop: 0 }] })).toEqual([
      [60, 3, 'c'],
      [90, 'lost', 0, 'dropped'],
      [120, 2, 'b'],
    ])
    expect(fates({ events: [THREE, pause, { atMs: 90, delay: 0, forMs: 200 }] })).toEqual([
      [60, 3, 'c'],
      [120, 2, 'b'],
      [290, 2, 'a'],
    ])
    expect(fates({ events: [THREE, pause, { atMs: 90, copy: 0, afterMs: 100 }] })).toEqual([
      [60, 3, 'c'],
      [120, 2, 'a'],
      [120, 2, 'b'],
      [190, 2, 'a'],
    ])
  })

  it('leaves the chances of all other messages as they were', () => {
    const notes = Array.from({ length: 20 }, (_, index) => note(3, String(index)))
    const network = { delayMs: [1, 90], loss: 0.2 } as const
    const run = (...more: readonly PlainObject[]): readonly Plain[] =>
      fates({ network, events: [THREE, ...more, act(30, 2, ...notes)] })
    const isOther = (fate: Plain): boolean => /"\d+"/.test(JSON.stringify(fate))
    const plain = run()
    expect(plain.filter(isOther).length).toBeGreaterThan(10)
    for (const event of [{ drop: 0 }, { delay: 0, forMs: 7 }, { copy: 0 }])
      expect(run({ atMs: 11, ...event }).filter(isOther)).toEqual(plain.filter(isOther))
  })
})

describe('a message that is not in flight', () => {
  const worldEvents = (records: readonly TraceRecord[]): readonly PlainObject[] =>
    records.flatMap((record) =>
      record.type === 'world' && !('command' in record.event) ? [record.event] : [],
    )

  it.each([{ drop: 1 }, { delay: 1, forMs: 5 }, { copy: 1 }])(
    'is not changed by %j, and the record says so',
    (event) => {
      const ignored = 'message 1 is not in flight'
      const [before, after] = [5, 300].map((atMs) =>
        recordsOf({ network: { delayMs: 50 }, events: [THREE, { atMs, ...event }] }),
      )
      expect(worldEvents(before ?? [])).toEqual([{ ...event, ignored }])
      expect(worldEvents(after ?? [])).toEqual([{ ...event, ignored }])
      expect(before?.filter(({ type }) => type !== 'world')).toEqual(
        recordsOf({ network: { delayMs: 50 }, events: [THREE] }).filter(({ type }) => type !== 'world'),
      )
    },
  )

  it('is not copied on a link that reports its state', () => {
    const reporting = define({ ...probeDefinition, links: () => 'reported' as const })
    const records = recordsOf(
      {
        initial: { leader: 1 },
        network: { delayMs: 50, fifo: true },
        events: [THREE, { atMs: 20, copy: 1 }],
      },
      { ...reporting, create: () => settledProbe() },
    )
    expect(worldEvents(records)).toEqual([
      { copy: 1, ignored: 'links that report their state never copy a message' },
    ])
  })
})

function settledProbe() {
  const probe = probeDefinition.create({ self: 1, nodes: [1] }, {})
  return { ...probe, settled: (_outcome: unknown, now: number) => probe.start(null, now) }
}
