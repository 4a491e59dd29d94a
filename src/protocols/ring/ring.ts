/**
 * The ring election of Chang and Roberts, as the lecture describes it, on reliable FIFO links.
 *
 * An `election` message carries the largest identifier seen so far around the ring. A node that receives its own
 * identifier has won, and sends `elected` around. The text leaves four decisions open (README.md, R2 to R6): a
 * participant discards a smaller identifier; a dynamic identifier is frozen when its node joins an election; a node
 * recognises its own message by the node in it, not by the value; and a node's own `elected` has no effect when it returns.
 *
 * Source: B. Franke, Distributed Systems, lecture 11, University of Edinburgh, 2006.
 */
import {
  type Identity,
  type Input,
  NOTHING,
  type NodeId,
  type Protocol,
  present,
  type Step,
  send,
  unlessSame,
  unreachable,
  type View,
} from '../../core/index.ts'
import { withLeaderNews } from '../news.ts'
import { compareKeys, type Key, type RingCommand, type RingMessage } from './messages.ts'
import type { RingRules } from './rules.ts'

export type RingState = {
  readonly participant: boolean
  /** The lecture's electd; null is its ⊥. */
  readonly elected: NodeId | null
  readonly load: number
  /** The node's identifier in the current election, frozen when it joined; null when it takes part in none. */
  readonly frozen: Key | null
}

export type RingOptions = { readonly load: number; readonly rules: RingRules }

type RingStep = Step<RingState, RingMessage>

export function ring(
  { self, nodes }: Identity,
  { load, rules }: RingOptions,
): Protocol<RingState, RingMessage, RingCommand> {
  const successor = present(nodes[(nodes.indexOf(self) + 1) % nodes.length], 'successor')

  function keyOf(state: RingState): Key {
    const now: Key = { load: state.load, node: self }
    return rules.keyInElection(now, state.frozen)
  }

  /** Joins the election unless it takes part already, and sends a message to the successor. */
  function join(state: RingState, key: Key, me: Key): RingStep {
    const joined: RingState = state.participant
      ? state
      : { participant: true, elected: null, load: state.load, frozen: me }
    return { state: joined, effects: [send(successor, { kind: 'election', key })] }
  }

  function handleElection(state: RingState, key: Key): RingStep {
    const me = keyOf(state)
    if (rules.isOwn(key, self, me)) {
      const won: RingState = { participant: false, elected: self, load: state.load, frozen: null }
      return { state: won, effects: [send(successor, { kind: 'elected', key: me })] }
    }
    if (compareKeys(key, me) > 0) return join(state, key, me)
    if (rules.shouldAnswerSmaller(state.participant)) return join(state, me, me)
    return { state, effects: NOTHING }
  }

  function handleElected(state: RingState, key: Key): RingStep {
    if (key.node === self) return { state, effects: NOTHING }
    const same = !state.participant && state.elected === key.node
    return {
      state: same ? state : { participant: false, elected: key.node, load: state.load, frozen: null },
      effects: [send(successor, { kind: 'elected', key })],
    }
  }

  function handleCommand(state: RingState, command: RingCommand): RingStep {
    switch (command.do) {
      case 'start': {
        if (state.participant) return { state, effects: NOTHING }
        const me: Key = { load: state.load, node: self }
        return join(state, me, me)
      }
      case 'setLoad':
        return {
          state: state.load === command.load ? state : { ...state, load: command.load },
          effects: NOTHING,
        }
      default:
        return unreachable(command)
    }
  }

  function react(state: RingState, input: Input<RingMessage, RingCommand>): RingStep {
    if (input.type === 'command') return handleCommand(state, input.command)
    if (input.type !== 'message') return { state, effects: NOTHING }
    return input.body.kind === 'election'
      ? handleElection(state, input.body.key)
      : handleElected(state, input.body.key)
  }

  return {
    start: () => ({ state: { participant: false, elected: null, load, frozen: null }, effects: NOTHING }),
    step(state, input) {
      const next = react(state, input)
      const after = unlessSame(state, next.state)
      return withLeaderNews(self, state.elected, after.elected, { state: after, effects: next.effects })
    },
    view: (state) => ringView(self, state.elected, state.participant, { load: state.load }),
    shift: (state) => state,
    settled: ({ leader }) => ({
      state: { participant: false, elected: leader, load, frozen: null },
      effects: NOTHING,
    }),
  }
}

export function ringView(
  self: NodeId,
  elected: NodeId | null,
  participant: boolean,
  detail: View['detail'],
): View {
  const role = elected === self ? 'leader' : participant ? 'candidate' : 'follower'
  return { role, leader: elected, token: null, until: null, members: null, detail }
}
