/** Pictures of traces: what is connected with what, that the SVG is sound, and the command as its users meet it. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Ended, conclave as run } from '../../test/support/cli.ts'
import { exploring, simulate } from '../../test/support/run.ts'
import type { PlainObject } from '../core/index.ts'
import { catalogue } from '../protocols/index.ts'
import { parseScenario, traceHeader } from '../workbench/sim/index.ts'
import { DARK, LIGHT } from '../workbench/trace/diagram/style.ts'
import {
  type DiagramOptions,
  diagramOf,
  drawTrace,
  type Trace,
  type TraceRecord,
} from '../workbench/trace/index.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
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

/** Says what is wrong with a text as XML, or null: tags match, attributes are quoted, nothing is left unescaped. */
function whyNotXml(text: string): string | null {
  const open: string[] = []
  let rest = text.trim()
  while (rest !== '') {
    const tag = /^<(\/?)([a-zA-Z][\w-]*)((?:\s+[\w:-]+="[^"<]*")*)\s*(\/?)>/.exec(rest)
    const words = /^[^<]+/.exec(rest)
    const [piece = ''] = tag ?? words ?? []
    if (piece === '') return `at ${rest.slice(0, 40)}`
    if (/&(?!(?:amp|lt|gt|quot);)/.test(piece)) return `a bare & in ${piece}`
    if (tag !== null && tag[1] === '/' && open.pop() !== tag[2]) return `${piece} closes something else`
    if (tag !== null && tag[1] === '' && tag[4] === '') open.push(tag[2] ?? '')
    rest = rest.slice(piece.length)
    if (open.length === 0 && rest.trim() !== '') return 'there is something after the root'
  }
  return open.length === 0 ? null : `${open.join(', ')} left open`
}

describe('the layout of a picture', () => {
  const { history, layout } = diagramOf(record(STORY), WHOLE)
  const laneOf = (x: number) => layout.lanes.find((lane) => Math.abs(lane.x - x) < 0.01)?.node ?? null
  const drawn = layout.arrows.map(({ from, to, ending }) => [laneOf(from.x), laneOf(to.x), ending] as const)

  it('connects the sender with the receiver, downwards', () => {
    expect(drawn).toContainEqual([3, 1, 'arrives'])
    expect(drawn).toContainEqual([3, 2, 'arrives'])
    for (const { from, to } of layout.arrows) expect(to.y).toBeGreaterThan(from.y)
  })

  it('ends a message to a node that is down at its lane, and one that got lost between the lanes', () => {
    expect(drawn).toContainEqual([1, 3, 'lost'])
    expect(drawn).toContainEqual([1, null, 'lost'])
    expect(drawTrace(record(STORY), WHOLE)).toContain('election from 1 to 2, sent at 110 ms, lost (rule)')
  })

  it('breaks the lane of a node that is down', () => {
    const crash = layout.signs.find(({ type }) => type === 'crash')
    const restart = layout.signs.find(({ type }) => type === 'restart')
    const pieces = layout.pieces.filter(({ node }) => node === 3)
    expect(pieces.map(({ state: standing }) => standing)).toEqual(['leads', 'leads'])
    expect(pieces[0]?.bottom).toBe(crash?.y)
    expect(pieces[1]?.top).toBe(restart?.y)
    expect(crash?.y).toBeLessThan(restart?.y ?? 0)
  })

  it('tells how nodes stand, from moment to moment', () => {
    const first = history.periods.filter(({ node }) => node === 1).map(({ text: words }) => words)
    expect(first).toEqual(['follows 3', 'no leader', 'leads', 'follows 3'])
  })

  it('hatches paused time, marks commands and rules a line where the network changes', () => {
    expect(history.stalls).toEqual([{ node: 2, from: 900_000, until: 930_000, word: 'paused' }])
    expect(layout.hatches).toHaveLength(1)
    expect(layout.signs.some(({ type }) => type === 'command')).toBe(true)
    expect(history.notices).toEqual([{ at: 950_000, text: 'cut 1\u20132' }])
  })

  it('leaves long stretches out, and keeps moments in order', () => {
    expect(layout.breaks.map(({ text }) => text)).toEqual(['590 ms pass'])
    const ys = layout.ticks.map(({ y }) => y)
    expect(ys).toEqual([...ys].sort((a, b) => a - b))
  })

  it('writes no word over another', () => {
    for (const [index, a] of layout.labels.entries()) {
      for (const b of layout.labels.slice(index + 1))
        expect(Math.hypot(a.x - b.x, a.y - b.y)).toBeGreaterThan(4)
    }
  })

  it('cuts messages off where the picture begins and ends', () => {
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
    new Set(diagramOf(record(file), { ...WHOLE, all }).history.flights.map(({ body }) => body.kind))

  it('are left out unless all is wanted', () => {
    expect(kindsIn(false).has('heartbeat')).toBe(false)
    expect(kindsIn(false).has('coordinator')).toBe(true)
    expect(kindsIn(true).has('heartbeat')).toBe(true)
  })
})

describe('the picture of the bully counterexample', () => {
  const trace = record(COUNTEREXAMPLE)
  const picture = drawTrace(trace, { ...WHOLE, title: 'Bully: two disagree for ever' })

  it('is of the run that the explorer finds', () => {
    const { counterexample } = exploring('bully', 3, { options: { repaired: false } })
    expect(counterexample?.scenario).toMatchObject({ schedule: COUNTEREXAMPLE['schedule'] })
  })

  it('is, to the letter, the one that was looked at', () => {
    expect(picture).toBe(readFileSync(join(root, 'test/golden/bully-disagreement.svg'), 'utf8'))
  })

  it('shows its messages, paired with their deliveries, and counts in steps', () => {
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
  it('is well formed, whatever names and titles hold', () => {
    const nodes = ['a<b', 'c&"d"', 'e\u0001\ud800']
    const odd = drawTrace(record({ protocol: 'bully', nodes, untilMs: 500 }), { ...WHOLE, title: '</svg>&' })
    for (const picture of [odd, drawTrace(record(STORY), WHOLE)]) expect(whyNotXml(picture)).toBeNull()
    expect(whyNotXml('<svg><a></svg>')).not.toBeNull()
    expect(odd).not.toMatch(/\p{Surrogate}|\p{Cc}(?<!\n)/u)
  })

  it('brings its own description, and nothing from elsewhere', () => {
    const picture = drawTrace(record(STORY), WHOLE)
    expect(picture).toMatch(/<title id="title">.+<\/title>\n<desc id="description">A space-time diagram/)
    expect(picture).not.toMatch(/<script|href|@import|url\((?!#)|https?:(?!\/\/www\.w3\.org\/2000\/svg)/)
  })

  it('can be read in light and in dark', () => {
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

/** As WCAG defines it. */
function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

describe('conclave draw', () => {
  const folder = mkdtempSync(join(tmpdir(), 'conclave-draw-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const trace = join(folder, 'run.ndjson')

  const conclave = (...words: readonly string[]): Promise<Ended> => run(words, { cwd: root })
  beforeAll(() => conclave('sim', 'examples/first-election.json', '--trace', trace))

  it('prints the picture, the same each time, or writes it to a file', async () => {
    const { code, stdout, stderr } = await conclave('draw', trace)
    expect([code, stderr]).toEqual([0, ''])
    expect(whyNotXml(stdout)).toBeNull()
    const out = join(folder, 'run.svg')
    expect(await conclave('draw', trace, '--out', out)).toEqual({
      code: 0,
      stdout: '',
      stderr: `wrote ${out}\n`,
    })
    expect(readFileSync(out, 'utf8')).toBe(stdout)
  })

  it('draws a part, with everything in it, under a title of its own', async () => {
    const part = ['--from', '1000', '--to', '1153', '--all', '--title', 'Failover & more']
    const { code, stdout } = await conclave('draw', trace, ...part)
    expect(code).toBe(0)
    expect(stdout).toContain('<title id="title">Failover &amp; more</title>')
    expect(stdout).toMatch(/heartbeat[^<]* from 4 to 1/)
    expect(stdout).not.toContain('restart')
  })

  const header = JSON.stringify({ trace: 1, protocol: 'bully', nodes: [1], options: {}, seed: 1 })
  const step = { at: 0, node: 9, now: 1, effects: [], sent: [], cutAfter: null, view: null }
  const start = (fields: PlainObject): string =>
    `${header}\n${JSON.stringify({ type: 'start', ...step, stable: null, settledOn: null, ...fields })}`
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }

  it.each([
    [['draw'], "missing required argument 'trace'"],
    [['draw', join(folder, 'none')], 'there is no such file'],
    [['draw', folder], 'cannot be read (EISDIR)'],
    [['draw', 'examples/first-election.json'], 'line 1 is not JSON'],
    [['draw', file('empty', '')], 'the trace is empty'],
    [['draw', file('header', header)], 'the trace contains only a header'],
    [['draw', file('node', start({}))], 'line 2: node 9 is not in the header'],
    [
      ['draw', file('send', start({ node: 1, effects: [{ type: 'send', to: 7 }] }))],
      'line 2: a message goes to a node that is not in the header, or is none',
    ],
    [['draw', trace, '--from', 'soon'], '--from soon: write a number of milliseconds'],
    [['draw', trace, '--from', '20', '--to', '10'], 'write --from 10 --to 20'],
    [['draw', trace, '--from', '99999'], 'nothing happens in that range: the trace runs from 0 to'],
    [['draw', trace, '--out', join(folder, 'no/such/place.svg')], 'cannot be written (ENOENT)'],
    [['draw', trace, '--paint', 'blue'], "unknown option '--paint'"],
  ])('refuses %j in one line', async (words, message) => {
    const { code, stdout, stderr } = await conclave(...words)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain(message)
    expect(stderr.trim().split('\n')).toHaveLength(1)
  })

  it('refuses what no picture can hold', () => {
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
