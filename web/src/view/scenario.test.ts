import { describe, expect, it } from 'vitest'
import { protocolNamed, protocols } from '../../../src/protocols/index.ts'
import { parseScenario, runScenario } from '../../../src/workbench/sim/index.ts'
import type { Cause, Term } from '../data/types.ts'
import { measured as measuredWith, statusWith } from './fixture.ts'
import { scenarioOf } from './scenario.ts'

const at = (seconds: number): string => new Date(Date.UTC(2030, 0, 1) + seconds * 1000).toISOString()

function term(leader: string | null, from: number, until: number | null, ended: Cause | null = null): Term {
  return {
    number: from + 1,
    leader,
    token: 1,
    from: at(from),
    until: until === null ? null : at(until),
    cause: null,
    ended,
  }
}

const because = (kind: Cause['kind'], node: string | null = 'a'): Cause => ({ kind, node, text: '' })
const history = (kind: Cause['kind']): readonly Term[] => [
  term(null, 0, 1),
  term('a', 1, 61, because(kind)),
  term(null, 61, 61.2),
  term('b', 61.2, null),
]

const KINDS: readonly (readonly [Cause['kind'], readonly object[]])[] = [
  [
    'crashed',
    [
      { atMs: 2500, crash: 'a' },
      { atMs: 3200, recover: 'a' },
    ],
  ],
  ['paused', [{ atMs: 2500, pause: 'a', forMs: 700 }]],
  ['late', [{ atMs: 2500, pause: 'a', forMs: 700 }]],
  ['slept', [{ atMs: 2500, suspend: 'a', forMs: 700 }]],
  [
    'partitioned',
    [
      { atMs: 2500, partition: [['a'], ['b', 'c']] },
      { atMs: 3200, heal: 'all' },
    ],
  ],
  [
    'slow-messages',
    [
      {
        atMs: 2500,
        slow: [
          ['a', 'b'],
          ['a', 'c'],
        ],
        delayMs: 100,
      },
      { atMs: 3200, heal: 'all' },
    ],
  ],
  ['handed-over', [{ atMs: 2500, command: { node: 'a', do: 'stepDown' } }]],
  ['stepped-down', [{ atMs: 2500, command: { node: 'a', do: 'stepDown' } }]],
  ['unknown', []],
  ['started', []],
]

describe('the history of a group as a scenario', () => {
  it.each(KINDS)('shows a term that ended because it was %s', (kind, events) => {
    expect(scenarioOf(statusWith(), history(kind))['events'] ?? []).toEqual(events)
  })

  it('leaves a node down that has not returned', () => {
    const { nodes } = statusWith()
    const status = { ...statusWith(), nodes: nodes.map((node) => ({ ...node, reachable: node.id !== 'a' })) }
    expect(scenarioOf(status, history('crashed'))['events']).toEqual([{ atMs: 2500, crash: 'a' }])
    expect(scenarioOf(status, history('unknown'))['events']).toEqual([{ atMs: 2500, crash: 'a' }])
  })

  it('has the nodes of the group, and delays as they were measured', () => {
    expect(scenarioOf(statusWith(), [])).toEqual({
      protocol: 'local-leader',
      nodes: ['a', 'b', 'c'],
      network: { delayMs: [0.2, 5] },
      clocks: { driftPpm: 50 },
      untilMs: 3000,
    })
  })

  it('assumes delays like the group, and takes as long as its elections do', () => {
    const measured = { ...measuredWith, deltaMs: 150 }
    expect(scenarioOf({ ...statusWith(), measured }, history('paused'))).toMatchObject({
      options: { profile: 'wan' },
      network: { delayMs: [10, 10] },
      events: [{ atMs: 15_000, pause: 'a', forMs: 700 }],
      untilMs: 27_200,
    })
  })

  it('has the roles and priorities of the nodes', () => {
    const { nodes } = statusWith()
    const roles = ['voter', 'witness', 'observer'] as const
    const status = {
      ...statusWith({ mode: 'local' }),
      nodes: nodes.map((node, index) => ({
        ...node,
        role: roles[index] ?? 'voter',
        priority: index === 0 ? 5 : 0,
      })),
    }
    expect(scenarioOf(status, [])['options']).toEqual({
      mode: 'local',
      witnesses: ['b'],
      observers: ['c'],
      priorities: { a: 5 },
    })
  })

  it.each([
    [{}, 'local-leader'],
    [{ view: null }, 'omega'],
    [{ mode: 'store' }, 'epochs'],
  ])('of the group %j runs in the simulator', (change, protocol) => {
    const status = { ...statusWith(), ...change } as ReturnType<typeof statusWith>
    for (const [kind] of KINDS) {
      const scenario = scenarioOf(status, history(kind))
      expect(scenario['protocol']).toBe(protocol)
      const parsed = parseScenario(scenario, {
        names: protocols.map(({ name }) => name),
        find: protocolNamed,
      })
      const definition = protocolNamed(parsed.protocol)
      expect(definition).not.toBeNull()
      if (definition !== null) expect(runScenario(definition, parsed).steps).toBeGreaterThan(10)
    }
  })
})
