import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { TermResponse } from '../../client/index.ts'
import type { GroupStatus } from '../../node/index.ts'
import { NO_DETAILS, NOTHING_MEASURED } from '../../runtime/index.ts'
import { canProbe, probeListener } from './probe.ts'
import { HistoryRecorder } from './recorder.ts'

const STATUS: GroupStatus = {
  role: 'follower',
  leader: null,
  members: null,
  mode: 'majority',
  leaseMs: null,
  voters: [['a', 'b', 'c']],
  nodes: ['a', 'b', 'c'].map((id) => ({
    id,
    reachable: true,
    evidenceMsAgo: 1,
    heardMsAgo: 1,
    ...NO_DETAILS,
  })),
  evidenceForMs: 100,
  idle: null,
  membership: null,
  primary: null,
  datagrams: { sent: 0, received: 0, dropped: 0 },
  timing: null,
  measured: NOTHING_MEASURED,
  warnings: [],
}

beforeEach(() => void vi.useFakeTimers({ now: 0 }))
afterEach(() => void vi.useRealTimers())

function lab(isRefused: (url: string) => Promise<boolean> = () => Promise.resolve(false)) {
  const state = { status: STATUS }
  const changes: TermResponse[] = []
  const recorder = new HistoryRecorder({
    self: 'b',
    status: () => state.status,
    onChange: (change) => changes.push(change),
    isRefused,
  })
  recorder.start()
  const lead = (id: string | null, token: number | null = null): void => {
    state.status = { ...state.status, leader: id === null ? null : { id, token } }
    recorder.observe(state.status)
  }
  const know = (id: string, details: Partial<GroupStatus['nodes'][number]>): void => {
    const nodes = state.status.nodes.map((node) => (node.id === id ? { ...node, ...details } : node))
    state.status = { ...state.status, nodes }
  }
  return { state, changes, recorder, lead, know }
}

const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms)

describe('the history of an agent', () => {
  it('reports each entry that changes', async () => {
    const { changes, recorder, lead } = lab()
    await pass(100)
    lead('a', 1)
    await pass(50)
    lead(null)
    expect(changes.map(({ number, leader, until }) => [number, leader, until])).toEqual([
      [1, null, '1970-01-01T00:00:00.100Z'],
      [2, 'a', null],
      [2, 'a', '1970-01-01T00:00:00.150Z'],
      [3, null, null],
    ])
    expect(recorder.terms().map(({ ended, cause }) => (ended ?? cause)?.text)).toEqual([
      'the agent of b started',
      'a is reachable, but b has no sign that it still leads',
      'a is reachable, but b has no sign that it still leads',
    ])
    recorder.stop()
  })

  it('says why there is no leader if it knows more than who is reachable', () => {
    const { recorder, lead, know } = lab()
    lead('a', 1)
    know('a', { reachable: false })
    know('c', { reachable: false })
    lead(null)
    expect(recorder.terms().at(-1)?.cause?.text).toBe('b reaches only 1 of 3 voters')
    expect(recorder.currentCause()).toBeNull()
    // Its peers may still count as reachable when it stops leading.
    lead('b', 2)
    const text = 'b heard nothing from a and c for 872 ms, and the others are no majority'
    recorder.handleRevoked(2, { kind: 'partitioned', node: 'b', text })
    lead(null)
    expect(recorder.currentCause()).toBe(text)
    lead('c', 3)
    expect(recorder.currentCause()).toBeNull()
    recorder.stop()
  })

  it('tells once why a term ended', () => {
    const { recorder, lead } = lab()
    expect(recorder.takeEnd()).toBe(null)
    lead('a', 1)
    lead(null)
    expect(recorder.takeEnd()?.text).toBe('a is reachable, but b has no sign that it still leads')
    expect(recorder.takeEnd()).toBe(null)
    recorder.stop()
  })

  it('explains a term when its leader reports, and then asks no more', async () => {
    const { recorder, lead, know } = lab()
    lead('a', 1)
    know('a', { reachable: false })
    lead(null)
    await pass(2000)
    const cause = { kind: 'late', node: 'a', text: 'a was late by 93 ms (σ is 30 ms)' } as const
    know('a', { reachable: true, lastTerm: { token: 1, cause, endedMsAgo: 2000 } })
    await pass(500)
    expect(recorder.terms().map((entry) => entry.ended ?? entry.cause)).toEqual([
      { kind: 'started', node: 'b', text: 'the agent of b started' },
      cause,
      cause,
    ])
    // The sampling timer.
    expect(vi.getTimerCount()).toBe(1)
    recorder.stop()
    expect(vi.getTimerCount()).toBe(0)
  })

  it('says crashed when the host of the leader refuses connections', async () => {
    const asked: string[] = []
    const { recorder, lead, know } = lab((url) => {
      asked.push(url)
      return Promise.resolve(true)
    })
    know('a', { page: 'http://10.0.0.1:7480', address: '10.0.0.1:7400' })
    lead('a', 1)
    know('a', { reachable: false })
    lead(null)
    await pass(0)
    expect(asked).toEqual(['http://10.0.0.1:7480'])
    expect(recorder.terms()[1]?.ended?.text).toBe('the process of a ended: its host refuses connections')
    recorder.stop()
  })

  it('says what the supervisor did, also afterwards', () => {
    const { recorder, lead, know } = lab()
    lead('a', 1)
    know('a', { reachable: false })
    lead(null)
    recorder.supervise({ nodes: { a: 'paused' }, cut: [] })
    expect(recorder.terms()[1]?.ended?.text).toBe('the process of a is paused')
    recorder.stop()
  })

  it('samples every 5 s, with the length of the last gap, and keeps an hour', async () => {
    const { recorder, lead, know, state } = lab()
    lead('a', 1)
    know('a', { rttMs: 3 })
    know('c', { rttMs: 9, reachable: false })
    state.status = {
      ...state.status,
      measured: {
        ...NOTHING_MEASURED,
        latenessMs: { p50: 1, p99: 2, max: 3 },
        delayMs: { p50: 4, p99: 5, max: 6 },
        renewalMarginMs: { min: 7, p50: 8 },
      },
    }
    await pass(1000)
    lead(null)
    await pass(250)
    lead('c', 2)
    await pass(10_000)
    expect(recorder.samples()).toEqual([
      {
        at: '1970-01-01T00:00:05.000Z',
        rttMs: 3,
        latenessMs: 2,
        delayMs: 5,
        renewalMarginMs: 7,
        failoverMs: 250,
      },
      {
        at: '1970-01-01T00:00:10.000Z',
        rttMs: 3,
        latenessMs: 2,
        delayMs: 5,
        renewalMarginMs: 7,
        failoverMs: null,
      },
    ])
    await pass(2 * 3_600_000)
    expect(recorder.samples()).toHaveLength(720)
    recorder.stop()
  })

  it('needs no more memory after an hour of elections', async () => {
    const { recorder, lead } = lab()
    const size = (): number => JSON.stringify([recorder.terms(), recorder.samples()]).length
    const run = async (fromToken: number): Promise<number> => {
      for (let token = fromToken; token < fromToken + 3600; token++) {
        lead('a', token)
        // oxlint-disable-next-line no-await-in-loop -- time passes
        await pass(500)
        lead(null)
        // oxlint-disable-next-line no-await-in-loop -- time passes
        await pass(500)
      }
      return size()
    }
    const first = await run(100_000)
    expect(Math.abs((await run(200_000)) - first)).toBeLessThan(first / 100)
    recorder.stop()
  }, 60_000)
})

describe('the probe of a process', () => {
  it('tells a refused connection from an accepted one', async () => {
    vi.useRealTimers()
    const server = createServer()
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', () => resolve()))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    expect(await probeListener(url)).toBe(false)
    await new Promise((resolve) => void server.close(resolve))
    expect(await probeListener(url)).toBe(true)
  })

  it.each<[string | null, string | null, boolean]>([
    ['http://10.0.0.1:7480', '10.0.0.1:7400', true],
    ['https://[fd00::1]:7480', '[fd00::1]:7400', true],
    ['http://127.0.0.1:7480', '10.0.0.1:7400', false],
    ['http://0.0.0.0:7480', '10.0.0.1:7400', false],
    ['http://agent.example:7480', 'agent.example:7400', false],
    ['ftp://10.0.0.1:7480', '10.0.0.1:7400', false],
    ['nonsense', '10.0.0.1:7400', false],
    [null, '10.0.0.1:7400', false],
    ['http://10.0.0.1:7480', null, false],
  ])('asks %s of the node at %s: %s', (page, address, expected) => {
    expect(canProbe({ page, address })).toBe(expected)
  })
})
