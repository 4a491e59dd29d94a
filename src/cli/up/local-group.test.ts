import { describe, expect, it } from 'vitest'
import type { NetworkFaults } from '../../service/runtime/index.ts'
import type { LocalAgent } from './local-agent.ts'
import { type Direction, LocalGroup } from './local-group.ts'

type Fake = { readonly id: string; isLeader: boolean; faults: NetworkFaults[]; calls: string[] }

function lab(count = 3): { group: LocalGroup; agents: readonly Fake[]; entries: string[] } {
  const entries: string[] = []
  const agents = Array.from({ length: count }, (_, index): Fake & Partial<LocalAgent> => {
    const faults: NetworkFaults[] = []
    const calls: string[] = []
    return {
      id: `n${index + 1}`,
      isLeader: index === 0,
      faults,
      calls,
      injectFaults: (given) => void faults.push(given),
      refresh: async () => void calls.push('refresh'),
      stop: async () => void calls.push('stop'),
    }
  })
  const group = new LocalGroup(
    () => agents as unknown as readonly LocalAgent[],
    ({ text }) => entries.push(text),
  )
  return { group, agents, entries }
}

const shown = (directions: readonly Direction[]): readonly string[] =>
  directions.map(({ from, to }) => `${from}>${to}`)
const CUT = { cut: true } as const
const SLOW = { cut: false, delayMs: [5, 9], loss: 0 } as const

describe('the links of a group', () => {
  it('have two directions each', () => {
    expect(shown(lab().group.directions())).toEqual(['n1>n2', 'n1>n3', 'n2>n1', 'n2>n3', 'n3>n1', 'n3>n2'])
  })

  it.each<[readonly (readonly string[])[], readonly string[]]>([
    [[], []],
    [[['n1', 'n2', 'n3']], []],
    [
      [['n1'], ['n2', 'n3']],
      ['n1>n2', 'n1>n3', 'n2>n1', 'n3>n1'],
    ],
    // The rest is one more part.
    [[['n2']], ['n1>n2', 'n2>n1', 'n2>n3', 'n3>n2']],
    [
      [['n1'], ['n2'], ['n3']],
      ['n1>n2', 'n1>n3', 'n2>n1', 'n2>n3', 'n3>n1', 'n3>n2'],
    ],
  ])('between the parts %j are %j', (parts, expected) => {
    expect(shown(lab().group.between(parts))).toEqual(expected)
  })
})

describe('a fault', () => {
  it('acts on the messages that the receiver gets, and keeps its other faults', () => {
    const { group, agents } = lab()
    group.injectFault([{ from: 'n1', to: 'n2' }], CUT)
    group.injectFault([{ from: 'n3', to: 'n2' }], SLOW)
    expect(agents.map(({ faults }) => faults)).toEqual([[], [{ n1: CUT }, { n1: CUT, n3: SLOW }], []])
    expect([
      group.faultOf({ from: 'n1', to: 'n2' }),
      group.faultOf({ from: 'n2', to: 'n1' }),
      group.faultOf({ from: 'n3', to: 'n2' }),
    ]).toEqual([CUT, null, SLOW])
  })

  it('is sent once to each receiver, however many directions it has', () => {
    const { group, agents } = lab()
    group.injectFault(group.directions(), CUT)
    expect(agents.map(({ faults }) => faults)).toEqual([
      [{ n2: CUT, n3: CUT }],
      [{ n1: CUT, n3: CUT }],
      [{ n1: CUT, n2: CUT }],
    ])
  })

  it('is replaced by another, and removed by null', () => {
    const { group, agents } = lab()
    const direction = { from: 'n1', to: 'n2' }
    group.injectFault([direction], CUT)
    group.injectFault([direction], SLOW)
    expect(group.faultOf(direction)).toEqual(SLOW)
    group.injectFault([direction], null)
    expect(group.faultOf(direction)).toBeNull()
    expect(agents[1]?.faults.at(-1)).toEqual({})
  })
})

describe('the log', () => {
  it('keeps the newest thousand entries, and reports each', () => {
    const { group, entries } = lab()
    for (let each = 1; each <= 1003; each++) group.report(`entry ${each}`)
    expect([group.log.length, group.log[0]?.text, group.log.at(-1)?.text]).toEqual([
      1000,
      'entry 4',
      'entry 1003',
    ])
    expect(entries).toHaveLength(1003)
    expect(group.log.every(({ atMs }) => atMs >= 0 && atMs <= group.elapsedMs)).toBe(true)
  })

  it('is open to the agents while they are made', () => {
    const group = new LocalGroup((takeLogLine) => {
      setImmediate(() => takeLogLine('n1', 'late'))
      return []
    })
    return new Promise<void>((resolve) => {
      setImmediate(() => {
        expect(group.log.map(({ text }) => text)).toEqual(['n1: late'])
        resolve()
      })
    })
  })
})

it('says how long a failover took, beside the new leader', () => {
  let take: (id: string, line: string) => void = () => {}
  const group = new LocalGroup((takeLogLine) => {
    take = takeLogLine
    return []
  })
  const line = (event: string, token: number, time: string): string =>
    JSON.stringify({ event, token, reason: event, time: `2026-01-01T00:00:${time}Z` })
  take('n1', line('elected', 1, '01.000'))
  take('n1', line('revoked', 1, '02.000'))
  take('n2', line('elected', 2, '02.150'))
  take('n2', JSON.stringify({ event: 'change', leader: 'n2' }))
  expect(group.log.map(({ text }) => text)).toEqual([
    'n1 leads with token 1 (elected)',
    'n1 no longer leads with token 1 (revoked)',
    'n2 leads with token 2 (elected), 150 ms after n1 stopped leading',
  ])
})

it('finds its leaders, and refreshes and stops all agents', async () => {
  const { group, agents } = lab()
  expect(group.leaders.map(({ id }) => id)).toEqual(['n1'])
  for (const agent of agents) agent.isLeader = agent.id !== 'n1'
  expect(group.leaders.map(({ id }) => id)).toEqual(['n2', 'n3'])
  await group.refresh()
  await group.stop()
  expect(agents.map(({ calls }) => calls)).toEqual([1, 2, 3].map(() => ['refresh', 'stop']))
})
