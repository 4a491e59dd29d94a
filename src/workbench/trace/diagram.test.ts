/** Diagrams of traces: the layout, and the SVG. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { exploring, simulate } from '../../../test/support/run.ts'
import { findXmlProblem } from '../../../test/support/xml.ts'
import type { PlainObject } from '../../core/index.ts'
import { catalogue } from '../../protocols/index.ts'
import { parseScenario, traceHeader } from '../sim/index.ts'
import { DARK, LIGHT } from './diagram/style.ts'
import { type DiagramOptions, diagramOf, drawTrace, type Trace, type TraceRecord } from './index.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const COUNTEREXAMPLE = JSON.parse(
  readFileSync(join(root, 'examples/bully-disagreement.json'), 'utf8'),
) as PlainObject

const KINDS = ['election', 'answer', 'coordinator']
const WHOLE: DiagramOptions = { kinds: KINDS, all: false, fromMs: null, toMs: null, title: null }

function record(file: PlainObject): Trace {
  const records: TraceRecord[] = []
  simulate(file, { record: (each) => records.push(each) })
  return { header: traceHeader(parseScenario(file, catalogue)), records }
}

const STORY: PlainObject = {
  protocol: 'bully',
  nodes: [1, 2, 3],
  options: { detector: 'none' },
  initial: { leader: 3 },
  network: { delayMs: 10, rules: [{ from: 1, to: 2, drop: true }] },
  events: [
    { atMs: 100, crash: 3 },
    { atMs: 110, command: { node: 1, do: 'detect', of: 3 } },
    { atMs: 900, pause: 2, forMs: 30 },
    { atMs: 950, cut: [[1, 2]] },
    { atMs: 1000, recover: 3 },
  ],
  untilMs: 2000,
}

describe('the layout of a diagram', () => {
  const { history, layout } = diagramOf(record(STORY), WHOLE)
  const laneOf = (x: number) => layout.lanes.find((lane) => Math.abs(lane.x - x) < 0.01)?.node ?? null
  const drawn = layout.arrows.map(({ from, to, ending }) => [laneOf(from.x), laneOf(to.x), ending] as const)

  it('connects the sender with the receiver, downwards', () => {
    expect(drawn).toContainEqual([3, 1, 'arrives'])
    expect(drawn).toContainEqual([3, 2, 'arrives'])
    for (const { from, to } of layout.arrows) expect(to.y).toBeGreaterThan(from.y)
  })

  it('ends a message to a crashed node at its lane, and a lost message between the lanes', () => {
    expect(drawn).toContainEqual([1, 3, 'lost'])
    expect(drawn).toContainEqual([1, null, 'lost'])
    expect(drawTrace(record(STORY), WHOLE)).toContain('election from 1 to 2, sent at 110 ms, lost (rule)')
  })

  it('interrupts the lane of a crashed node', () => {
    const crash = layout.signs.find(({ type }) => type === 'crash')
    const restart = layout.signs.find(({ type }) => type === 'restart')
    const pieces = layout.pieces.filter(({ node }) => node === 3)
    expect(pieces.map(({ state: standing }) => standing)).toEqual(['leads', 'leads'])
    expect(pieces[0]?.bottom).toBe(crash?.y)
    expect(pieces[1]?.top).toBe(restart?.y)
    expect(crash?.y).toBeLessThan(restart?.y ?? 0)
  })

  it('shows the role of each node over time', () => {
    const first = history.periods.filter(({ node }) => node === 1).map(({ text: words }) => words)
    expect(first).toEqual(['follows 3', 'no leader', 'leads', 'follows 3'])
  })

  it('hatches paused time, marks commands, and draws a line at changes of the network', () => {
    expect(history.stalls).toEqual([{ node: 2, from: 900_000, until: 930_000, word: 'paused' }])
    expect(layout.hatches).toHaveLength(1)
    expect(layout.signs.some(({ type }) => type === 'command')).toBe(true)
    expect(history.notices).toEqual([{ at: 950_000, text: 'cut 1\u20132' }])
  })

  it('omits long stretches without events, and keeps the order of moments', () => {
    expect(layout.breaks.map(({ text }) => text)).toEqual(['590 ms pass'])
    const ys = layout.ticks.map(({ y }) => y)
    expect(ys).toEqual([...ys].sort((a, b) => a - b))
  })

  it('does not overlap labels', () => {
    for (const [index, a] of layout.labels.entries()) {
      for (const b of layout.labels.slice(index + 1))
        expect(Math.hypot(a.x - b.x, a.y - b.y)).toBeGreaterThan(4)
    }
  })

  it('clips messages at the start and end of the diagram', () => {
    const part = diagramOf(record(STORY), { ...WHOLE, fromMs: 1003, toMs: 1010 })
    expect(part.history.begin).toBe(1_003_000)
    const [arrow] = part.layout.arrows
    expect([arrow?.seenSent, arrow?.ending]).toEqual([false, 'arrives'])
    expect(laneOf(arrow?.from.x ?? 0)).toBeNull()
  })
})

describe('heartbeats', () => {
  const file = { protocol: 'bully', nodes: [1, 2], seed: 2, untilMs: 300 }
  const kindsIn = (all: boolean) =>
    new Set(diagramOf(record(file), { ...WHOLE, all }).history.flights.map(({ kind }) => kind))

  it('are omitted by default', () => {
    expect(kindsIn(false).has('heartbeat')).toBe(false)
    expect(kindsIn(false).has('coordinator')).toBe(true)
    expect(kindsIn(true).has('heartbeat')).toBe(true)
  })
})

describe('the diagram of the bully counterexample', () => {
  const trace = record(COUNTEREXAMPLE)
  const picture = drawTrace(trace, { ...WHOLE, title: 'Bully: two disagree for ever' })

  it('shows the run that the explorer finds', () => {
    const { counterexample } = exploring('bully', 3, { options: { repaired: false } })
    expect(counterexample?.scenario).toMatchObject({ schedule: COUNTEREXAMPLE['schedule'] })
  })

  it('matches the golden file', () => {
    expect(picture).toBe(readFileSync(join(root, 'test/golden/bully-disagreement.svg'), 'utf8'))
  })

  it('pairs messages with their deliveries, and counts in steps', () => {
    const { history } = diagramOf(trace, WHOLE)
    expect(history.timed).toBe(false)
    expect(history.flights.map(({ from, to, sentAt, endedAt }) => [from, to, sentAt, endedAt])).toEqual([
      [2, 1, 2000, 5000],
      [3, 1, 3000, 4000],
      [3, 2, 3000, 6000],
    ])
  })
})

describe('the SVG', () => {
  it('is well formed for hostile names and titles', () => {
    const nodes = ['a<b', 'c&"d"', 'e\u0001\ud800']
    const odd = drawTrace(record({ protocol: 'bully', nodes, untilMs: 500 }), { ...WHOLE, title: '</svg>&' })
    for (const picture of [odd, drawTrace(record(STORY), WHOLE)]) expect(findXmlProblem(picture)).toBeNull()
    expect(findXmlProblem('<svg><a></svg>')).not.toBeNull()
    expect(odd).not.toMatch(/\p{Surrogate}|\p{Cc}(?<!\n)/u)
  })

  it('contains a description, and no external references', () => {
    const picture = drawTrace(record(STORY), WHOLE)
    expect(picture).toMatch(/<title id="title">.+<\/title>\n<desc id="description">A space-time diagram/)
    expect(picture).not.toMatch(/<script|href|@import|url\((?!#)|https?:(?!\/\/www\.w3\.org\/2000\/svg)/)
  })

  it('has enough contrast in light and dark mode', () => {
    for (const palette of [LIGHT, DARK]) {
      const paper = luminance(palette['paper'] ?? '')
      for (const [name, colour] of Object.entries(palette)) {
        if (name === 'paper') continue
        const [dim, bright] = [paper, luminance(colour)].sort((a, b) => a - b)
        expect([name, ((bright ?? 0) + 0.05) / ((dim ?? 0) + 0.05) >= 4.5]).toEqual([name, true])
      }
    }
  })
})

/** Relative luminance, as defined by WCAG. */
function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

describe('the limits of a diagram', () => {
  it('refuses traces with too many moments or nodes', () => {
    const busy = record({
      protocol: 'bully',
      nodes: [1, 2, 3, 4, 5],
      options: { heartbeatMs: 1 },
      network: { delayMs: [0.2, 2] },
      untilMs: 1000,
    })
    expect(() => drawTrace(busy, { ...WHOLE, all: true })).toThrow(/moments are too many for a picture/)
    const many = { ...busy, header: { ...busy.header, nodes: Array.from({ length: 65 }, (_, id) => id) } }
    expect(() => drawTrace(many, WHOLE)).toThrow('65 nodes are too many for a picture')
  })
})
