import { describe, expect, it } from 'vitest'
import type { MilestonePlan } from '../../protocols/index.ts'
import type { MeasuredMilestones } from '../../workbench/guarantees/milestones.ts'
import { escapeControls } from '../output.ts'
import { formatMs } from './card-text.ts'
import { formatMilestones } from './milestones-text.ts'

const plan = {
  kind: 'milestones',
  seeds: 50,
  text: {
    headline: 'one view per partition',
    assumes: ['messages take at most 5 ms', 'clocks do not drift'],
    tolerance: ['2 of 5 nodes may fail'],
    idle: (rate: number) => `${rate} messages per pair and second`,
  },
} as unknown as MilestonePlan

const row = (name: string, exceeded = false): MeasuredMilestones['rows'][number] =>
  ({
    name,
    typical: 10,
    worst: 25.25,
    median: 9.96,
    most: 20,
    exceeded,
  }) as MeasuredMilestones['rows'][number]

function lines(measured: Partial<MeasuredMilestones> = {}): readonly string[] {
  const all = {
    rows: [row('noticed'), row('a new view')],
    idle: 20,
    violations: 0,
    isKept: true,
    ...measured,
  }
  return escapeControls(formatMilestones(plan, all)).split('\n')
}

describe('the card of a protocol with milestones', () => {
  it('has the sentences of the protocol around the measured times', () => {
    const text = lines()
    expect(text[0]).toBe('one view per partition')
    expect(text.slice(text.indexOf('It assumes') + 1, text.indexOf('It assumes') + 3)).toEqual([
      '  messages take at most 5 ms',
      '  clocks do not drift',
    ])
    expect(text).toContain('  2 of 5 nodes may fail')
    expect(text).toContain('  20 messages per pair and second')
    expect(text.at(-1)).toBe('50 runs: all measurements are within the computed bounds')
  })

  it('has one line per milestone, with aligned columns', () => {
    const text = lines()
    const words = text.filter((line) => / 25\.\d/.test(line)).map((line) => line.trim().split(/\s{2,}/))
    expect(words).toEqual([
      ['noticed', '10.0', '25.3', '10.0', '20.0'],
      ['a new view', '10.0', '25.3', '10.0', '20.0'],
    ])
  })

  it('marks a time beyond its bound, and the verdict', () => {
    const text = lines({ rows: [row('noticed'), row('a new view', true)], isKept: false })
    expect(text.find((line) => line.includes('a new view'))).toMatch(/20\.0 EXCEEDS$/)
    expect(text.find((line) => line.includes('noticed'))).not.toContain('EXCEEDS')
    expect(text.at(-1)).toBe('50 runs: a measurement is beyond its computed bound')
  })
})

it('shows milliseconds to a tenth, and a dash for none', () => {
  expect([formatMs(3), formatMs(0.04), formatMs(null)]).toEqual(['3.0', '0.0', '-'])
})
