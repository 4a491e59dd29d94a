import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { Experiment, StoreFacts } from '../../service/registers/index.ts'
import { printFailure, printReport } from './report.ts'

let written = ''
beforeEach(() => {
  written = ''
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    written += String(text)
    return true
  })
})
afterEach(() => void vi.restoreAllMocks())

const LATENCY = { count: 10, medianMs: 1.234, p99Ms: 12.3, maxMs: 99 }
const FACTS = {
  kind: 'redis',
  place: 'redis://h:1',
  sound: ['appendfsync is always'],
  weak: ['a replica may lag'],
  assumed: ['the clock of the server never goes back'],
} as unknown as StoreFacts
const experiment = (problem: string | null): Experiment =>
  ({
    findings: [{ name: 'compare', requirement: 'one of two writers succeeds', trials: 5, problem }],
    read: LATENCY,
    write: LATENCY,
  }) as unknown as Experiment

it('prints facts, findings, latencies and unchecked assumptions', () => {
  printReport(FACTS, experiment(null), false)
  expect(written.split('\n').slice(0, 8)).toEqual([
    '✓ redis://h:1 answers, and this user can read and write',
    '✓ appendfsync is always',
    '▲ a replica may lag',
    '✓ one of two writers succeeds (tried 5 times)',
    '',
    'one read round  median 1.23 ms, 99 % 12 ms, longest 99 ms',
    'one write       median 1.23 ms, 99 % 12 ms, longest 99 ms',
    '',
  ])
  expect(written).toContain(
    'Assumptions that this experiment cannot check:\n- the clock of the server never goes back\n- ',
  )
})

it('advises another store after a failed check', () => {
  printReport(FACTS, experiment('both succeeded'), false)
  expect(written).toContain('✖ one of two writers succeeds: both succeeded\n  Use another store')
})

it('prints one object with --json', () => {
  printReport(FACTS, experiment('both succeeded'), true)
  expect(JSON.parse(written)).toMatchObject({
    store: { kind: 'redis', place: 'redis://h:1' },
    fit: false,
    weak: FACTS.weak,
    findings: [{ name: 'compare', problem: 'both succeeded' }],
    latencyMs: { read: LATENCY },
    cannotKnow: [FACTS.assumed[0], expect.any(String)],
  })
})

it('prints the error of a store that could not be opened', () => {
  printFailure(new TypeError('no route'), false)
  printFailure(new TypeError('no route'), true)
  const [text, json = ''] = written.trim().split('\n')
  expect(text).toBe('✖ no route')
  expect(JSON.parse(json)).toEqual({ fit: false, error: { name: 'TypeError', message: 'no route' } })
})
