/** The bundle as the world of its groups: commands, labels, batches, timers, strangers. */
import { describe, expect, it } from 'vitest'
import {
  type Effect,
  hashPlain,
  type Input,
  type Message,
  type Output,
  output,
  type PlainObject,
  type Protocol,
  persist,
  send,
  setTimer,
  stopTimer,
} from '../../core/index.ts'
import { type BundleState, bundle, stateInBundle, tenantsIn } from './bundle.ts'
import { TICK } from './bundle-step.ts'
import type { BundleCommand, Group, Part } from './group.ts'

/** Counts its inputs, shows the last one, and does what a command lists. */
const puppet = (name: string): Protocol => ({
  start: (stable) => ({
    state: { name, inputs: 0, stable },
    effects: [output({ type: 'started', stable })],
  }),
  step(before, input) {
    const state = before as PlainObject
    const next = { ...state, inputs: (state['inputs'] as number) + 1 }
    const orders =
      input.type === 'command' ? (input.command['effects'] as unknown as readonly Effect[]) : null
    if (input.type === 'command' && orders?.length === 0) return { state: before, effects: [] }
    return {
      state: next,
      effects: orders ?? [output({ type: 'got', input: input })],
    }
  },
  view: (state) => ({
    role: 'leader',
    leader: name,
    token: null,
    until: null,
    members: null,
    detail: state as PlainObject,
  }),
  shift: (state, by) => ({ ...(state as PlainObject), shifted: by }),
})

const TERMS = { leastDelay: 20, fast: 1000, rho: 0.001, stampAge: 5000 }
/** The specification of a group overrides its defaults. */
const open = (name: string, spec: PlainObject): Group => ({
  protocol: puppet(name),
  kinds: ['word'],
  nodes: ['a', 'b'],
  agreed: { setting: spec['setting'] ?? 1 },
  terms: { ...TERMS, ...(spec['terms'] as object) },
  slack: (spec['slack'] as number) ?? 1,
  adopt: (state, former) => ({ ...(state as PlainObject), former: [...former] }),
})
const CONFIG = hashPlain({ setting: 1 })

class Process {
  readonly #protocol
  state: BundleState
  effects: readonly Effect[]

  constructor(groups: { readonly [name: string]: PlainObject }, stable: PlainObject | null = null) {
    const room = { most: 10, weigh: ({ body }: Part) => body['size'] as number }
    this.#protocol = bundle({ self: 'a', open, room, groups })
    const first = this.#protocol.start(stable, 1000)
    this.state = first.state
    this.effects = first.effects
  }

  give(input: Input<Message, BundleCommand>, now = 1000): readonly Effect[] {
    const step = this.#protocol.step(this.state, input, now)
    this.state = step.state
    this.effects = step.effects
    return this.effects
  }

  command(command: BundleCommand, now = 1000): readonly Effect[] {
    return this.give({ type: 'command', command }, now)
  }

  act(group: string, effects: readonly Effect[], now = 1000): readonly Effect[] {
    const command = { do: 'act', effects: effects as unknown as PlainObject[] }
    return this.command({ do: 'tell', group, command }, now)
  }

  hear(parts: readonly Part[], now = 1000, from = 'b'): readonly Effect[] {
    const body = { kind: 'bundle', parts } as unknown as Message
    const receipt = { trip: null, overtaken: false }
    return this.give({ type: 'message', from, body, receipt }, now)
  }

  get view() {
    return this.#protocol.view(this.state, 0)
  }

  shifted(by: number): BundleState {
    return this.#protocol.shift(this.state, by)
  }
}

const outputs = (effects: readonly Effect[]): readonly Output[] =>
  effects.flatMap((effect) => (effect.type === 'output' ? [effect.event] : []))
const word = (group: string, config = CONFIG): Part => ({ group, config, body: { kind: 'word' } })
const newTerms = (terms: PlainObject): Output => ({ type: 'session terms', ...terms })

describe('joining and leaving', () => {
  it('starts each group with its own stable data, sorted by name, and announces the terms', () => {
    const process = new Process({ h: {}, g: {} }, { g: 'data of g' })
    expect(outputs(process.effects)).toEqual([
      { type: 'started', stable: null, group: 'h' },
      { type: 'started', stable: 'data of g', group: 'g' },
      newTerms(TERMS),
    ])
    expect(tenantsIn(process.state).map(({ name }) => name)).toEqual(['g', 'h'])
  })

  it('announces nothing without groups', () => {
    expect(new Process({}).effects).toEqual([])
  })

  it('uses the strictest terms of all groups', () => {
    const process = new Process({ g: {} })
    const terms = { leastDelay: 50, fast: 900, rho: 0.01, stampAge: 4000 }
    const joined = process.command({ do: 'join', group: 'h', spec: { terms } })
    expect(outputs(joined).at(-1)).toEqual(newTerms({ leastDelay: 20, fast: 900, rho: 0.01, stampAge: 4000 }))
    expect(outputs(process.command({ do: 'leave', group: 'h' }))).toEqual([newTerms(TERMS)])
    expect(process.command({ do: 'leave', group: 'g' })).toEqual([])
  })

  it('stores the data that a join brings, before anything else', () => {
    const process = new Process({ g: {} }, { g: 1, old: 2 })
    const effects = process.command({ do: 'join', group: 'h', spec: {}, stable: 'x' })
    expect(effects[0]).toEqual(persist({ g: 1, old: 2, h: 'x' }))
    expect(outputs(effects)[0]).toEqual({ type: 'started', stable: 'x', group: 'h' })
  })

  it('keeps the data of a group that was left, for the next join', () => {
    const process = new Process({ g: {} })
    process.act('g', [persist('vote')])
    process.command({ do: 'leave', group: 'g' })
    expect(stateInBundle(process.state, 'g')).toBeNull()
    expect(outputs(process.command({ do: 'join', group: 'g', spec: {} }))[0]).toEqual({
      type: 'started',
      stable: 'vote',
      group: 'g',
    })
  })

  it.each<[BundleCommand, string, string]>([
    [{ do: 'join', group: 'g', spec: {} }, 'g', 'this process has joined the group already'],
    [{ do: 'leave', group: 'z' }, 'z', 'this process has not joined the group'],
    [{ do: 'regroup', group: 'z', spec: {} }, 'z', 'this process has not joined the group'],
    [{ do: 'tell', group: 'z', command: { do: 'x' } }, 'z', 'this process has not joined the group'],
    [{ do: 'hold', groups: ['z'], forMicros: 1 }, 'z', 'this process has not joined the group'],
  ])('refuses %j', (command, group, why) => {
    const process = new Process({ g: {} })
    const before = process.state
    expect(outputs(process.command(command))).toEqual([{ type: 'refused', group, command: command.do, why }])
    expect(process.state).toBe(before)
  })

  it('adopts a state under a new specification, with the former nodes', () => {
    const process = new Process({ g: {} })
    expect(outputs(process.command({ do: 'regroup', group: 'g', spec: { setting: 2 } }))).toEqual([
      newTerms(TERMS),
    ])
    expect(stateInBundle(process.state, 'g')).toEqual({
      name: 'g',
      inputs: 0,
      stable: null,
      former: ['a', 'b'],
    })
  })
})

describe('the effects of a group', () => {
  it('carry its name, and stable data comes first', () => {
    const process = new Process({ g: {}, h: {} })
    expect(
      process.act('h', [
        send('b', { kind: 'word', size: 4 }),
        output({ type: 'said' }),
        persist({ vote: 2 }),
      ]),
    ).toEqual([
      persist({ h: { vote: 2 } }),
      output({ type: 'said', group: 'h' }),
      send('b', {
        kind: 'bundle',
        parts: [{ group: 'h', config: CONFIG, body: { kind: 'word', size: 4 } }],
      } as unknown as Message),
    ])
  })

  it('fill one message per process, up to the size limit', () => {
    const process = new Process({ g: {} })
    const effects = process.act(
      'g',
      [4, 6, 2, 30, 1].map((size) => send('b', { kind: 'word', size })),
    )
    const loads = effects.map((effect) =>
      effect.type === 'send'
        ? (effect.body['parts'] as unknown as Part[]).map(({ body }) => body['size'])
        : [],
    )
    expect(loads).toEqual([[4, 6], [2], [30], [1]])
  })

  it('change nothing if the group does nothing', () => {
    const process = new Process({ g: {} })
    const before = process.state
    expect(process.act('g', [])).toEqual([])
    expect(process.state).toBe(before)
  })

  it('may not call registers', () => {
    const process = new Process({ g: {} })
    const call = { type: 'register', call: { id: 1, op: 'read', of: 'b' } } as const
    expect(() => process.act('g', [call])).toThrow('a group in a bundle has no shared registers')
  })
})

describe('timers', () => {
  const alarms = (effects: readonly Effect[]): readonly Effect[] =>
    effects.filter(({ type }) => type === 'setTimer' || type === 'stopTimer')
  const fired = (effects: readonly Effect[]): readonly unknown[] =>
    outputs(effects).map((event) => [event['group'], (event['input'] as PlainObject)['name']])
  const tick = (process: Process, now: number): readonly Effect[] =>
    process.give({ type: 'timer', name: TICK }, now)

  it('set one alarm, at the first deadline of all groups', () => {
    const process = new Process({ g: {}, h: {} })
    expect(alarms(process.act('g', [setTimer('t', 5000)]))).toEqual([setTimer(TICK, 5000)])
    expect(alarms(process.act('h', [setTimer('t', 7000)]))).toEqual([])
    expect(alarms(process.act('h', [setTimer('t', 4000)]))).toEqual([setTimer(TICK, 4000)])
    expect(alarms(process.act('h', [stopTimer('t')]))).toEqual([setTimer(TICK, 5000)])
    expect(alarms(process.act('g', [stopTimer('t')]))).toEqual([stopTimer(TICK)])
  })

  it('fire together when they are due, in the order of their deadlines', () => {
    const process = new Process({ g: {}, h: {} })
    process.act('g', [setTimer('late', 5000), setTimer('early', 3000), setTimer('later', 9000)])
    process.act('h', [setTimer('t', 5000)])
    const effects = tick(process, 5000)
    expect(fired(effects)).toEqual([
      ['g', 'early'],
      ['g', 'late'],
      ['h', 't'],
    ])
    expect(alarms(effects)).toEqual([setTimer(TICK, 9000)])
  })

  it('coalesce on the grid of their slack if there are several groups', () => {
    const alone = new Process({ g: { slack: 100 } })
    expect(alarms(alone.act('g', [setTimer('t', 5010)]))).toEqual([setTimer(TICK, 5010)])
    const two = new Process({ g: { slack: 100 }, h: { slack: 100 } })
    expect(alarms(two.act('g', [setTimer('t', 5010)]))).toEqual([setTimer(TICK, 5100)])
    expect(alarms(two.act('h', [setTimer('t', 5090)]))).toEqual([])
    expect(fired(tick(two, 5100))).toEqual([
      ['g', 't'],
      ['h', 't'],
    ])
  })

  it('are chosen from a range by a hash that differs with every draw', () => {
    const process = new Process({ g: {} })
    const drawn = [0, 1, 2].map((draws) => {
      process.act('g', [setTimer('t', [10_000, 20_000])])
      const at = tenantsIn(process.state)[0]?.timers[0]?.at
      expect(at).toBe(10_000 + (hashPlain(['a', 'g', draws]) % 10_001))
      return at
    })
    expect(new Set(drawn).size).toBe(3)
  })

  it('wait while the group is held, and its messages are lost', () => {
    const process = new Process({ g: {} })
    process.act('g', [setTimer('t', 2000)])
    expect(alarms(process.command({ do: 'hold', groups: ['g'], forMicros: 4000 }))).toEqual([
      setTimer(TICK, 5000),
    ])
    expect(process.hear([word('g')], 4999)).toEqual([])
    expect(fired(tick(process, 4999))).toEqual([])
    expect(fired(tick(process, 5000))).toEqual([['g', 't']])
    expect(outputs(process.hear([word('g')], 5000))).toHaveLength(1)
  })

  it('ignores timers of other names', () => {
    const process = new Process({ g: {} })
    process.act('g', [setTimer('t', 2000)])
    expect(process.give({ type: 'timer', name: 'other' }, 9000)).toEqual([])
  })
})

describe('messages', () => {
  it('reach the group that they name, with a receipt', () => {
    const process = new Process({ g: {}, h: {} })
    const [event] = outputs(process.hear([word('h'), word('unknown')]))
    expect(event).toEqual({
      type: 'got',
      group: 'h',
      input: {
        type: 'message',
        from: 'b',
        body: { kind: 'word' },
        receipt: { fast: false, bound: null, overtaken: false },
      },
    })
  })

  it('of an unknown kind are dropped', () => {
    const process = new Process({ g: {} })
    expect(process.hear([{ group: 'g', config: CONFIG, body: { kind: 'noise' } }])).toEqual([])
    expect(process.give({ type: 'message', from: 'b', body: { kind: 'word' }, receipt: null })).toEqual([])
  })

  it('under another configuration are answered with the own settings, at most once a second', () => {
    const process = new Process({ g: {} })
    const answer = send('b', {
      kind: 'bundle',
      parts: [{ group: 'g', config: 0, body: { kind: 'Settings', agreed: { setting: 1 } } }],
    })
    expect(process.hear([word('g', 99)], 1000)).toEqual([answer])
    expect(process.hear([word('g', 99)], 1_000_999)).toEqual([])
    expect(process.hear([word('g', 99)], 1_001_000)).toEqual([answer])
  })

  it('of a process outside the group are answered with the list of nodes, and reported once', () => {
    const process = new Process({ g: {} })
    const mismatch = {
      type: 'mismatch',
      peer: 'c',
      field: 'nodes',
      ours: ['a', 'b'],
      theirs: null,
      group: 'g',
    }
    const [report, answer] = process.hear([word('g')], 1000, 'c')
    expect(report).toEqual(output(mismatch))
    expect(answer?.type === 'send' && answer.body['parts']).toEqual([
      { group: 'g', config: 0, body: { kind: 'Settings', agreed: { setting: 1, nodes: ['a', 'b'] } } },
    ])
    expect(outputs(process.hear([word('g')], 2_000_000, 'c'))).toEqual([])
  })

  it('with settings report the first that differs, once', () => {
    const process = new Process({ g: {} })
    const settings = { group: 'g', config: 0, body: { kind: 'Settings', agreed: { setting: 2 } } }
    expect(outputs(process.hear([settings]))).toEqual([
      { type: 'mismatch', peer: 'b', field: 'setting', ours: 1, theirs: 2, group: 'g' },
    ])
    expect(process.hear([settings])).toEqual([])
  })
})

describe('the whole bundle', () => {
  it('passes links and suspensions to every group, and replies of registers to none', () => {
    const process = new Process({ g: {}, h: {} })
    const groups = (input: Input<Message, BundleCommand>): readonly unknown[] =>
      outputs(process.give(input)).map((event) => event['group'])
    expect(groups({ type: 'link', peer: 'b', up: false })).toEqual(['g', 'h'])
    expect(groups({ type: 'suspended', by: 5 })).toEqual(['g', 'h'])
    const call = { id: 1, op: 'read', of: 'b' } as const
    expect(groups({ type: 'register', call, outcome: 'ok', value: null })).toEqual([])
  })

  it('shows the views of its groups, and leads nothing itself', () => {
    const { view } = new Process({ g: {} })
    expect([view.role, view.leader]).toEqual(['follower', null])
    expect(view.detail?.['groups']).toEqual({
      g: expect.objectContaining({ role: 'leader', leader: 'g' }),
    })
  })

  it('shifts its grid, its alarm and every group', () => {
    const process = new Process({ g: {} })
    process.act('g', [setTimer('t', 5000)])
    const later = process.shifted(100)
    expect([later.origin, later.alarm, later.tenants[0]?.due]).toEqual([1100, 5100, 5100])
    expect(later.tenants[0]?.state).toEqual(expect.objectContaining({ shifted: 100 }))
    expect(new Process({}).shifted(100).alarm).toBeNull()
  })

  it('is found below a layer as well', () => {
    const { state } = new Process({ g: {} })
    expect(stateInBundle({ upper: state, layer: {} }, 'g')).toEqual(stateInBundle(state, 'g'))
  })
})
