/** The bundle as the conformance suite drives it. */
import {
  type Effect,
  hashPlain,
  type Input,
  type Message,
  type Micros,
  type Plain,
  type PlainObject,
  type Protocol,
} from '../../src/core/index.ts'
import { type Bundle, bundle, type Group } from '../../src/links/index.ts'
import { commandOf, messageOf, methodsOf, textOf, waitUntil } from './world-adapter.ts'
import type { ConformingWorld, OpenWorld } from './world-puppet.ts'

/** A bundle is the world of its groups. Below it is the smallest world that carries out its effects. */
class BundleWorld implements OpenWorld {
  readonly #protocol: Protocol
  readonly #timers = new Map<string, Micros>()
  readonly #sent: string[] = []
  readonly #outputs: string[] = []
  #state: Plain = null
  #stable: Plain = null
  #now: Micros = 1_000_000
  #left = Number.POSITIVE_INFINITY
  #isUp = false
  #failure: string | null = null

  constructor(protocol: Protocol) {
    const group: Group = {
      protocol,
      kinds: ['note'],
      nodes: ['a', 'b'],
      agreed: {},
      terms: { leastDelay: 0, fast: 1000, rho: 0, stampAge: 1000 },
      slack: 1,
      adopt: (state) => state as PlainObject,
    }
    const room = { most: 1000, weigh: () => 1 }
    this.#protocol = bundle({ self: 'a', open: () => group, room, groups: { g: {} } })
    this.restart()
  }

  #take(input: Input | null): void {
    if (input !== null && !this.#isUp) return
    const { state, effects } =
      input === null
        ? this.#protocol.start(this.#stable, this.#now)
        : this.#protocol.step(this.#state, input, this.#now)
    this.#state = state
    this.#isUp = true
    for (const effect of effects) {
      if (this.#left === 0) {
        this.#isUp = false
        return
      }
      this.#left -= 1
      this.#carryOut(effect)
    }
  }

  #carryOut(effect: Effect): void {
    if (effect.type === 'persist') this.#stable = effect.stable
    else if (effect.type === 'send') {
      for (const { body } of (effect.body as unknown as Bundle).parts) this.#sent.push(textOf(body))
    } else if (effect.type === 'setTimer') this.#timers.set(effect.name, effect.at as Micros)
    else if (effect.type === 'stopTimer') this.#timers.delete(effect.name)
    else if (effect.type === 'output' && effect.event['group'] === 'g')
      this.#outputs.push(textOf(effect.event))
  }

  act(effects: readonly Effect[] | 'throw'): void {
    const command = { do: 'tell', group: 'g', command: commandOf(effects) } as const
    try {
      this.#take({ type: 'command', command })
    } catch (error) {
      this.#failure = (error as Error).message
    }
  }

  receive(text: string): void {
    const config = hashPlain({})
    const body: Message = { kind: 'bundle', parts: [{ group: 'g', config, body: messageOf(text) }] }
    this.#take({ type: 'message', from: 'b', body, receipt: { trip: null, overtaken: false } })
  }

  sent = (): readonly string[] => this.#sent
  outputs = (): readonly string[] => this.#outputs

  until(condition: () => boolean): Promise<void> {
    return waitUntil(condition, () => {
      this.#now += 1000
      for (const [name, at] of this.#timers) {
        if (at > this.#now) continue
        this.#timers.delete(name)
        this.#take({ type: 'timer', name })
      }
    })
  }

  crashAfter(effects: number): void {
    this.#left = effects
  }

  restart(): void {
    this.#left = Number.POSITIVE_INFINITY
    this.#timers.clear()
    this.#take(null)
  }

  suspend(): void {
    this.#take({ type: 'suspended', by: 5_000_000 })
  }

  setWritable(): void {
    throw new Error('storage belongs to the world below')
  }

  failure = (): string | null => this.#failure

  async close(): Promise<void> {}
}

export const bundled: ConformingWorld = {
  name: 'the bundle',
  lacks: {
    '3 rollback': 'the world below rolls back the whole step of a bundle',
    '10 registers': 'groups in a bundle share no registers',
  },
  open: async (protocol) => methodsOf(new BundleWorld(protocol)),
}
