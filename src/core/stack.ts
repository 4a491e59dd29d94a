/**
 * Layers: protocols around protocols.
 *
 * A layer sits between a protocol and the network. It sees every message and its own timers first, decides
 * what to hand up, and decides what becomes of each message that the protocol sends. `stack` makes one
 * protocol of the two, so no world knows about layers.
 *
 * The names of a layer's timers begin with its own name and a slash (`detector/tick`); its messages are told apart
 * by their kind, which must differ from those of the protocol above. Stable data is kept for both, side by side.
 */
import { assert } from './assert.ts'
import type { Command, Effect, Input, Message, Output, Protocol, Step } from './contract.ts'
import { NOTHING, type Send } from './effects.ts'
import type { Plain } from './plain.ts'
import type { Micros } from './units.ts'

export type LayerStep<S> = {
  readonly state: S
  /** For the world below: the layer's own effects and what it made of the messages from above. */
  readonly effects: readonly Effect[]
  /** For the protocol above, in order. */
  readonly inputs: readonly Input[]
}

export type Layer<S extends Plain = Plain> = {
  readonly name: string
  start(stable: Plain, now: Micros): LayerStep<S>
  /** A message, one of the layer's own timers, news of a link or of a sleep: what it does not keep it hands up. */
  below(state: S, input: Input, now: Micros): LayerStep<S>
  /** A message that the protocol above wants sent. */
  above(state: S, message: Send<Message>, now: Micros): LayerStep<S>
  /** Something that the protocol above puts out: it goes on to the world, and the layer may act on it. */
  notice?(state: S, event: Output, now: Micros): LayerStep<S>
  shift(state: S, by: Micros): S
}

type Kept = { readonly layer: Plain; readonly upper: Plain }
type Stacked = { readonly layer: Plain; readonly upper: Plain; readonly kept: Kept }

const NOTHING_KEPT: Kept = { layer: null, upper: null }

export function stack(layer: Layer, upper: Protocol): Protocol {
  const prefix = `${layer.name}/`

  /** Runs what the layer answered to its end: its effects, then what it hands up, then what comes down again. */
  function carry(state: Stacked, from: LayerStep<Plain>, now: Micros): Step<Stacked, Message, Kept> {
    if (from.inputs.length === 0 && !hasPersist(from.effects)) {
      const next =
        from.state === state.layer ? state : { layer: from.state, upper: state.upper, kept: state.kept }
      return { state: next, effects: from.effects as readonly Effect<Message, Kept>[] }
    }
    const effects: Effect<Message, Kept>[] = []
    let at = ofLayer(state, from, effects)
    for (const input of from.inputs) {
      const next = upper.step(at.upper, input, now)
      if (next.state !== at.upper) at = { layer: at.layer, upper: next.state, kept: at.kept }
      at = ofUpper(at, next.effects, now, effects)
    }
    return { state: at, effects }
  }

  function ofLayer(state: Stacked, from: LayerStep<Plain>, into: Effect<Message, Kept>[]): Stacked {
    let at = from.state === state.layer ? state : { layer: from.state, upper: state.upper, kept: state.kept }
    for (const effect of from.effects) {
      if (effect.type === 'persist') {
        at = { layer: at.layer, upper: at.upper, kept: { layer: effect.stable, upper: at.kept.upper } }
        into.push({ type: 'persist', stable: at.kept })
      } else into.push(effect)
    }
    return at
  }

  function ofUpper(
    state: Stacked,
    asked: readonly Effect[],
    now: Micros,
    into: Effect<Message, Kept>[],
  ): Stacked {
    let at = state
    for (const effect of asked) {
      switch (effect.type) {
        case 'persist':
          at = { layer: at.layer, upper: at.upper, kept: { layer: at.kept.layer, upper: effect.stable } }
          into.push({ type: 'persist', stable: at.kept })
          break
        case 'send': {
          const sent = layer.above(at.layer, effect, now)
          assert(sent.inputs.length === 0, 'a layer hands nothing up while it sends')
          at = ofLayer(at, sent, into)
          break
        }
        case 'output':
          into.push(effect)
          if (layer.notice !== undefined) {
            const noticed = layer.notice(at.layer, effect.event, now)
            assert(noticed.inputs.length === 0, 'a layer hands nothing up while it is told something')
            at = ofLayer(at, noticed, into)
          }
          break
        default:
          into.push(effect)
      }
    }
    return at
  }

  function begin(kept: Kept, now: Micros, startUpper: () => Step<Plain>): Step<Stacked, Message, Kept> {
    const below = layer.start(kept.layer, now)
    const above = startUpper()
    const effects: Effect<Message, Kept>[] = []
    let at = ofLayer({ layer: below.state, upper: above.state, kept }, below, effects)
    at = ofUpper(at, above.effects, now, effects)
    return { state: at, effects }
  }

  const { settled } = upper
  const stacked: Protocol<Stacked, Message, Command, Kept> = {
    start(stable, now) {
      const kept = stable ?? NOTHING_KEPT
      return begin(kept, now, () => upper.start(kept.upper, now))
    },
    step(state, input, now) {
      if (input.type === 'message' || input.type === 'link' || input.type === 'suspended') {
        return carry(state, layer.below(state.layer, input, now), now)
      }
      if (input.type === 'timer' && input.name.startsWith(prefix)) {
        return carry(state, layer.below(state.layer, input, now), now)
      }
      return carry(state, { state: state.layer, effects: NOTHING, inputs: [input] }, now)
    },
    view: (state, now) => upper.view(state.upper, now),
    shift: (state, by) => ({
      layer: layer.shift(state.layer, by),
      upper: upper.shift(state.upper, by),
      kept: state.kept,
    }),
    ...(settled === undefined
      ? {}
      : { settled: (outcome, now) => begin(NOTHING_KEPT, now, () => settled(outcome, now)) }),
  }
  return stacked
}

function hasPersist(effects: readonly Effect[]): boolean {
  for (let index = 0; index < effects.length; index++) if (effects[index]?.type === 'persist') return true
  return false
}
