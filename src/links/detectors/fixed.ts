/**
 * Watching the leader with a fixed timeout, as a layer: whoever leads sends heartbeats to all, and whoever follows
 * and hears nothing from its leader for `suspectAfter` is told that the link to it is down.
 *
 * Whom to watch the layer learns from what the protocol puts out (`elected`, `following`, `demoted`). A heartbeat
 * from anybody else is news too, for it comes from somebody who believes to lead: it is handed up as a link that is
 * up. Each message from the leader moves one timer on; there is no arithmetic on arrival times, and a heartbeat
 * changes no state. The price is known: one late heartbeat postpones the detection of a crash by as much.
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
  type Output,
  sendAll,
  setTimer,
  stopTimer,
} from '../../core/index.ts'

export type FixedTimeout = { readonly heartbeatEvery: Micros; readonly suspectAfter: Micros }

export type LeaderWatch = {
  /** The leader that is watched, or null where there is none to watch. */
  readonly leader: NodeId | null
  /** Whether this node leads, and so sends heartbeats. */
  readonly leads: boolean
}

export const HEARTBEAT = { kind: 'heartbeat' } as const

const NAME = 'detector'
const BEAT = `${NAME}/beat`
const SILENCE = `${NAME}/silence`
const NOBODY: LeaderWatch = { leader: null, leads: false }
const SELF: LeaderWatch = { leader: null, leads: true }

export function fixedTimeoutDetector({ self, nodes }: Identity, timing: FixedTimeout): Layer<LeaderWatch> {
  const beats = sendAll(
    nodes.filter((id) => id !== self),
    HEARTBEAT,
  )

  function beat(now: Micros): readonly Effect[] {
    return [...beats, setTimer(BEAT, now + timing.heartbeatEvery)]
  }

  function watch(now: Micros): Effect {
    return setTimer(SILENCE, now + timing.suspectAfter)
  }

  function heard(
    state: LeaderWatch,
    input: Input & { type: 'message' },
    now: Micros,
  ): LayerStep<LeaderWatch> {
    const isBeat = input.body.kind === HEARTBEAT.kind
    if (input.from === state.leader) {
      return { state, effects: [watch(now)], inputs: isBeat ? NOTHING : [input] }
    }
    return {
      state,
      effects: NOTHING,
      inputs: [isBeat ? { type: 'link', peer: input.from, up: true } : input],
    }
  }

  return {
    name: NAME,
    start: () => ({ state: NOBODY, effects: NOTHING, inputs: NOTHING }),
    below(state, input, now) {
      if (input.type === 'message') return heard(state, input, now)
      if (input.type !== 'timer') return { state, effects: NOTHING, inputs: [input] }
      if (input.name === BEAT) return { state, effects: beat(now), inputs: NOTHING }
      const { leader } = state
      return {
        state: NOBODY,
        effects: NOTHING,
        inputs: leader === null ? NOTHING : [{ type: 'link', peer: leader, up: false }],
      }
    },
    above: (state, message) => ({ state, effects: [message], inputs: NOTHING }),
    notice(state, event: Output, now) {
      switch (event.type) {
        case 'elected':
          return { state: SELF, effects: [stopTimer(SILENCE), ...beat(now)], inputs: NOTHING }
        case 'following': {
          const leader = event['leader'] as NodeId
          return { state: { leader, leads: false }, effects: [stopTimer(BEAT), watch(now)], inputs: NOTHING }
        }
        case 'demoted':
          return { state: NOBODY, effects: [stopTimer(BEAT)], inputs: NOTHING }
        default:
          return { state, effects: NOTHING, inputs: NOTHING }
      }
    },
    shift: (state) => state,
  }
}
