/** A node of a simulation: the protocol with a modelled host around it. */
import {
  type Command,
  type Effect,
  equalPlain,
  type Identity,
  type Input,
  type Message,
  type Micros,
  NOTHING,
  type NodeId,
  type Protocol,
  persist,
  type Step,
  sortIds,
} from '../../../core/index.ts'
import type { ManagerOutput } from '../../../recovery/manager/index.ts'
import type { RecoveryCommand, RecoveryMessage, RecoveryStable, RecoveryState } from '../state.ts'
import { Host } from './host.ts'
import {
  MODEL_KINDS,
  type ModelMessage,
  type ModelSettings,
  type ModelStable,
  type ModelState,
} from './state.ts'

export type ModelledState = { readonly inner: RecoveryState; readonly model: ModelState }
type ModelledStable = { readonly inner: RecoveryStable; readonly model: ModelStable }
type ModelledStep = Step<ModelledState, Message, ModelledStable>

type Inner = Protocol<RecoveryState, RecoveryMessage, RecoveryCommand, RecoveryStable>

const PREFIX = 'model/'
const KINDS: ReadonlySet<string> = new Set(MODEL_KINDS)
const EMPTY: ModelState = { disk: [], writes: [], uploads: [], restores: [], apps: [] }

export function withModelHost({ self, nodes }: Identity, inner: Inner, settings: ModelSettings): Protocol {
  const place = sortIds(nodes).indexOf(self)

  /** One step of both: commands of the host run at once, and their outputs go back to it. */
  class Run {
    below: RecoveryState
    readonly host: Host
    readonly effects: Effect<Message, never>[] = []
    stable: RecoveryStable | null = null
    readonly #now: Micros

    constructor(state: ModelledState, now: Micros) {
      this.below = state.inner
      this.#now = now
      const links = (): readonly NodeId[] => this.below.omega.links.map(({ peer }) => peer)
      const run = (command: Command): readonly ManagerOutput[] =>
        this.pass({ type: 'command', command: command as RecoveryCommand })
      this.host = new Host(self, settings, state.model, { links, now, run })
    }

    pass(input: Input<RecoveryMessage, RecoveryCommand>): readonly ManagerOutput[] {
      return this.take(inner.step(this.below, input, this.#now))
    }

    take(step: Step<RecoveryState, RecoveryMessage, RecoveryStable>): readonly ManagerOutput[] {
      this.below = step.state
      const outputs: ManagerOutput[] = []
      for (const effect of step.effects) {
        if (effect.type === 'persist') {
          this.stable = effect.stable
          continue
        }
        this.effects.push(effect)
        if (effect.type === 'output') outputs.push(effect.event as ManagerOutput)
      }
      for (const event of outputs) this.host.handleOutput(event)
      return outputs
    }

    end(before: ModelledState | null): ModelledStep {
      const { host, below } = this
      const effects = [...this.effects, ...host.effects]
      const last = before?.model.disk ?? null
      const isSameDisk = last !== null && equalPlain(host.state.disk, last)
      const disk = isSameDisk ? last : host.state.disk
      const isStored = this.stable === null && isSameDisk
      const isSame = before !== null && below === before.inner && equalPlain(host.state, before.model)
      const state = isSame ? before : { inner: below, model: host.state }
      if (isStored) return { state, effects: effects.length === 0 ? NOTHING : effects }
      const { life, view, promised, formed, attempts } = below.omega
      const omega = { life, view, promised, formed, attempts }
      const stable = { inner: { omega, manager: below.manager.stable }, model: { disk } }
      return { state, effects: [persist(stable), ...effects] }
    }
  }

  const protocol: Protocol<ModelledState, Message, Command, ModelledStable> = {
    start(stable, now) {
      const step = inner.start(stable?.inner ?? null, now)
      const model: ModelState = { ...EMPTY, disk: stable?.model.disk ?? [] }
      const run = new Run({ inner: step.state, model }, now)
      run.take(step)
      run.host.boot(place)
      return run.end(null)
    },
    step(state, input, now) {
      const run = new Run(state, now)
      if (input.type === 'message' && KINDS.has(input.body.kind)) {
        if (!run.host.isLinked(input.from)) return { state, effects: NOTHING }
        run.host.handleMessage(input.from, input.body as ModelMessage)
      } else if (input.type === 'timer' && input.name.startsWith(PREFIX))
        run.host.handleTimer(input.name, place)
      else if (input.type === 'command' && input.command.do === 'corrupt')
        run.host.handleCommand(input.command)
      else run.pass(input as Input<RecoveryMessage, RecoveryCommand>)
      return run.end(state)
    },
    view: (state, now) => inner.view(state.inner, now),
    shift: (state, by) => ({ inner: inner.shift(state.inner, by), model: state.model }),
    settled(outcome, now) {
      const step = inner.settled?.(outcome, now) ?? inner.start(null, now)
      const run = new Run({ inner: step.state, model: EMPTY }, now)
      run.take(step)
      run.host.boot(place)
      return run.end(null)
    },
  }
  return protocol
}
