/** Omega+ in a real process: beside other groups, over the sessions of the process, with commands of applications. */
import { describe, expect, it } from 'vitest'
import {
  type Command,
  compareIds,
  type Definition,
  type Message,
  type NodeId,
  type Output,
  type PlainObject,
  present,
} from '../../core/index.ts'
import { type Datagram, stateInBundle } from '../../links/index.ts'
import { checkedOptions, parseScenario, runScenario } from '../../workbench/sim/index.ts'
import { type GroupSpec, groupFor, host } from '../host.ts'
import { protocolNamed } from '../index.ts'
import { omegaDefinition } from './index.ts'
import { checkedStable } from './stable.ts'

const NODES: readonly NodeId[] = [1, 2, 3, 4, 5]

function specOf(protocol: GroupSpec['protocol'], options: PlainObject = {}): GroupSpec {
  const definition = present(protocolNamed(protocol), protocol)
  return { protocol, nodes: NODES, options: checkedOptions(definition, NODES, options) }
}

const commandGroup = (command: Command) =>
  ({ type: 'command', command: { do: 'tell', group: 'views', command } }) as const

/** A process with a group of omega and possibly others. The definition shows only the group of omega. */
const among = (others: { readonly [name: string]: GroupSpec }): Definition => ({
  ...omegaDefinition,
  name: 'hosted-omega',
  kinds: ['datagram'],
  linkKinds: [],
  kindOf: ({ kind }) => kind,
  keeps: () => ({ promises: [], goals: [] }),
  create({ self }, options) {
    const spec = specOf('omega', options)
    const whole = host({ self, groups: { views: spec, ...others } })
    const { protocol } = groupFor(self, spec)
    return {
      ...whole,
      step: (state, input, now) =>
        whole.step(state, input.type === 'command' ? commandGroup(input.command) : input, now),
      view: (state, now) => protocol.view(stateInBundle(state, 'views'), now),
    }
  },
})

const alone = among({})

type Seen = { readonly atMs: number; readonly node: NodeId; readonly event: Output }

function run(events: readonly PlainObject[], untilMs: number, more: PlainObject = {}, definition = alone) {
  const seen: Seen[] = []
  const scenario = parseScenario(
    { protocol: 'hosted-omega', nodes: NODES, untilMs, events, seed: 3, ...more },
    { names: ['hosted-omega'], find: () => definition },
  )
  const report = runScenario(definition, scenario, {
    strict: definition !== alone,
    observe(what) {
      if (what.type === 'output' && what.event['group'] === 'views')
        seen.push({ atMs: what.at / 1000, node: what.node, event: what.event })
    },
  })
  const tokensOf = (type: string, node: NodeId) =>
    seen.flatMap((each) =>
      each.node === node && each.event.type === type ? [each.event['token'] as number] : [],
    )
  return { report, seen, tokensOf }
}

const command = (atMs: number, node: NodeId, words: PlainObject): PlainObject => ({
  atMs,
  command: { node, ...words },
})

describe('a group of omega in a process', () => {
  it('agrees on a view beside a group of another protocol, and shows until when it is in quorum', () => {
    const { report, seen } = run([], 1000, {}, among({ leases: specOf('local-leader') }))
    expect(report.leaders).toEqual([1])
    expect(report.groups).toEqual([[1, 2, 3, 4, 5]])
    const until = report.nodes['1']?.untilMs as number
    expect(until).toBeGreaterThan(1000)
    expect(until).toBeLessThanOrEqual(1500)
    // Every link came up once, at both ends.
    const links = seen.filter(({ event }) => event.type === 'link')
    expect(links).toHaveLength(20)
    expect(links.every(({ event }) => event['up'] === true)).toBe(true)
  })

  it.each(NODES)(
    'installs one view at each other node within three round trips after the last has detected the failure of %i',
    (victim) => {
      const failedAt = 3000 + 37 * Number(victim)
      const { seen } = run([{ atMs: failedAt, crash: victim }], 5000, { network: { delayMs: 10 } })
      const after = seen.filter(({ atMs }) => atMs > failedAt)
      const of = (type: string): readonly Seen[] => after.filter(({ event }) => event.type === type)
      const others = NODES.filter((id) => id !== victim)
      expect(of('link').map(({ event }) => [event['peer'], event['up']])).toEqual(
        others.map(() => [victim, false]),
      )
      expect(
        of('view')
          .map(({ node }) => node)
          .toSorted(compareIds),
      ).toEqual(others)
      const last = (type: string): number => Math.max(...of(type).map(({ atMs }) => atMs))
      expect(last('link') - failedAt).toBeLessThanOrEqual(500 + 20)
      expect(last('view') - last('link')).toBeLessThanOrEqual(3 * 20)
    },
  )

  it('admits a node again that stepped down, and another node leads with a larger token', () => {
    const { report, tokensOf } = run([command(3000, 1, { do: 'stepDown' })], 6000)
    expect(report.leaders).toEqual([2])
    expect(report.groups).toEqual([[1, 2, 3, 4, 5]])
    expect(tokensOf('demoted', 1).at(-1)).toBe(tokensOf('elected', 1).at(-1))
    expect(report.nodes['2']?.token).toBeGreaterThan(tokensOf('elected', 1).at(-1) as number)
  })

  it('replaces an ineligible leader by the next eligible node, without a new life', () => {
    const withdraw = { do: 'campaign', willing: false, lapse: false }
    const { report } = run([command(3000, 1, withdraw), command(3000, 2, withdraw)], 6000)
    expect(report.leaders).toEqual([3])
    expect(report.groups).toEqual([[1, 2, 3, 4, 5]])
    expect(report.nodes['1']).toMatchObject({ life: 1, role: 'follower' })
  })

  it('has no leader while all nodes are ineligible, and elects the first that is eligible again', () => {
    const withdraw = (node: NodeId) => command(3000, node, { do: 'campaign', willing: false, lapse: false })
    const back = command(5000, 4, { do: 'campaign', willing: true, lapse: false })
    const { report } = run([...NODES.map(withdraw), back], 7000, { checkpointsMs: [4900] })
    expect(report.checkpoints['4900']?.leaders).toEqual([])
    expect(report.checkpoints['4900']?.nodes['5']).toMatchObject({ leader: null, inQuorum: true })
    expect(report.leaders).toEqual([4])
  })

  it.each(['pause', 'suspend'])('does not let a leader continue that was expelled during a %s', (what) => {
    const { report, tokensOf } = run([{ atMs: 3000, [what]: 1, forMs: 2000 }], 9000, {
      checkpointsMs: [4900, 5000.001],
    })
    const old = tokensOf('elected', 1)[tokensOf('elected', 1).length - 1] as number
    expect(report.checkpoints['4900']?.leaders).toContain(2)
    expect(report.checkpoints['5000.001']?.nodes['1']?.role).not.toBe('leader')
    expect(report.groups).toEqual([[1, 2, 3, 4, 5]])
    expect(report.leaders).toEqual([2])
    expect(report.nodes['2']?.token).toBeGreaterThan(old)
  })

  it('refuses an unknown command', () => {
    const { seen } = run([], 1000)
    expect(seen.some(({ event }) => event.type === 'refused')).toBe(false)
    const { protocol } = groupFor(1, specOf('omega'))
    const { state } = protocol.start(null, 0)
    const { effects } = protocol.step(state, { type: 'command', command: { do: 'addVoter', voter: 2 } }, 0)
    expect(effects).toEqual([
      {
        type: 'output',
        event: { type: 'refused', command: 'addVoter', why: 'omega has no such command' },
      },
    ])
  })

  it.each([
    ['views', 'Heartbeat'],
    ['leases', 'ping'],
    ['leases', 'frame'],
  ])('ignores in %s a %s, which belongs to another protocol', (group, kind) => {
    const whole = host({ self: 1, groups: { views: specOf('omega'), leases: specOf('local-leader') } })
    const started = whole.start(null, 0)
    // A message that the process sends in that group carries the right digest.
    let config = 0
    let { state } = started
    for (let at = 0; config === 0; at += 20_000) {
      const step = whole.step(state, { type: 'timer', name: 'bundle/tick' }, at)
      state = step.state
      for (const effect of [...started.effects, ...step.effects]) {
        if (effect.type !== 'send') continue
        const { body } = effect.body as unknown as Datagram
        const parts = (body as unknown as { parts: { group: string; config: number }[] } | null)?.parts ?? []
        config = parts.find((part) => part.group === group)?.config ?? config
      }
    }
    const foreign = { kind } as Message
    const datagram = {
      kind: 'datagram',
      config: 0,
      by: 1,
      for: 1,
      number: 1,
      sent: 0,
      echo: null,
      body: { kind: 'bundle', parts: [{ group, config, body: foreign }] },
    } as unknown as Message
    const step = whole.step(state, { type: 'message', from: 2, body: datagram, receipt: null }, 30_000_000)
    expect(stateInBundle(step.state, group)).toBe(stateInBundle(state, group))
  })
})

describe('stable data', () => {
  const good = {
    layer: 3,
    upper: {
      life: 2,
      view: { id: [0, null], members: [] },
      promised: [0, null],
      formed: { id: [0, null], members: [] },
      attempts: [],
    },
  }

  it('is accepted as it was written', () => {
    expect(checkedStable(good)).toBe(good)
    expect(checkedStable(null)).toBe(null)
  })

  it.each<[string, PlainObject]>([
    ['of another protocol', { layer: 3, upper: { incarnation: 1, lockTime: 5 } }],
    ['without a life', { layer: 3, upper: { ...good.upper, life: 0 } }],
    [
      'with a leader outside its view',
      { layer: 3, upper: { ...good.upper, view: { id: [1, 'a'], members: [['b', 1]] } } },
    ],
    ['without an incarnation', { layer: 0, upper: good.upper }],
  ])('%s keeps the process from taking part', (_what, data) => {
    expect(() => checkedStable(data)).toThrow(/stable data of this process/)
  })
})
