import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createLog, type LogSettings } from './log.ts'

let said = ''

beforeEach(() => {
  said = ''
  vi.useFakeTimers({ now: Date.UTC(2030, 0, 2, 3, 4, 5, 678) })
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    said += String(text)
    return true
  })
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

const log = (settings: Partial<LogSettings> = {}) =>
  createLog({ level: 'info', format: 'json', common: { group: 'g', id: 'a' }, ...settings })

describe('the log', () => {
  it('has one JSON object per line', () => {
    log()('elected', { token: 7, reason: null })
    expect(said).toBe(
      '{"time":"2030-01-02T03:04:05.678Z","group":"g","id":"a","event":"elected","token":7,"reason":null}\n',
    )
  })

  it('has one readable line per event in the format text, without empty fields', () => {
    const text = log({ format: 'text' })
    text('elected', { token: 7, reason: 'elected', view: null })
    text('started', { http: 'http://127.0.0.1:7480' })
    const cause = { kind: 'late', node: 'a', text: 'a was late by 93 ms (σ is 30 ms)' }
    text('revoked', { reason: 'expired', token: 7, cause })
    log({ format: 'text', common: {} })('run', { reason: 'a joined g' })
    expect(said.split('\n')).toEqual([
      '2030-01-02T03:04:05.678Z elected  g a: elected (token 7)',
      '2030-01-02T03:04:05.678Z started  g a (http http://127.0.0.1:7480)',
      '2030-01-02T03:04:05.678Z revoked  g a: expired (token 7, cause a was late by 93 ms (σ is 30 ms))',
      '2030-01-02T03:04:05.678Z run      a joined g',
      '',
    ])
  })

  it.each([
    ['error', ['alarm']],
    ['warning', ['alarm', 'warning']],
    ['info', ['alarm', 'warning', 'elected']],
  ] as const)('at level %s has %j', (level, expected) => {
    const write = log({ level })
    for (const event of ['alarm', 'warning', 'elected']) write(event, {})
    expect([...said.matchAll(/"event":"(\w+)"/g)].map(([, event]) => event)).toEqual(expected)
  })
})
