/**
 * A failure detector with a fixed timeout, as a layer: every node sends heartbeats to every other, and a peer
 * from which nothing was heard for `suspectAfter` is reported as a link that is down, until it is heard again.
 *
 * Each peer has a timer of its own, moved on by every message that arrives: there is no arithmetic on
 * arrival times, and a heartbeat changes no state. The price is known: one late heartbeat postpones the
 * detection of a crash by as much.
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
  send,
  setTimer,
  withId,
  withoutId,
} from '../../core/index.ts'

export type FixedTimeout = { readonly heartbeatEvery: Micros; readonly suspectAfter: Micros }

export type Suspicions = { readonly suspected: readonly NodeId[] }

export const HEARTBEAT = { kind: 'heartbeat' } as const

const TICK = 'tick'

export function fixedTimeoutDetector({ self, nodes }: Identity, timing: FixedTimeout): Layer<Suspicions> {
  const peers = nodes.filter((id) => id !== self)
  const watchOf = new Map(peers.map((peer) => [peer, `silence of ${peer}`]))
  const peerOf = new Map(peers.map((peer) => [`silence of ${peer}`, peer]))

  function watch(peer: NodeId, now: Micros): Effect {
    return setTimer(watchOf.get(peer) as string, now + timing.suspectAfter)
  }

  function beat(now: Micros): Effect[] {
    const effects: Effect[] = peers.map((peer) => send(peer, HEARTBEAT))
    effects.push(setTimer(TICK, now + timing.heartbeatEvery))
    return effects
  }

  function heard(state: Suspicions, input: Input & { type: 'message' }, now: Micros): LayerStep<Suspicions> {
    const effects = [watch(input.from, now)]
    const inputs: Input[] = input.body.kind === HEARTBEAT.kind ? [] : [input]
    const suspected = withoutId(state.suspected, input.from)
    if (suspected === state.suspected) return { state, effects, inputs }
    return {
      state: { suspected },
      effects,
      inputs: [{ type: 'link', peer: input.from, up: true }, ...inputs],
    }
  }

  function silent(state: Suspicions, peer: NodeId): LayerStep<Suspicions> {
    return {
      state: { suspected: withId(state.suspected, peer) },
      effects: NOTHING,
      inputs: [{ type: 'link', peer, up: false }],
    }
  }

  return {
    name: 'detector',
    start: (_stable, now) => ({
      state: { suspected: [] },
      effects: [...peers.map((peer) => watch(peer, now)), ...beat(now)],
      inputs: NOTHING,
    }),
    below(state, input, now) {
      if (input.type === 'message') return heard(state, input, now)
      if (input.type !== 'timer') return { state, effects: NOTHING, inputs: [input] }
      if (input.name === TICK) return { state, effects: beat(now), inputs: NOTHING }
      return silent(state, peerOf.get(input.name) as NodeId)
    },
    above: (state, message) => ({ state, effects: [message], inputs: NOTHING }),
    shift: (state) => state,
  }
}
