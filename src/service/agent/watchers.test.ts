import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { AgentEvent, TermResponse } from '../client/index.ts'
import { EventLog } from './event-log.ts'
import { Watchers, type WatchOptions } from './watchers.ts'

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
const term = (number: number): TermResponse => ({
  number,
  leader: 'a',
  token: number,
  from: '2030-01-01T00:00:00.000Z',
  until: null,
  cause: null,
  ended: null,
})

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function lab() {
  const events = new EventLog('run')
  const state = { gist: 'healthy', statuses: 0, onStatus: () => {} }
  const watchers = new Watchers({
    events,
    snapshot: () => '{}',
    status: () => {
      state.statuses += 1
      state.onStatus()
      return { gist: state.gist, json: () => JSON.stringify({ gist: state.gist }) }
    },
  })
  const watch = (options: Partial<WatchOptions> = {}) => {
    const reader = watchers.watch({ lastSeen: undefined, eventsOnly: false, ...options }).getReader()
    let text = ''
    const ended = (async () => {
      for (;;) {
        // oxlint-disable-next-line no-await-in-loop -- one chunk after the other
        const { done, value } = await reader.read()
        if (done) return
        text += new TextDecoder().decode(value)
      }
    })()
    const names = (): readonly string[] =>
      [...text.matchAll(/^(?:event: (\w+)|: (keep-alive))$/gm)].map(
        ([, name, comment]) => name ?? comment ?? '',
      )
    return { names, text: () => text, leave: () => reader.cancel(), ended }
  }
  return { events, state, watchers, watch }
}

const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms)

describe('a watcher', () => {
  it('receives the snapshot and the status, then the status once a second', async () => {
    const { watch } = lab()
    const { names, leave } = watch()
    await pass(0)
    expect(names()).toEqual(['snapshot', 'status'])
    await pass(5100)
    expect(names().filter((name) => name === 'status').length - 1).toBe(5)
    await leave()
  })

  it('learns of a change of the condition within 200 ms', async () => {
    const { watch, state } = lab()
    const { names, text, leave } = watch()
    await pass(1100)
    const before = names().length
    state.gist = 'no leader'
    await pass(200)
    expect([names().length - before, text().includes('no leader')]).toEqual([1, true])
    await leave()
  })

  it('receives a change of the condition also if something else was sent just before', async () => {
    const { watch, state, watchers, events } = lab()
    const { text, leave } = watch()
    await pass(1100)
    state.gist = 'no leader'
    state.onStatus = () => {
      state.onStatus = () => {}
      watchers.sendTerm(term(1))
      events.add(event('one'))
    }
    await pass(200)
    expect(text()).toContain('no leader')
    await leave()
  })

  it('receives events and changes of the history, or events only', async () => {
    const { watch, watchers, events } = lab()
    const all = watch()
    const some = watch({ eventsOnly: true })
    await pass(0)
    events.add(event('one'))
    watchers.sendTerm(term(1))
    await pass(0)
    expect(all.names()).toEqual(['snapshot', 'status', 'warning', 'history'])
    expect(some.names()).toEqual(['snapshot', 'warning'])
    await pass(10_400)
    expect(some.names()).toEqual(['snapshot', 'warning', 'keep-alive'])
    await Promise.all([all.leave(), some.leave()])
  })

  it('that does not read costs no memory but its place in the log, and misses no change of the history', async () => {
    const { watchers, events } = lab()
    const reader = watchers.watch({ lastSeen: undefined, eventsOnly: false }).getReader()
    for (let round = 0; round < 5000; round++) {
      events.add(event(`event ${round}`))
      watchers.sendTerm(term(round % 3))
      // oxlint-disable-next-line no-await-in-loop -- time passes
      if (round % 100 === 0) await pass(1000)
    }
    let text = ''
    while (!text.includes('event 4999')) {
      // oxlint-disable-next-line no-await-in-loop -- one chunk after the other
      text += new TextDecoder().decode((await reader.read()).value)
    }
    expect(text.length).toBeLessThan(400_000)
    expect(text.match(/^event: history$/gm)).toHaveLength(3)
    expect(text).toContain('event: missed')
    await reader.cancel()
  })

  it('receives a large status less often', async () => {
    const { watch, state } = lab()
    state.gist = 'x'.repeat(100 * 1024)
    const { names, leave } = watch()
    await pass(1100)
    const before = names().length
    await pass(8000)
    expect(names().length - before).toBe(2)
    await leave()
  })

  it('ends when the agent closes', async () => {
    const { watch, watchers } = lab()
    const { ended } = watch()
    watchers.close()
    await ended
    expect(watchers.size).toBe(0)
  })
})

it('computes the status once for all watchers, and never without one', async () => {
  const { watch, watchers, state } = lab()
  const all = Array.from({ length: 100 }, () => watch())
  await pass(0)
  const before = state.statuses
  await pass(1000)
  expect(state.statuses - before).toBe(5)
  await Promise.all(all.map(({ leave }) => leave()))
  expect([watchers.size, vi.getTimerCount()]).toEqual([0, 0])
})
