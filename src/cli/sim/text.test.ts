import { describe, expect, it } from 'vitest'
import { simulate } from '../../../test/support/run.ts'
import type { SpecVerdict } from '../../workbench/specs/index.ts'
import { NEW_LINE } from '../output.ts'
import { formatReport, formatVerdicts } from './text.ts'

const linesOf = (text: string): readonly string[] => text.split(NEW_LINE)

describe('formatReport', () => {
  const scenario = {
    protocol: 'bully',
    nodes: [1, 2, 3],
    seed: 4,
    events: [{ atMs: 1000, crash: 3 }],
    untilMs: 3000,
  }
  const report = simulate(scenario)
  const lines = linesOf(formatReport(report))

  it('starts with the run, then one line per node', () => {
    expect(lines[0]).toMatch(/^bully, seed 4: 3000 ms of virtual time, [\d,]+ steps$/)
    expect(lines.slice(2, 6).map((line) => line.split(/ +/))).toEqual([
      ['node', 'role', 'leader', 'token'],
      ['1', 'follower', '2', '-'],
      ['2', 'leader', '2', '-'],
      ['3', 'crashed', '-', '-'],
    ])
  })

  it('counts messages by kind, and lists the terms', () => {
    expect(lines.find((line) => line.startsWith('messages'))).toMatch(
      /^messages {2}\d+ \(.*coordinator \d+.*\)$/,
    )
    const terms = lines.filter((line) => line.startsWith('led '))
    expect(terms).toHaveLength(report.leaderships.length)
    expect(terms.at(-1)).toMatch(/^led +2 from [\d.]+ ms on$/)
  })

  it('counts the messages of layers separately, if there are any', () => {
    const layered = (total: number) => formatReport({ ...report, linkMessages: { total, byKind: {} } })
    expect(linesOf(layered(836))).toContain('layers    836 messages')
    expect(layered(0)).not.toContain('layers')
  })
})

it('formatVerdicts formats one line per specification', () => {
  const specs: readonly SpecVerdict[] = [
    { name: 'agreement', verdict: 'held', judged: 1 },
    { name: 'one-leader', verdict: 'vacuous', why: 'never judged' },
    { name: 'tokens', verdict: 'violated', atMs: 7, why: 'token 3 after 4' },
  ] as never
  expect(linesOf(formatVerdicts(specs, (at) => `after ${at} steps`))).toEqual([
    'agreement   held (judged once)',
    'one-leader  vacuous: never judged',
    'tokens      VIOLATED after 7 steps: token 3 after 4',
  ])
})
