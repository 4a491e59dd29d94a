import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { startProgress } from './progress.ts'

let written = ''
const { isTTY } = process.stderr
const setTerminal = (value: boolean): void =>
  void Object.defineProperty(process.stderr, 'isTTY', { value, configurable: true })

beforeEach(() => {
  written = ''
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    written += String(text)
    return true
  })
})

afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
  setTerminal(isTTY)
})

describe('progress without a terminal', () => {
  beforeEach(() => {
    setTerminal(false)
    vi.useFakeTimers({ toFake: ['performance'] })
  })

  it('prints at most one line every five seconds', () => {
    const progress = startProgress('seeds')
    progress.update(1, 10, 'early')
    vi.advanceTimersByTime(5000)
    progress.update(4, 10, '0 violations')
    progress.update(5, 10, 'again')
    vi.advanceTimersByTime(5000)
    progress.update(9, 0, 'depth 3')
    progress.stop()
    expect(written).toBe('seeds: 4 of 10, 0 violations\nseeds: 9, depth 3\n')
  })
})

describe('progress on a terminal', () => {
  it('shows a bar with the escaped note, and clears it', () => {
    setTerminal(true)
    const progress = startProgress('runs')
    progress.update(1, 2, 'kill\u0007')
    progress.stop()
    expect(written).toContain('runs')
    expect(written).toContain('kill\\u0007')
    expect(written).not.toContain('\u0007')
  })

  it('prints nothing if no work was reported', () => {
    setTerminal(true)
    startProgress('runs').stop()
    expect(written).toBe('')
  })
})
