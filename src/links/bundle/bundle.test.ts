/** What a bundle asserts about the terms of its groups. The conformance suite checks it as the world of its groups. */
import { describe, expect, it } from 'vitest'
import {
  AssertionFailedError,
  type Command,
  type Output,
  output,
  type PlainObject,
  type Protocol,
} from '../../core/index.ts'
import { bundle } from './bundle.ts'
import type { Group } from './group.ts'

/** Puts out what a command says. */
const speaker: Protocol = {
  start: () => ({ state: 0, effects: [] }),
  step(state, input) {
    const event = input.type === 'command' ? (input.command['event'] as unknown as Output) : null
    return { state, effects: event === null ? [] : [output(event)] }
  },
  view: () => ({ role: 'follower', leader: null, token: null, until: null, members: null, detail: null }),
  shift: (state) => state,
}

const group: Group = {
  protocol: speaker,
  kinds: [],
  nodes: ['a'],
  agreed: {},
  terms: { leastDelay: 0, fast: 1000, rho: 0, stampAge: 1000 },
  slack: 1,
  adopt: (state) => state as PlainObject,
}

/** The outputs of two groups that say these things in turn. */
function say(...said: readonly (readonly [group: string, event: Output])[]): readonly unknown[] {
  const room = { most: 1000, weigh: () => 1 }
  const protocol = bundle({ self: 'a', open: () => group, room, groups: { g: {}, h: {} } })
  let { state } = protocol.start(null, 0)
  return said.flatMap(([name, event]) => {
    const command: Command = { do: 'act', event }
    const tell = { do: 'tell', group: name, command } as const
    const step = protocol.step(state, { type: 'command', command: tell }, 0)
    ;({ state } = step)
    return step.effects.map((effect) => (effect.type === 'output' ? effect.event['token'] : effect.type))
  })
}

const elected = (token: number): Output => ({ type: 'elected', token, cause: 'elected' })
const demoted = (token: number): Output => ({ type: 'demoted', token, cause: 'expired' })

describe('the terms of groups in a bundle', () => {
  it('follow each other, in each group by itself', () => {
    expect(say(['g', elected(1)], ['h', elected(7)], ['g', demoted(1)], ['g', elected(2)])).toEqual([
      1, 7, 1, 2,
    ])
  })

  it.each([
    ['start while another is under way', [elected(1), elected(2)]],
    ['end twice', [elected(1), demoted(1), demoted(1)]],
    ['have a smaller token than the one before', [elected(2), demoted(2), elected(1)]],
  ])('never %s', (_, events) => {
    expect(() => say(...events.map((event) => ['g', event] as const))).toThrow(AssertionFailedError)
  })
})
