import { expect, it } from 'vitest'
import type { DurationReport, QosReport } from '../workbench/trace/index.ts'
import { NEW_LINE } from './output.ts'
import { formatQos, formatQosPairs } from './qos-text.ts'

const NONE = { samples: 0, censored: 0, meanMs: null, p99Ms: null, maxMs: null } as DurationReport
const SOME = { samples: 1200, censored: 3, meanMs: 1.5, p99Ms: 2, maxMs: 3.25 } as DurationReport
const QOS: QosReport = {
  watchedMs: 5000,
  mistakes: 1,
  mistakesPerHour: 720,
  queryAccuracy: 0.9990001,
  detection: SOME,
  mistakeRecurrence: NONE,
  mistakeDuration: NONE,
  goodPeriod: NONE,
}

it('formatQos prints one line per measure, and dashes without samples', () => {
  const lines = formatQos(QOS).split(NEW_LINE)
  expect(lines[1]?.trim().split(/ {2,}/)).toEqual([
    'detection time T_D',
    '1,200',
    '3',
    '1.500',
    '2.000',
    '3.250',
  ])
  expect(lines[4]?.trim().split(/ {2,}/)).toEqual(['good period T_G', '0', '0', '-', '-', '-'])
  expect(lines[5]).toBe('  1 mistake (720 per hour of monitoring), query accuracy P_A 0.999000')
})

it('formatQos prints dashes if nothing was monitored', () => {
  const text = formatQos({ ...QOS, mistakes: 0, mistakesPerHour: null, queryAccuracy: null })
  expect(text.split(NEW_LINE).at(-1)).toBe('  0 mistakes (- per hour of monitoring), query accuracy P_A -')
})

it('formatQosPairs prints one line per pair', () => {
  const lines = formatQosPairs([{ ...QOS, monitor: 1, peer: 'b' }]).split(NEW_LINE)
  expect(lines.map((line) => line.split(/ {2,}/))).toEqual([
    ['monitor', 'peer', 'monitored ms', 'detected', 'mean T_D ms', 'mistakes', 'P_A'],
    ['1', 'b', '5000.000', '1,200', '1.500', '1', '0.999000'],
  ])
})
