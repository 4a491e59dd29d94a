/**
 * Watches the leader, as a layer: the leader sends numbered heartbeats to all nodes, and a follower gets `link` down when
 * the estimator no longer trusts its leader.
 *
 * The layer learns from the protocol's outputs which node to watch (`elected`, `following`, `demoted`). A heartbeat from
 * another node comes from a node that believes to lead: it is passed up as `link` up. So is a heartbeat from a suspected
 * leader; the protocol decides whether to follow it again.
 *
 * Heartbeat i of a term is sent at the i-th period after its start, on the sender's clock; periods during which the
 * process does not run are skipped. The number follows from the clock, so sending changes no state.
 *
 * Outputs: `trust` when a watch begins or a suspicion is withdrawn, `suspect` when trust is lost, `unwatch` when a trusted
 * peer is no longer watched. A suspicion lasts beyond the watch, until a heartbeat arrives.
 */
import {
  type Effect,
  type Identity,
  type Input,
  type Layer,
  type LayerStep,
  type Micros,
  NOTHING,
  type NodeId,
  output,
  type Plain,
  sendAll,
  setTimer,
  stopTimer,
  withId,
  withoutId,
} from '../../core/index.ts'
import type { Estimator } from './estimator.ts'

export type LeaderWatch<E extends Plain> = {
  /** When this node began to lead, or null while it does not. */
  readonly leadsSince: Micros | null
  /** The leader that is watched, or null where there is none to watch. */
  readonly leader: NodeId | null
  /** What the estimator knows of it. */
  readonly estimate: E | null
  readonly suspected: readonly NodeId[]
}

export const HEARTBEAT = 'heartbeat'

const NAME = 'detector'
const BEAT = `${NAME}/beat`
const SILENCE = `${NAME}/silence`

type Heard = Input & { readonly type: 'message' }

export function leaderWatch<E extends Plain>(
  { self, nodes }: Identity,
  heartbeatEvery: Micros,
  estimator: Estimator<E>,
): Layer<LeaderWatch<E>> {
  type State = LeaderWatch<E>
  const others = nodes.filter((id) => id !== self)
  const start: State = { leadsSince: null, leader: null, estimate: null, suspected: [] }

  function beat(since: Micros, now: Micros): readonly Effect[] {
    const seq = Math.floor((now - since) / heartbeatEvery)
    const next = since + (seq + 1) * heartbeatEvery
    return [...sendAll(others, { kind: HEARTBEAT, seq }), setTimer(BEAT, next)]
  }

  function heartbeat(state: State, { from, body }: Heard, now: Micros): LayerStep<State> {
    if (from === state.leader) return ofLeader(state, from, body['seq'] as number, now)
    const inputs = [up(from)]
    const suspected = withoutId(state.suspected, from)
    if (suspected === state.suspected) return { state, effects: NOTHING, inputs }
    const effects = [transition('trust', from), transition('unwatch', from)]
    return { state: { ...state, suspected }, effects, inputs }
  }

  function ofLeader(before: State, leader: NodeId, seq: number, now: Micros): LayerStep<State> {
    const { estimate, trustedUntil } = estimator.arrival(before.estimate as E, seq, now)
    const { leadsSince, suspected } = before
    // Written out: this is what every heartbeat does, and a spread costs ten times as much.
    const state = estimate === before.estimate ? before : { leadsSince, leader, estimate, suspected }
    const silence = setTimer(SILENCE, Math.max(trustedUntil, now))
    if (!state.suspected.includes(leader)) return { state, effects: [silence], inputs: NOTHING }
    if (trustedUntil <= now) return { state, effects: NOTHING, inputs: [up(leader)] }
    return {
      state: { ...state, suspected: withoutId(state.suspected, leader) },
      effects: [transition('trust', leader), silence],
      inputs: [up(leader)],
    }
  }

  function silent(state: State): LayerStep<State> {
    const { leader } = state
    if (leader === null) return { state, effects: NOTHING, inputs: NOTHING }
    return {
      state: { ...state, suspected: withId(state.suspected, leader) },
      effects: [transition('suspect', leader)],
      inputs: [{ type: 'link', peer: leader, up: false }],
    }
  }

  /** The end of a watch. What is still suspected stays so: nothing has been heard that would say otherwise. */
  function unwatch({ leader, suspected }: State): readonly Effect[] {
    if (leader === null || suspected.includes(leader)) return NOTHING
    return [transition('unwatch', leader)]
  }

  function follow(state: State, leader: NodeId, now: Micros): LayerStep<State> {
    const isSame = leader === state.leader
    if (isSame && !state.suspected.includes(leader)) return { state, effects: NOTHING, inputs: NOTHING }
    // After a mistake about the same leader, what was learnt of its heartbeats still holds.
    const first = estimator.begin(isSame ? state.estimate : null, now)
    return {
      state: {
        leadsSince: state.leadsSince,
        leader,
        estimate: first.estimate,
        suspected: withoutId(state.suspected, leader),
      },
      effects: [
        ...(isSame ? NOTHING : unwatch(state)),
        transition('trust', leader),
        setTimer(SILENCE, first.trustedUntil),
      ],
      inputs: NOTHING,
    }
  }

  return {
    name: NAME,
    start: () => ({ state: start, effects: NOTHING, inputs: NOTHING }),
    below(state, input, now) {
      if (input.type === 'message' && input.body.kind === HEARTBEAT) return heartbeat(state, input, now)
      if (input.type !== 'timer') return { state, effects: NOTHING, inputs: [input] }
      if (input.name === SILENCE) return silent(state)
      const effects = state.leadsSince === null ? NOTHING : beat(state.leadsSince, now)
      return { state, effects, inputs: NOTHING }
    },
    above: (state, message) => ({ state, effects: [message], inputs: NOTHING }),
    notice(state, event, now) {
      switch (event.type) {
        case 'elected':
          return {
            state: { ...start, leadsSince: now, suspected: state.suspected },
            effects: [...unwatch(state), stopTimer(SILENCE), ...beat(now, now)],
            inputs: NOTHING,
          }
        case 'following':
          return follow(state, event['leader'] as NodeId, now)
        case 'demoted':
          return { state: { ...state, leadsSince: null }, effects: [stopTimer(BEAT)], inputs: NOTHING }
        default:
          return { state, effects: NOTHING, inputs: NOTHING }
      }
    },
    shift: (state, by) => ({
      ...state,
      leadsSince: state.leadsSince === null ? null : state.leadsSince + by,
      estimate: state.estimate === null ? null : estimator.shift(state.estimate, by),
    }),
  }
}

function transition(type: 'suspect' | 'trust' | 'unwatch', peer: NodeId): Effect {
  return output({ type, peer })
}

function up(peer: NodeId): Input {
  return { type: 'link', peer, up: true }
}
