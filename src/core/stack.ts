/**
 * Layers: protocols around protocols.
 *
 * A layer sits between a protocol and the network. It gets every message and its own timers first, passes inputs up, and
 * decides how each message of the protocol is sent. `stack` combines layer and protocol into one protocol, so worlds need
 * not know about layers.
 *
 * The names of a layer's timers begin with its own name and a slash (`detector/tick`). The kinds of its messages must
 * differ from those of the protocol above. The stable data of both is stored together.
 */
import { assert } from './assert.ts'
import type { Command, Effect, Input, Message, Outcome, Output, Protocol, Step } from './contract.ts'
import { NOTHING, type Send } from './effects.ts'
import type { Plain } from './plain.ts'
import type { Micros } from './units.ts'

export type LayerStep<S> = {
  readonly state: S
  /** For the world below: the layer's own effects, and the messages from above as they are sent. */
  readonly effects: readonly Effect[]
  /** For the protocol above, in order. */
  readonly inputs: readonly Input[]
}

export type Layer<S extends Plain = Plain> = {
  readonly name: string
  start(stable: Plain, now: Micros): LayerStep<S>
  /** The state after a completed election, if it differs from the state after the start. */
  settled?(outcome: Outcome, now: Micros): LayerStep<S>
  /** A message, one of the layer's own timers, a link change or a suspension: it consumes the input or passes it up. */
  below(state: S, input: Input, now: Micros): LayerStep<S>
  /** The protocol above sends a message. */
  above(state: S, message: Send<Message>, now: Micros): LayerStep<S>
  /** The protocol above has an output: it goes to the world, and the layer may act on it. */
  notice?(state: S, event: Output, now: Micros): LayerStep<S>
  shift(state: S, by: Micros): S
}

type Kept = { readonly layer: Plain; readonly upper: Plain }
type Stacked = { readonly layer: Plain; readonly upper: Plain; readonly kept: Kept }

const NOTHING_KEPT: Kept = { layer: null, upper: null }

/**
 * Collects the effects of one step: the layer's effects, then those of the protocol for each input that the layer passes
 * up. The parts of the state are combined once, at the end, because every step of every world runs this.
 */
class Run {
  readonly effects: Effect<Message, Kept>[] = []
  readonly #layer: Layer
  layer: Plain
  upper: Plain
  kept: Kept

  constructor(layer: Layer, layerState: Plain, upperState: Plain, kept: Kept) {
    this.#layer = layer
    this.layer = layerState
    this.upper = upperState
    this.kept = kept
  }

  ofLayer(step: LayerStep<Plain>): void {
    this.layer = step.state
    for (const effect of step.effects) {
      if (effect.type === 'persist') this.#keep({ layer: effect.stable, upper: this.kept.upper })
      else this.effects.push(effect)
    }
  }

  ofUpper(step: Step<Plain>, now: Micros): void {
    this.upper = step.state
    for (const effect of step.effects) {
      switch (effect.type) {
        case 'persist':
          this.#keep({ layer: this.kept.layer, upper: effect.stable })
          break
        case 'send': {
          const sent = this.#layer.above(this.layer, effect, now)
          assert(sent.inputs.length === 0, 'a layer passes no input up while it sends')
          this.ofLayer(sent)
          break
        }
        case 'output':
          this.effects.push(effect)
          if (this.#layer.notice !== undefined) {
            const noticed = this.#layer.notice(this.layer, effect.event, now)
            assert(noticed.inputs.length === 0, 'a layer passes no input up on an output')
            this.ofLayer(noticed)
          }
          break
        default:
          this.effects.push(effect)
      }
    }
  }

  end(before: Stacked | null): Step<Stacked, Message, Kept> {
    const { layer: layerState, upper: upperState, kept, effects } = this
    const isSame =
      before !== null && layerState === before.layer && upperState === before.upper && kept === before.kept
    return { state: isSame ? before : { layer: layerState, upper: upperState, kept }, effects }
  }

  #keep(kept: Kept): void {
    this.kept = kept
    this.effects.push({ type: 'persist', stable: kept })
  }
}

/** The same state object if neither part changed. */
function withoutEffects(before: Stacked, layer: Plain, upper: Plain): Step<Stacked, Message, Kept> {
  const isSame = layer === before.layer && upper === before.upper
  return { state: isSame ? before : { layer, upper, kept: before.kept }, effects: NOTHING }
}

export function stack(layer: Layer, upper: Protocol): Protocol {
  const prefix = `${layer.name}/`

  function carry(state: Stacked, from: LayerStep<Plain>, now: Micros): Step<Stacked, Message, Kept> {
    // The common case: a message changes both states and has no effects.
    const [only] = from.inputs
    if (from.effects.length === 0 && from.inputs.length === 1 && only !== undefined) {
      const above = upper.step(state.upper, only, now)
      if (above.effects.length === 0) return withoutEffects(state, from.state, above.state)
      const run = new Run(layer, from.state, state.upper, state.kept)
      run.ofUpper(above, now)
      return run.end(state)
    }
    const run = new Run(layer, state.layer, state.upper, state.kept)
    run.ofLayer(from)
    for (const input of from.inputs) run.ofUpper(upper.step(run.upper, input, now), now)
    return run.end(state)
  }

  function begin(kept: Kept, below: LayerStep<Plain>, above: Step<Plain>, now: Micros) {
    const run = new Run(layer, below.state, above.state, kept)
    run.ofLayer(below)
    run.ofUpper(above, now)
    return run.end(null)
  }

  const { settled } = upper
  const stacked: Protocol<Stacked, Message, Command, Kept> = {
    start(stable, now) {
      const kept = stable ?? NOTHING_KEPT
      return begin(kept, layer.start(kept.layer, now), upper.start(kept.upper, now), now)
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
      : {
          settled(outcome, now) {
            const below = layer.settled?.(outcome, now) ?? layer.start(null, now)
            return begin(NOTHING_KEPT, below, settled(outcome, now), now)
          },
        }),
  }
  return stacked
}
