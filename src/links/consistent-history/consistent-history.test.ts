/** The layer over a network that cuts, loses, doubles and reorders: what both ends see, and what becomes of frames. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { ids } from '../../../test/support/run.ts'
import {
  type Definition,
  define,
  type Input,
  NOTHING,
  output,
  type PlainObject,
  type Protocol,
  send,
  stack,
} from '../../core/index.ts'
import { parseScenario, type Report, runScenario } from '../../workbench/sim/index.ts'
import type { Observation } from '../../workbench/trace/index.ts'
import { framedKind, HISTORY_KINDS } from './messages.ts'
import { checkHistory, historyLayer, historyOptions } from './options.ts'

/** Reports what it sees of its links. When a link comes up it sends words: `first` of them the first time, then three. */
const witness = (first: number): Protocol => ({
  start: () => ({ state: 0, effects: NOTHING }),
  step(state, input: Input) {
    if (input.type === 'link') {
      const number = (state as number) + 1
      const length = number === 1 ? first : 3
      const words = Array.from({ length }, (_, nth) => send(input.peer, { kind: 'word', number, nth }))
      const seen = output({ type: 'link', peer: input.peer, up: input.up })
      return input.up ? { state: number, effects: [seen, ...words] } : { state, effects: [seen] }
    }
    if (input.type !== 'message') return { state, effects: NOTHING }
    const { number = null, nth = null } = input.body
    return { state, effects: [output({ type: 'word', from: input.from, number, nth })] }
  },
  view: () => ({ role: 'follower', leader: null, token: null, until: null, members: null, detail: null }),
  shift: (state) => state,
})

const witnessing = (first: number): Definition =>
  define({
    name: 'witnessing',
    title: 'what both ends see',
    source: 'a test',
    kinds: ['word'],
    linkKinds: HISTORY_KINDS,
    kindOf: framedKind,
    options: () => z.strictObject(historyOptions()).superRefine(checkHistory),
    create: (identity, options) => stack(historyLayer(identity, options), witness(first)),
    settlesWithin: () => 1_000_000,
  })

type Seen = { readonly at: number; readonly peer: number; readonly up: boolean }
type Ran = {
  readonly report: Report
  /** Of node 1's end of its link with 2, and of node 2's. */
  readonly seen: readonly [readonly Seen[], readonly Seen[]]
  readonly words: readonly string[]
}

function run(file: PlainObject, strict = true, first = 3): Ran {
  const definition = witnessing(first)
  const scenario = parseScenario(
    { protocol: 'witnessing', nodes: [1, 2], ...file },
    { names: ['witnessing'], find: () => definition },
  )
  const seen: [Seen[], Seen[]] = [[], []]
  const words: string[] = []
  const report = runScenario(definition, scenario, {
    strict,
    observe(observation: Observation) {
      if (observation.type !== 'output') return
      const { node, at, event } = observation
      if (event.type === 'word') words.push(`${node}<${event['number'] as number}.${event['nth'] as number}`)
      const peer = event['peer'] as number
      if (event.type !== 'link' || Number(node) + peer !== 3) return
      seen[Number(node) - 1]?.push({ at: at / 1000, peer, up: event['up'] as boolean })
    },
  })
  return { report, seen, words }
}

const ups = (seen: readonly Seen[]): readonly boolean[] => seen.map(({ up }) => up)

describe('a clean outage', () => {
  const { seen, report, words } = run({
    network: { delayMs: [1, 5] },
    events: [
      { atMs: 2000, cut: [[1, 2]] },
      { atMs: 5000, heal: 'all' },
    ],
    untilMs: 9000,
  })

  it('is one down and one up at each end', () => {
    expect(ups(seen[0])).toEqual([true, false, true])
    expect(ups(seen[1])).toEqual([true, false, true])
  })

  it('is noticed within the timeout and a round trip', () => {
    for (const end of seen) expect(end[1]?.at).toBeLessThanOrEqual(2000 + 500 + 10)
    for (const end of seen) expect(end[2]?.at).toBeLessThanOrEqual(5000 + 2 * 200 + 20)
  })

  it('loses no word of an incarnation, and lets none into another', () => {
    const expected = [1, 2].flatMap((number) => [0, 1, 2].map((nth) => `1<${number}.${nth}`))
    expect(words.filter((word) => word.startsWith('1<'))).toEqual(expected)
  })

  it('counts what it carries as the words that they are', () => {
    expect(report.messages.byKind).toEqual({ word: 12 })
  })
})

describe('when nothing happens', () => {
  it('a pair exchanges ten small datagrams a second', () => {
    const count = (untilMs: number): number =>
      run({ network: { delayMs: 1 }, events: [], untilMs }, false).report.linkMessages.total
    expect(count(12_000) - count(2000)).toBe(100)
  })

  it('an adaptive detector notices sooner than the longest silence that is borne', () => {
    const at = (detector: string): number => {
      const file = { network: { delayMs: 1 }, events: [{ atMs: 4050, cut: [[1, 2]] }], untilMs: 6000 }
      return run({ ...file, options: { detector } }).seen[0].at(-1)?.at ?? 0
    }
    expect(at('fixed')).toBeGreaterThan(4480)
    for (const detector of ['nfd-e', 'bertier', 'phi']) expect(at(detector)).toBeLessThan(4450)
  })
})

describe('processes that come and go', () => {
  it('a restart is a down and an up for the other, however short it was', () => {
    const { seen } = run({
      network: { delayMs: 1 },
      events: [
        { atMs: 2000, crash: 2 },
        { atMs: 2010, recover: 2 },
      ],
      untilMs: 5000,
    })
    expect(ups(seen[0])).toEqual([true, false, true])
    expect(ups(seen[1])).toEqual([true, true])
  })

  it('a pause is an outage; words that arrive from before it belong to no link that is', () => {
    const { seen, words } = run({
      network: { delayMs: 1 },
      events: [{ atMs: 2000, pause: 2, forMs: 1500 }],
      untilMs: 6000,
    })
    expect(ups(seen[0])).toEqual([true, false, true])
    expect(ups(seen[1])).toEqual([true, false, true])
    expect(words).toHaveLength(12)
  })
})

describe('a peer that acknowledges frames which this process never sent', () => {
  const layer = historyLayer({ self: 1, nodes: [1, 2] }, z.strictObject(historyOptions()).parse({}))
  const upsAfter = (received: number): readonly boolean[] => {
    const body = { kind: 'ping', by: 3, for: 1, count: 2, received, no: 0, echo: 0 }
    const { state } = layer.start(null, 0)
    return layer
      .below(state, { type: 'message', from: 2, body, receipt: null }, 1000)
      .inputs.flatMap((input) => (input.type === 'link' ? [input.up] : []))
  }

  it('takes the link down: the peer would take the first frames for duplicates', () => {
    expect(upsAfter(0)).toEqual([true])
    expect(upsAfter(1)).toEqual([true, false])
  })
})

describe('a peer that pings but acknowledges nothing', () => {
  it('takes the link down when 1,024 frames wait, at both ends', () => {
    const { seen, words } = run(
      {
        network: { delayMs: 1, rules: [{ kind: 'word', drop: true }] },
        events: [],
        untilMs: 4000,
      },
      false,
      1030,
    )
    expect(ups(seen[0])).toEqual([true, false, true])
    expect(ups(seen[1])).toEqual([true, false, true])
    // Only the first copy of a frame is lost, so the three words of the next incarnation arrive when they are resent.
    expect(words.filter((word) => word.startsWith('1<'))).toEqual(['1<2.0', '1<2.1', '1<2.2'])
  })

  it('bears 1,024 frames', () => {
    const { seen } = run({ network: { delayMs: 1 }, events: [], untilMs: 4000 }, false, 1024)
    expect(ups(seen[0])).toEqual([true])
  })
})

describe('one direction only', () => {
  it.each([
    [1, 2],
    [2, 1],
  ])('an outage from %i to %i takes both ends down, once, and up again, once', (from, to) => {
    const { seen } = run({
      network: { delayMs: [1, 4] },
      events: [
        { atMs: 2000, cutOneWay: [[from, to]] },
        { atMs: 5000, heal: 'all' },
      ],
      untilMs: 8000,
    })
    expect(ups(seen[0])).toEqual([true, false, true])
    expect(ups(seen[1])).toEqual([true, false, true])
    for (const end of seen) expect(end[1]?.at).toBeLessThanOrEqual(2000 + 500 + 8)
  })
})

/** How often the network changes in a run below, and how much it loses meanwhile. */
const CHANGES = 12

describe('a network at its worst', () => {
  it.each(ids(60))('seed %i: the same history at both ends, up when all is over', (seed) => {
    const events = Array.from({ length: CHANGES }, (_, nth) => {
      const atMs = 1000 + nth * (180 + ((Number(seed) * 37 + nth * 101) % 700))
      const pair = (Number(seed) + nth) % 2 === 0 ? [[1, 2]] : [[2, 1]]
      return [{ cutOneWay: pair }, { heal: 'all' }, { cut: pair }, { heal: pair }].map((what, place) => ({
        atMs: atMs + place * 150,
        ...what,
      }))[nth % 4] as PlainObject
    }).toSorted((a, b) => Number(a['atMs']) - Number(b['atMs']))
    const last = Number(events.at(-1)?.['atMs'])
    const { seen, words } = run(
      {
        seed,
        network: { delayMs: [0.2, 60], loss: 0.1, duplicate: 0.1, fifo: false },
        events: [...events, { atMs: last + 200, heal: 'all' }, { atMs: last + 200, loss: 0 }],
        untilMs: last + 5000,
      },
      false,
    )
    expect(ups(seen[0])).toEqual(ups(seen[1]))
    expect(seen[0].at(-1)?.up).toBe(true)
    expect(seen[0].length).toBeLessThanOrEqual(2 * CHANGES + 1)
    leadsByAtMost(2, seen)
    inOrder(words)
  })
})

function leadsByAtMost(slack: number, [a, b]: Ran['seen']): void {
  const times = [...a, ...b].map(({ at }) => at)
  for (const time of times) {
    const count = (end: readonly Seen[]): number => end.filter(({ at }) => at <= time).length
    expect(Math.abs(count(a) - count(b))).toBeLessThanOrEqual(slack)
  }
}

/** Of each incarnation a first part has arrived, in order, and nothing twice. */
function inOrder(words: readonly string[]): void {
  for (const node of ['1', '2']) {
    const heard = words.filter((word) => word.startsWith(node)).map((word) => word.slice(2))
    expect(new Set(heard).size).toBe(heard.length)
    const sorted = heard.toSorted((x, y) => Number(x) - Number(y))
    expect(heard).toEqual(sorted)
    for (const word of heard) {
      const [number, nth] = word.split('.').map(Number)
      if (nth !== undefined && nth > 0) expect(heard).toContain(`${number}.${nth - 1}`)
    }
  }
}

describe('options', () => {
  it('a timeout that does not bear an ordinary pause is refused, with both sides', () => {
    expect(() => run({ options: { timeoutMs: 300 }, untilMs: 1 })).toThrow(
      'options.timeoutMs: 300 is too small: it must be at least 430 (pingMs + alphaMs, 200 + 230)',
    )
    expect(() => run({ options: { detector: 'fixed', timeoutMs: 300 }, untilMs: 1 })).toThrow('2 * 200')
  })
})
