/** The node under test of the conformance suite, and what an adapter of a world must offer. */
import {
  type Effect,
  type Input,
  type Micros,
  output,
  type Plain,
  type Protocol,
  persist,
  send,
  setTimer,
} from '../../src/core/index.ts'

export type Journal = {
  /** The stable data of each start of `a`. */
  readonly starts: Plain[]
  /** Every input of `a` but the suite's own commands, with the time on its clock. */
  readonly inputs: { readonly input: Input; readonly now: Micros }[]
}

/** A world with the nodes `a` and `b`; `a` runs the given protocol. */
export type ConformingWorld = {
  readonly name: string
  /** Promises that do not apply to this world, and why. */
  readonly lacks: { readonly [promise: string]: string }
  open(protocol: Protocol): Promise<OpenWorld>
}

export type OpenWorld = {
  /** `a` takes one step: a command that lists these effects, or a command that throws. */
  act(effects: readonly Effect[] | 'throw'): void
  /** A message with this text from `b` reaches `a`. */
  receive(text: string): void
  /** The texts of the messages of `a`, in the order of sending. */
  sent(): readonly string[]
  /** The texts of the outputs of `a`, in order. */
  outputs(): readonly string[]
  /** Lets everything happen that is due, until the condition holds. */
  until(condition: () => boolean): Promise<void>
  /** The next step of `a` crashes after this many effects. */
  crashAfter(effects: number): void
  restart(): void
  /** The host of `a` is suspended for a while. */
  suspend(): void
  setWritable(isWritable: boolean): void
  /** The message of the error that a step threw. */
  failure(): string | null
  close(): Promise<void>
}

/** Its state is the number of its steps. Deadlines of timers are given as durations from now. */
export function puppet(journal: Journal): Protocol {
  return {
    start(stable) {
      journal.starts.push(stable)
      return { state: 0, effects: [] }
    },
    step(state, input, now) {
      const steps = (state as number) + 1
      if (input.type !== 'command') {
        journal.inputs.push({ input, now })
        const isStored = input.type === 'timer' && input.name === 'store'
        return { state: steps, effects: isStored ? [persist('by timer'), say('stored')] : [] }
      }
      if (input.command.do === 'throw') throw new Error('the puppet fails')
      const asked = input.command['effects'] as unknown as readonly Effect[]
      return { state: steps, effects: asked.map((effect) => completed(effect, state as number, now)) }
    },
    view: () => ({ role: 'follower', leader: null, token: null, until: null, members: null, detail: null }),
    shift: (state) => state,
  }
}

function completed(effect: Effect, steps: number, now: Micros): Effect {
  if (effect.type === 'output' && effect.event['text'] === 'steps') return say(`steps ${steps}`)
  if (effect.type !== 'setTimer') return effect
  const { name, at } = effect
  return setTimer(name, typeof at === 'number' ? now + at : [now + at[0], now + at[1]])
}

export const say = (text: string): Effect => output({ type: 'said', text })
export const note = (text: string): Effect => send('b', { kind: 'note', text })
