/**
 * What applications need beyond the paper: leases that expire without renewal, leaders that yield on command, lost
 * stable data.
 */
import { describe, expect, it } from 'vitest'
import { simulate } from '../../../test/support/run.ts'
import type { Effect, NodeId, Output, PlainObject } from '../../core/index.ts'
import { checkedOptions, type Report } from '../../workbench/sim/index.ts'
import type { Observation } from '../../workbench/trace/index.ts'
import { localLeaderDefinition } from './index.ts'
import { type Beacon, type Election, NO_EPOCH } from './messages.ts'
import { forgetfulStable } from './stable.ts'

function run(file: PlainObject): Report & { readonly outputs: readonly Output[] } {
  const outputs: Output[] = []
  const observe = (seen: Observation): void => {
    if (seen.type === 'output') outputs.push(seen.event)
  }
  const whole = {
    protocol: 'local-leader',
    nodes: [1, 2, 3],
    network: { delayMs: 2 },
    untilMs: 2000,
    ...file,
  }
  const report = simulate(whole, { strict: false, observe })
  expect(report.specs.filter(({ verdict }) => verdict === 'violated')).toEqual([])
  return { ...report, outputs }
}

const histories = ({ leaderships }: Report): readonly (readonly [NodeId, string | null])[] =>
  leaderships.map(({ node, ended }) => [node, ended])

const campaign = (node: NodeId, willing: boolean, lapse: boolean): PlainObject => ({
  node,
  do: 'campaign',
  willing,
  lapse,
})

describe('a leader that withdraws', () => {
  it('releases its supporters at once', () => {
    const report = run({ events: [{ atMs: 1000, command: campaign(1, false, false) }] })
    expect(histories(report)).toEqual([
      [1, 'withdrew'],
      [2, null],
    ])
    expect(report.leaderships[0]?.untilMs).toBe(1000)
  })

  it('with lapse keeps its lease until it expires, and no other node leads before', () => {
    const report = run({ events: [{ atMs: 1000, command: campaign(1, false, true) }] })
    expect(histories(report)).toEqual([
      [1, 'expired'],
      [2, null],
    ])
    const [first, second] = report.leaderships
    expect(first?.untilMs).toBeGreaterThan(1000)
    // One renewal may have been pending; none follows.
    expect(first?.untilMs).toBeLessThan(1110)
    expect(second?.fromMs).toBeGreaterThanOrEqual(first?.untilMs as number)
    expect(second?.fromMs).toBeLessThan(1300)
  })

  it('keeps leading when it wants to lead again before the lease expires', () => {
    const events = [
      { atMs: 1000, command: campaign(1, false, true) },
      { atMs: 1030, command: campaign(1, true, false) },
    ]
    expect(histories(run({ events }))).toEqual([[1, null]])
  })

  it('can still release a lease that was to expire', () => {
    const events = [
      { atMs: 1000, command: campaign(1, false, true) },
      { atMs: 1010, command: campaign(1, false, false) },
    ]
    const report = run({ events })
    expect(histories(report)[0]).toEqual([1, 'withdrew'])
    expect(report.leaderships[0]?.untilMs).toBe(1010)
  })
})

describe('a leader that yields on command', () => {
  const options = { yieldWhenTold: true }
  const outranked = { atMs: 1000, command: { node: 3, do: 'setPriority', priority: 5 } }

  it('reports that it is outranked, and hands over when it receives stepDown', () => {
    const report = run({
      options,
      events: [outranked, { atMs: 1060, command: { node: 1, do: 'stepDown' } }],
    })
    expect(histories(report)).toEqual([
      [1, 'stepped down'],
      [3, null],
    ])
    expect(report.leaderships[0]?.untilMs).toBe(1060)
    expect(report.outputs).toContainEqual({ type: 'yield', token: 1, cause: 'outranked' })
  })

  it('lets its lease expire when no stepDown arrives', () => {
    const report = run({ options, events: [outranked] })
    expect(histories(report)).toEqual([
      [1, 'expired'],
      [3, null],
    ])
  })

  it('reports that its rotation period is over', () => {
    const report = run({ options: { ...options, termMs: 500 } })
    expect(report.outputs).toContainEqual({ type: 'yield', token: 1, cause: 'term over' })
    expect(histories(report)).toEqual([[1, null]])
  })

  it('after a sleep keeps its supporters until their locks expire', () => {
    const events = [{ atMs: 1000, suspend: 1, forMs: 30 }]
    const released = (chosen: PlainObject): number => {
      const report = run({ options: chosen, events, untilMs: 1100 })
      expect(histories(report)[0]).toEqual([1, 'suspended'])
      return report.messages.byKind['Release'] ?? 0
    }
    expect(released({})).toBeGreaterThan(0)
    expect(released(options)).toBe(0)
  })

  it('that removed itself leads until it receives stepDown, and no longer than its lease', () => {
    const remove = { atMs: 500, command: { node: 1, do: 'removeVoter', voter: 1 } }
    const report = run({ options, events: [remove] })
    expect(report.outputs).toContainEqual({ type: 'yield', token: 1, cause: 'no longer a voter' })
    expect(histories(report)).toEqual([
      [1, 'expired'],
      [2, null],
    ])
  })

  it('keeps its promises under faults', () => {
    for (let seed = 1; seed <= 15; seed++) {
      const events = [
        { atMs: 400 + 13 * seed, command: { node: 3, do: 'setPriority', priority: 5 } },
        { atMs: 700 + 7 * seed, pause: 3, forMs: 20 * seed },
        { atMs: 900, suspend: 2, forMs: 10 * seed },
        { atMs: 1000 + 11 * seed, command: { node: 3, do: 'setPriority', priority: -1 } },
      ]
      const network = { delayMs: [0.1, 4], loss: 0.02 }
      const report = run({ options, seed, events, network, clocks: { driftPpm: 100 } })
      expect(report.leaderships.length).toBeGreaterThan(1)
    }
  })
})

const beacon: Beacon = {
  candidate: true,
  low: 0,
  priority: 9,
  incumbent: false,
  heard: true,
  seen: NO_EPOCH,
  lease: null,
}

function started(stable: PlainObject | null) {
  const options = checkedOptions(localLeaderDefinition, [1, 2, 3], { link: 'none' })
  const protocol = localLeaderDefinition.create({ self: 1, nodes: [1, 2, 3] }, options)
  return { protocol, state: protocol.start(stable, 0).state }
}

const asking = (epoch: number, more: Partial<Election> = {}): Election => ({
  kind: 'Election',
  beacon,
  request: { incarnation: 1, counter: 1 },
  epoch,
  renew: false,
  config: { id: [0, 0], sets: [[1, 2, 3]] },
  certificate: null,
  view: null,
  wanted: null,
  tree: null,
  ...more,
})

const supports = (effects: readonly Effect[]): boolean =>
  effects.some(
    (effect) =>
      effect.type === 'send' &&
      effect.body.kind === 'Reply' &&
      JSON.stringify(effect.body['votes']).includes('"support":true'),
  )

describe('a node without stable data', () => {
  const stable = forgetfulStable(1, [1, 2, 3], 5000)

  it('is silent at first, and then supports larger epochs only', () => {
    const { protocol, state } = started(stable)
    const ask = (epoch: number, now: number): boolean =>
      supports(
        protocol.step(state, { type: 'message', from: 2, body: asking(epoch), receipt: null }, now).effects,
      )
    expect(ask(6000, 1000)).toBe(false)
    const late = 10_000_000
    const awake = protocol.step(state, { type: 'timer', name: 'heartbeat' }, late).state
    const asked = (epoch: number): boolean =>
      supports(
        protocol.step(awake, { type: 'message', from: 2, body: asking(epoch), receipt: null }, late).effects,
      )
    expect([asked(4999), asked(5000), asked(5001)]).toEqual([false, false, true])
  })
})

describe('a message that names an unknown node', () => {
  it.each<[string, Partial<Election>]>([
    ['as owner of a certificate', { certificate: { owner: 9, request: { incarnation: 1, counter: 4 } } }],
    ['among the voters', { config: { id: [1, 1], sets: [[1, 2, 9]] } }],
    ['in a tree', { tree: [2, 9, 1] }],
  ])('%s does not crash the node: the difference is reported', (_, more) => {
    const { protocol, state } = started(null)
    const body = asking(7, more)
    const { effects } = protocol.step(state, { type: 'message', from: 2, body, receipt: null }, 1000)
    expect(effects).toContainEqual({
      type: 'output',
      event: { type: 'mismatch', peer: 2, field: 'peers', ours: [1, 2, 3], theirs: 9 },
    })
  })

  it('as the receiver of an answer is not forwarded', () => {
    const { protocol, state } = started(null)
    const body = {
      kind: 'Reply',
      beacon,
      candidate: 9,
      request: { incarnation: 1, counter: 1 },
      votes: [{ node: 2, support: true }],
      promised: NO_EPOCH,
      config: { id: [0, 0], sets: [[1, 2, 3]] },
    }
    const { effects } = protocol.step(state, { type: 'message', from: 2, body, receipt: null }, 1000)
    expect(effects.map(({ type }) => type)).toEqual(['output'])
  })
})
