import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { AgentEvent } from '../client/index.ts'
import { EventLog } from './event-log.ts'

const event = (reason: string): AgentEvent => ({
  at: '2030-01-01T00:00:00.000Z',
  group: 'g',
  self: 'a',
  event: 'warning',
  leader: null,
  token: null,
  term: null,
  reason,
})

/** A log of three events at most, to which `count` events were added. */
function logWith(count: number): EventLog {
  const log = new EventLog('run-7', 3)
  for (let each = 1; each <= count; each++) log.add(event(`event ${each}`))
  return log
}

describe('the events after a position', () => {
  it.each<[number, number, boolean, readonly string[]]>([
    [0, 0, false, []],
    [2, 0, false, ['event 1', 'event 2']],
    [2, 1, false, ['event 2']],
    [2, 2, false, []],
    [3, 0, false, ['event 1', 'event 2', 'event 3']],
    // The first was dropped.
    [4, 0, true, ['event 2', 'event 3', 'event 4']],
    [4, 1, false, ['event 2', 'event 3', 'event 4']],
    [9, 5, true, ['event 7', 'event 8', 'event 9']],
    [9, 6, false, ['event 7', 'event 8', 'event 9']],
    [9, 8, false, ['event 9']],
  ])('of %i events, after %i: missed %s, %j', (count, position, missed, expected) => {
    const batch = logWith(count).after(position)
    expect([batch.missed, batch.entries.map((entry) => entry.event.reason)]).toEqual([missed, expected])
  })

  it('have ids of the run and a number, which never repeats', () => {
    const log = logWith(5)
    expect(log.latest).toBe(5)
    expect(log.after(0).entries.map(({ id, number }) => [id, number])).toEqual([
      ['run-7-3', 3],
      ['run-7-4', 4],
      ['run-7-5', 5],
    ])
  })
})

it.each([
  ['run-7-0', 0],
  ['run-7-1', 1],
  ['run-7-4', 4],
  // Not yet added: the watcher cannot have seen it.
  ['run-7-5', 0],
  ['run-8-2', 0],
  ['run-7', 0],
  ['run-7-', 0],
  ['run-7-x', 0],
  ['run-7-1.5', 0],
  ['run-7--1', 0],
  ['-3', 0],
  ['3', 0],
  ['', 0],
])('the position of the id %j is %i', (id, position) => {
  expect(logWith(4).positionOf(id)).toBe(position)
})

describe('next', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  /** Whether the promise is settled after `ms` milliseconds. */
  async function isOver(waiting: Promise<void>, ms: number): Promise<boolean> {
    let over = false
    void waiting.then(() => (over = true))
    await vi.advanceTimersByTimeAsync(ms)
    return over
  }

  it('resolves when an event is added, for every watcher', async () => {
    const log = logWith(0)
    const { signal } = new AbortController()
    const both = [log.next(signal, 1000), log.next(signal, 1000)]
    expect(
      await isOver(
        Promise.all(both).then(() => {}),
        10,
      ),
    ).toBe(false)
    log.add(event('new'))
    expect(
      await isOver(
        Promise.all(both).then(() => {}),
        0,
      ),
    ).toBe(true)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('resolves after the timeout, not earlier', async () => {
    const waiting = logWith(2).next(new AbortController().signal, 1000)
    expect(await isOver(waiting, 999)).toBe(false)
    expect(await isOver(waiting, 1)).toBe(true)
  })

  it('resolves on abort, also with a signal that was aborted before, and leaves no timer', async () => {
    const abort = new AbortController()
    const waiting = logWith(0).next(abort.signal, 1000)
    abort.abort()
    expect(await isOver(waiting, 0)).toBe(true)
    expect(await isOver(logWith(0).next(abort.signal, 1000), 0)).toBe(true)
    expect(vi.getTimerCount()).toBe(0)
  })
})
