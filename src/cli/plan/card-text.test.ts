import { describe, expect, it } from 'vitest'
import type { TrialPlan } from '../../protocols/index.ts'
import type { Measured } from '../../workbench/guarantees/card.ts'
import type { Figure, Shape, Stats } from '../../workbench/guarantees/figures.ts'
import { escapeControls } from '../output.ts'
import { formatCard } from './card-text.ts'

const PLAN = {
  figures: [{ name: 'fail-over', title: 'failover' }],
  text: {
    headline: 'local-leader, 5 nodes',
    assumes: ['messages take at most 5 ms'],
    broken: [],
    advice: [],
    worlds: ['punctual', 'late'],
    worldsMean: 'late: timers are as late as allowed',
    overlap: ['never two leaders'],
    leaderWords: 'a leader within',
    stoppedWords: 'the old leader has stopped',
    shapesMean: ['times count from the fault'],
    tolerance: ['2 of 5 nodes may fail'],
    loadTitle: 'Traffic',
    loadMeans: ['per second, all nodes together'],
  },
} as unknown as TrialPlan

const stats = (change: Partial<Stats> = {}): Stats => ({
  runs: 1200,
  none: 0,
  meanMs: 80,
  p50Ms: 79.96,
  p99Ms: 110,
  maxMs: 120,
  ...change,
})
const FIGURE: Figure = {
  name: 'fail-over',
  computed: { typicalMs: 100, worstMs: 150.55 },
  punctual: stats(),
  late: null,
  exceeded: false,
}
const SHAPE: Shape = {
  name: 'kill',
  what: 'the leader crashes',
  leaderWithinMs: 150,
  stoppedWithinMs: null,
  leader: stats(),
  stopped: stats(),
  exceeded: false,
}
const MEASURED: Measured = {
  runs: 1000,
  idle: 0,
  figures: [FIGURE],
  shapes: [SHAPE],
  load: { card: {}, exceeded: [], rows: [{ cells: ['datagrams', '280'], exceeded: false }] },
  specs: [
    { name: 'one-leader', violations: 0, why: null },
    { name: 'stable', violations: 0, why: null },
  ],
  exceeded: [],
}

function lines(measured: Partial<Measured> = {}, text: Partial<TrialPlan['text']> = {}): readonly string[] {
  const plan = { ...PLAN, text: { ...PLAN.text, ...text } }
  return escapeControls(formatCard(plan, { ...MEASURED, ...measured })).split('\n')
}

/** The cells of the line that starts with this text. */
function cells(all: readonly string[], start: string): readonly string[] {
  const line = all.find((each) => each.trim().startsWith(start)) ?? ''
  return line.trim().split(/\s{2,}/)
}

describe('the sections of a card', () => {
  it('follow each other, with the sentences of the protocol', () => {
    const all = lines()
    const headings = all.filter((line) => line !== '' && !line.startsWith(' '))
    expect(headings).toEqual([
      'local-leader, 5 nodes',
      'It assumes',
      'Times in ms: computed, and measured by simulating this configuration',
      'Overlap',
      'Effects of faults (ms, in the late worlds)',
      'Fault tolerance',
      'Traffic',
      '1,000 runs: all measurements are within the computed bounds; held: one-leader, stable',
    ])
    for (const text of ['messages take at most 5 ms', 'never two leaders', '2 of 5 nodes may fail'])
      expect(all).toContain(`  ${text}`)
  })

  it('show advice, and assumptions that the simulated world breaks', () => {
    const all = lines({}, { advice: ['use a larger Δ'], broken: ['a message took 9 ms'] })
    expect(all.slice(3, 6)).toEqual([
      '  messages take at most 5 ms',
      '  use a larger Δ',
      '  NOT true in the simulation: a message took 9 ms',
    ])
  })
})

describe('a figure', () => {
  it('has the computed times and those of each world, to a tenth', () => {
    expect(cells(lines(), 'failover')).toEqual([
      'failover',
      '100.0',
      '150.6',
      '80.0',
      '80.0',
      '110.0',
      '120.0',
    ])
  })

  it.each<[string, Partial<Figure>, readonly string[]]>([
    [
      'no typical value',
      { computed: { typicalMs: null, worstMs: 5 } },
      ['failover', '-', '5.0', '80.0', '80.0', '110.0', '120.0'],
    ],
    [
      'both worlds',
      { late: stats({ meanMs: 1, p50Ms: 2, p99Ms: 3, maxMs: null }) },
      ['failover', '100.0', '150.6', '80.0', '80.0', '110.0', '120.0', '1.0', '2.0', '3.0', '-'],
    ],
    [
      'a value beyond its bound',
      { exceeded: true },
      ['failover', '100.0', '150.6', '80.0', '80.0', '110.0', '120.0', '<- EXCEEDS the bound'],
    ],
    [
      'no title of its own',
      { name: 'handover' },
      ['handover', '100.0', '150.6', '80.0', '80.0', '110.0', '120.0'],
    ],
  ])('with %s', (_what, change, expected) => {
    expect(cells(lines({ figures: [{ ...FIGURE, ...change }] }), expected[0] ?? '')).toEqual(expected)
  })

  it('of a group that cannot fail over is a sentence', () => {
    expect(lines({ figures: [] })).toContain(
      '  failover: none. If the leader fails, no other node can lead until it is back.',
    )
  })
})

describe('the effect of a fault', () => {
  it.each<[string, Partial<Shape>, readonly string[]]>([
    ['a bound', {}, ['the leader crashes', 'a leader within', '150.0', '80.0', '120.0', '1,200']],
    [
      'a leader that stays',
      { leaderWithinMs: 0 },
      ['the leader crashes', 'the leader stays', '0.0', '80.0', '120.0', '1,200'],
    ],
    [
      'no leader',
      { leaderWithinMs: 'never', leader: stats({ meanMs: null, maxMs: null, none: 1200 }) },
      ['the leader crashes', 'no leader while it lasts', '-', 'none', 'none', '1,200'],
    ],
    [
      'no bound',
      { leaderWithinMs: null },
      ['the leader crashes', 'no bound; a leader within', '-', '80.0', '120.0', '1,200'],
    ],
    [
      'runs without a leader',
      { leader: stats({ none: 3 }) },
      ['the leader crashes', 'a leader within', '150.0', '80.0', '120.0 (none in 3)', '1,200'],
    ],
    [
      'a value beyond its bound',
      { exceeded: true },
      ['the leader crashes', 'a leader within', '150.0', '80.0', '120.0', '1,200', '<- EXCEEDS the bound'],
    ],
  ])('with %s', (_what, change, expected) => {
    expect(cells(lines({ shapes: [{ ...SHAPE, ...change }] }), 'the leader crashes')).toEqual(expected)
  })

  it('has a second line where the old leader must have stopped', () => {
    const shapes = [{ ...SHAPE, stoppedWithinMs: 90, stopped: stats({ runs: 7, meanMs: 40, maxMs: 88 }) }]
    expect(cells(lines({ shapes }), 'the old leader')).toEqual([
      'the old leader has stopped',
      '90.0',
      '40.0',
      '88.0',
      '7',
    ])
  })
})

describe('the verdict', () => {
  it.each<[string, Partial<Measured>, readonly string[]]>([
    [
      'a value beyond its bound',
      { exceeded: ['fail-over', 'kill'] },
      ['1,000 runs: beyond the computed bounds: fail-over, kill'],
    ],
    [
      'a violation',
      { specs: [{ name: 'one-leader', violations: 1, why: 'two lead' }], exceeded: ['one-leader'] },
      ['one-leader VIOLATED in 1 run, first: two lead', '1,000 runs: beyond the computed bounds: one-leader'],
    ],
    [
      'runs without a leader',
      { idle: 2 },
      [
        'in 2 runs no node led before the fault',
        '1,000 runs: all measurements are within the computed bounds; held: one-leader, stable',
      ],
    ],
    [
      'a single node',
      { runs: 0 },
      ['0 runs: no fault can be tried with a single node; only the traffic was measured'],
    ],
  ])('with %s', (_what, change, expected) => {
    expect(lines(change).slice(-expected.length)).toEqual(expected)
  })

  it('marks a load that exceeds the computed one', () => {
    const load = {
      card: {},
      exceeded: ['datagrams'],
      rows: [{ cells: ['datagrams', '999'], exceeded: true }],
    }
    expect(cells(lines({ load }), 'datagrams')).toEqual(['datagrams', '999', '<- EXCEEDS the bound'])
  })
})
