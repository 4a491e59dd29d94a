/**
 * A ballot: one node is elected by a majority of votes, and every node has one vote.
 *
 * A node that has waited long enough becomes a candidate: it votes for itself and asks the others. A node that has not
 * voted yet votes for the first candidate that asks. A candidate with more than half of the votes has won, and says so.
 *
 * Any two majorities share a voter, so two winners would need a voter that voted twice. A voter must therefore
 * store its vote. `persistFirst: false` does so too late: it sends the vote, and then stores it.
 *
 * docs/tutorials/your-first-protocol.md builds this file step by step.
 *
 * @import { Effect, Identity, Input, Message, NodeId, Protocol, Step } from 'conclave/core'
 *
 * @typedef {{ readonly votedFor: NodeId | null, readonly votes: readonly NodeId[], readonly leader: NodeId | null }} State
 * @typedef {{ readonly votedFor: NodeId }} Stable What survives a crash.
 * @typedef {{ readonly patienceMs: number, readonly persistFirst: boolean }} Options
 */
import {
  define,
  microsOf,
  millisecondsOr,
  NOTHING,
  output,
  persist,
  send,
  sendAll,
  setTimer,
  stopTimer,
  withId,
} from 'conclave/core'
import { z } from 'zod'
import { oneWinner } from './one-winner.mjs'

const REQUEST = { kind: 'request' }
const VOTE = { kind: 'vote' }
const WON = { kind: 'won' }

/** The one timer: when it fires, a node that has not voted stands. */
const STAND = 'stand'

/**
 * @param {Identity} identity
 * @param {Options} options
 * @returns {Protocol<State, Message, never, Stable>}
 */
function ballot({ self, nodes }, { patienceMs, persistFirst }) {
  const others = nodes.filter((id) => id !== self)
  const isMajority = (/** @type {readonly NodeId[]} */ votes) => votes.length * 2 > nodes.length

  /** @param {State} state @returns {Step<State, Message, Stable>} */
  function unchanged(state) {
    return { state, effects: NOTHING }
  }

  /** @param {State} state @returns {Step<State, Message, Stable>} */
  function stand(state) {
    if (state.votedFor !== null) return unchanged(state)
    const asked = { ...state, votedFor: self }
    return counted(asked, self, [persist({ votedFor: self }), ...sendAll(others, REQUEST)])
  }

  /** @param {State} state @param {NodeId} candidate @returns {Step<State, Message, Stable>} */
  function onRequest(state, candidate) {
    // Asked again by the candidate that has this vote already: it may have crashed and forgotten.
    if (state.votedFor === candidate) return { state, effects: [send(candidate, VOTE)] }
    if (state.votedFor !== null) return unchanged(state)
    const vote = send(candidate, VOTE)
    const promise = persist({ votedFor: candidate })
    return {
      state: { ...state, votedFor: candidate },
      effects: [...(persistFirst ? [promise, vote] : [vote, promise]), stopTimer(STAND)],
    }
  }

  /**
   * A vote for this node, after the effects that brought it about.
   *
   * @param {State} state @param {NodeId} voter @param {readonly Effect<Message, Stable>[]} before
   * @returns {Step<State, Message, Stable>}
   */
  function counted(state, voter, before) {
    if (state.leader !== null) return unchanged(state)
    const votes = withId(state.votes, voter)
    if (!isMajority(votes)) return { state: { ...state, votes }, effects: before }
    // Votes mean nothing once the ballot is decided, so they are forgotten: one situation, one state.
    return {
      state: { ...state, votes: [], leader: self },
      effects: [...before, ...sendAll(others, WON), output({ type: 'elected' })],
    }
  }

  /** @param {State} state @param {NodeId} winner @returns {Step<State, Message, Stable>} */
  function onWon(state, winner) {
    if (state.leader === winner) return unchanged(state)
    return { state: { ...state, votes: [], leader: winner }, effects: [stopTimer(STAND)] }
  }

  /** @param {State} state @param {NodeId} from @param {string} kind @returns {Step<State, Message, Stable>} */
  function onMessage(state, from, kind) {
    if (kind === REQUEST.kind) return onRequest(state, from)
    if (kind === VOTE.kind) return counted(state, from, NOTHING)
    return onWon(state, from)
  }

  return {
    start(stable, now) {
      const votedFor = stable?.votedFor ?? null
      /** @type {State} */
      const state = { votedFor, votes: [], leader: null }
      if (votedFor === null) {
        return { state, effects: [setTimer(STAND, [now, now + microsOf(patienceMs)])] }
      }
      // Back from a crash: a candidate asks again, a voter keeps its promise.
      return votedFor === self ? counted(state, self, sendAll(others, REQUEST)) : unchanged(state)
    },
    step(state, input) {
      if (input.type === 'timer') return stand(state)
      if (input.type === 'message') return onMessage(state, input.from, input.body.kind)
      return unchanged(state)
    },
    view: ({ leader }) => ({
      role: leader === self ? 'leader' : leader === null ? 'candidate' : 'follower',
      leader,
      token: null,
      until: null,
      members: null,
      detail: null,
    }),
    shift: (state) => state,
  }
}

export const protocol = define({
  name: 'ballot',
  title: 'one vote per node; the candidate with a majority leads',
  source: 'docs/tutorials/your-first-protocol.md',
  kinds: [REQUEST.kind, VOTE.kind, WON.kind],
  options: () =>
    z.strictObject({
      patienceMs: millisecondsOr(300, 'how long a node waits, at most, before it stands'),
      persistFirst: z.boolean().default(true).describe('write a vote down before sending it'),
    }),
  promises: ['one-leader'],
  goals: ['elected'],
  create: ballot,
  settlesWithin: ({ patienceMs }, maxDelay) => microsOf(patienceMs) + 3 * maxDelay,
  swarm: {
    faults: ['crash', 'pause', 'suspend', 'partition', 'cut', 'cutOneWay', 'slow', 'loss', 'duplicate'],
    delayMs: [0.2, 50],
  },
})

export const specs = [oneWinner]
