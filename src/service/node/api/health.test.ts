import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { HealthCheck } from '../../config/join-options.ts'
import { REAL_TIMERS } from '../election/timers.ts'
import { HealthGate } from './health.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const INTERVAL_MS = 1000
const TIMEOUT_MS = 300

/** A gate over a check, with the changes that it reports. */
function lab(check: HealthCheck) {
  const changes: string[] = []
  const settings = { check, intervalMs: INTERVAL_MS, timeoutMs: TIMEOUT_MS }
  const gate = new HealthGate(settings, REAL_TIMERS, (isHealthy, why) =>
    changes.push(isHealthy ? 'healthy' : why),
  )
  gate.start()
  return { gate, changes }
}

describe('HealthGate', () => {
  it('is unhealthy until the first check has answered, and reports that answer', async () => {
    const { gate, changes } = lab(() => true)
    expect([gate.isHealthy, changes]).toEqual([false, []])
    await vi.advanceTimersByTimeAsync(0)
    expect([gate.isHealthy, changes]).toEqual([true, ['healthy']])
  })

  it.each<[string, HealthCheck, string]>([
    ['false', () => false, 'healthy() answered false'],
    ['false later', async () => false, 'healthy() answered false'],
    [
      'an error',
      () => {
        throw new Error('no disk')
      },
      'healthy() failed: no disk',
    ],
    ['a rejection', () => Promise.reject(new Error('no disk')), 'healthy() failed: no disk'],
    ['a rejection with a text', () => Promise.reject('offline'), 'healthy() failed: offline'],
    ['nothing in time', () => new Promise(() => {}), 'healthy() did not answer within 300 ms'],
  ])('is unhealthy after %s, and says why', async (_what, check, why) => {
    const { gate, changes } = lab(check)
    await vi.advanceTimersByTimeAsync(TIMEOUT_MS)
    expect([gate.isHealthy, changes]).toEqual([false, [why]])
  })

  it('aborts the signal of a check that answers too late, and ignores its answer', async () => {
    let aborted: boolean | null = null
    const { gate, changes } = lab(({ signal }) => {
      signal.addEventListener('abort', () => (aborted = true))
      return new Promise((resolve) => setTimeout(() => resolve(true), TIMEOUT_MS + 50))
    })
    await vi.advanceTimersByTimeAsync(TIMEOUT_MS - 1)
    expect([aborted, changes]).toEqual([null, []])
    await vi.advanceTimersByTimeAsync(100)
    expect([aborted, gate.isHealthy, changes.length]).toEqual([true, false, 1])
  })

  it('does not abort a check that answered in time', async () => {
    const signals: AbortSignal[] = []
    lab(({ signal }) => {
      signals.push(signal)
      return true
    })
    await vi.advanceTimersByTimeAsync(INTERVAL_MS - 1)
    expect(signals.map(({ aborted }) => aborted)).toEqual([false])
  })

  it('asks again an interval after each answer, and reports changes only', async () => {
    const answers = [true, true, false, false, true]
    let asked = 0
    const { changes } = lab(() => answers[asked++] ?? true)
    await vi.advanceTimersByTimeAsync(0)
    for (const count of [2, 3, 4, 5]) {
      // oxlint-disable-next-line no-await-in-loop -- one interval after the other
      await vi.advanceTimersByTimeAsync(INTERVAL_MS - 1)
      expect(asked).toBe(count - 1)
      // oxlint-disable-next-line no-await-in-loop -- one interval after the other
      await vi.advanceTimersByTimeAsync(1)
      expect(asked).toBe(count)
    }
    expect(changes).toEqual(['healthy', 'healthy() answered false', 'healthy'])
  })

  it('runs one check at a time, however long it takes', async () => {
    let running = 0
    let most = 0
    lab(async () => {
      running += 1
      most = Math.max(most, running)
      await new Promise((resolve) => setTimeout(resolve, TIMEOUT_MS - 10))
      running -= 1
      return true
    })
    await vi.advanceTimersByTimeAsync(10 * INTERVAL_MS)
    expect(most).toBe(1)
  })

  it('reports nothing more once it is stopped, also not the check that was running', async () => {
    let asked = 0
    const { gate, changes } = lab(() => {
      asked += 1
      return new Promise((resolve) => setTimeout(() => resolve(true), 100))
    })
    gate.stop()
    await vi.advanceTimersByTimeAsync(10 * INTERVAL_MS)
    expect([asked, changes, gate.isHealthy]).toEqual([1, [], false])
  })
})
