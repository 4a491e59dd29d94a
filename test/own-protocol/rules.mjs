/**
 * Seniority: of the nodes that hear a majority, the one with the lowest id leads. Every node sends `alive` to all others
 * once per period, and counts a peer as alive for as long as `patienceMs` after its last message.
 *
 * It is a small protocol for tests: a partition and slow messages can give it two leaders for a moment.
 *
 * @import { Identity, Message, Micros, NodeId, Protocol, Step, View } from 'conclave/core'
 *
 * @typedef {{ readonly id: NodeId, readonly at: Micros, readonly willing: boolean, readonly token: number | null }} Peer
 * @typedef {{ readonly term: number, readonly willing: boolean, readonly restUntil: Micros, readonly peers: readonly Peer[], readonly token: number | null }} State
 * @typedef {{ readonly periodMs: number, readonly patienceMs: number }} Options
 */
import {
  compareIds,
  define,
  microsOf,
  millisecondsOr,
  output,
  persist,
  sendAll,
  setTimer,
} from 'conclave/core'
import { z } from 'zod'

export const NAME = 'seniority'
const BEAT = 'beat'

/** @param {Identity} identity @param {Options} options */
export function seniority({ self, nodes }, { periodMs, patienceMs }) {
  const others = nodes.filter((id) => id !== self)
  /** Peers that must be alive beside this node. */
  const needed = Math.floor(nodes.length / 2)
  const [period, patience] = [microsOf(periodMs), microsOf(patienceMs)]

  /** @param {State} state @param {Micros} now */
  const alive = ({ peers }, now) => peers.filter(({ at }) => now < at + patience)

  /** When a majority no longer counts as alive, if nothing more is heard. @param {State} state @returns {Micros | null} */
  function aliveUntil({ peers }) {
    const instants = peers.map(({ at }) => at + patience).sort((a, b) => b - a)
    return instants[needed - 1] ?? null
  }

  /** @param {State} state @param {Micros} now */
  function mayLead(state, now) {
    const known = alive(state, now)
    const isCandidate = state.willing && now >= state.restUntil
    return (
      isCandidate &&
      known.length >= needed &&
      known.every(({ id, willing }) => !willing || compareIds(self, id) < 0)
    )
  }

  /** @param {State} state @param {Micros} now @param {string} cause @returns {Step<State>} */
  function decided(state, now, cause) {
    const leads = mayLead(state, now)
    if (leads === (state.token !== null)) return { state, effects: [] }
    if (!leads) {
      const demoted = output({ type: 'demoted', token: state.token, cause })
      return { state: { ...state, token: null }, effects: [demoted] }
    }
    const term = state.term + 1
    const elected = output({ type: 'elected', token: term, cause: 'elected' })
    return { state: { ...state, term, token: term }, effects: [persist({ term }), elected] }
  }

  /** @param {State} state @param {Micros} now @returns {Step<State>} */
  function beat(state, now) {
    const step = decided(state, now, 'expired')
    const { term, willing, restUntil, token } = step.state
    const message = { kind: 'alive', term, willing: willing && now >= restUntil, token }
    return {
      state: step.state,
      effects: [...step.effects, ...sendAll(others, message), setTimer(BEAT, now + period)],
    }
  }

  /** @param {State} state @param {NodeId} from @param {Message} body @param {Micros} now @returns {Step<State>} */
  function receive(state, from, body, now) {
    const { term, willing, token } = /** @type {Message & Pick<State, 'term' | 'willing' | 'token'>} */ (body)
    const peers = [...state.peers.filter(({ id }) => id !== from), { id: from, at: now, willing, token }]
    const next = {
      ...state,
      term: Math.max(state.term, term),
      peers: peers.sort((a, b) => compareIds(a.id, b.id)),
    }
    return decided(next, now, 'superseded')
  }

  /** @type {Protocol<State>} */
  const protocol = {
    start(stable, now) {
      const { term } = /** @type {{ readonly term: number } | null} */ (stable) ?? { term: 0 }
      const state = { term, willing: true, restUntil: now, peers: [], token: null }
      return { state, effects: [setTimer(BEAT, now)] }
    },
    step(state, input, now) {
      if (input.type === 'timer') return beat(state, now)
      if (input.type === 'message') return receive(state, input.from, input.body, now)
      if (input.type === 'suspended') return decided({ ...state, peers: [] }, now, 'suspended')
      if (input.type !== 'command') return { state, effects: [] }
      const { command } = input
      if (command.do === 'campaign')
        return decided({ ...state, willing: command['willing'] === true }, now, 'stepped down')
      if (command.do === 'stepDown')
        return decided({ ...state, restUntil: now + 2 * patience }, now, 'stepped down')
      return { state, effects: [] }
    },
    view(state, now) {
      const until = aliveUntil(state)
      const leads = state.token !== null && until !== null && now < until
      const leader = leads ? null : alive(state, now).find(({ token }) => token !== null)
      return {
        role: leads ? 'leader' : 'follower',
        leader: leads ? self : (leader?.id ?? null),
        token: leads ? state.token : (leader?.token ?? null),
        until: leads ? until : null,
        members: null,
        detail: null,
      }
    },
    shift: (state, by) => ({
      ...state,
      restUntil: state.restUntil + by,
      peers: state.peers.map((peer) => ({ ...peer, at: peer.at + by })),
    }),
  }
  return protocol
}

const commands = () =>
  z.discriminatedUnion('do', [
    z.strictObject({ do: z.literal('stepDown') }),
    z.strictObject({ do: z.literal('campaign'), willing: z.boolean(), lapse: z.boolean().default(false) }),
  ])

export const protocol = define({
  name: NAME,
  title: 'the lowest id that hears a majority leads; for tests',
  source: 'test/own-protocol',
  kinds: ['alive'],
  prefers: 'lowest',
  leastNodes: 2,
  options: () =>
    z.strictObject({
      periodMs: millisecondsOr(50, 'how often a node says that it is alive'),
      patienceMs: millisecondsOr(300, 'how long a peer counts as alive after its last message'),
    }),
  commands,
  promises: ['live-leader'],
  goals: ['elected'],
  create: (identity, options) =>
    /** @type {Protocol} */ (/** @type {unknown} */ (seniority(identity, options))),
  settlesWithin: ({ periodMs, patienceMs }, maxDelay) =>
    microsOf(3 * patienceMs + 2 * periodMs) + 2 * maxDelay,
})
