/** The timed and the untimed world as the conformance suite drives them. */
import { z } from 'zod'
import {
  type Definition,
  define,
  type Effect,
  type Micros,
  type PlainObject,
  type Protocol,
  present,
  send,
} from '../../src/core/index.ts'
import { parseScenario, World } from '../../src/workbench/sim/index.ts'
import { UntimedRules, type UntimedWorld } from '../../src/workbench/untimed/index.ts'
import { commandOf, messageOf, methodsOf, textOf, waitUntil } from './world-adapter.ts'
import { type ConformingWorld, type OpenWorld, puppet } from './world-puppet.ts'

function definitionFor(protocol: Protocol): Definition {
  return define({
    name: 'puppet',
    title: 'performs the effects that its commands list',
    source: 'a test',
    kinds: ['note'],
    order: 'fifo',
    commands: () => z.looseObject({ do: z.string() }) as never,
    create: ({ self }) => (self === 'a' ? protocol : puppet({ starts: [], inputs: [] })),
    settlesWithin: () => 10_000,
    registers: {
      show: (value) => value,
      model: () => ({
        semantics: 'atomic',
        compare: true,
        acknowledged: 'at once',
        forgets: false,
        burials: 'none',
      }),
      deletable: () => null,
      tombstones: () => [],
      describe: JSON.stringify,
    },
  })
}

class TimedWorld implements OpenWorld {
  readonly #world: World
  readonly #sent: string[] = []
  readonly #outputs: string[] = []
  #now: Micros = 0
  #isUp = true
  #failure: string | null = null

  constructor(protocol: Protocol) {
    const definition = definitionFor(protocol)
    const file = {
      protocol: 'puppet',
      nodes: ['a', 'b'],
      untilMs: 100_000,
      network: { delayMs: 1, fifo: true },
    }
    const scenario = parseScenario(file, { names: ['puppet'], find: () => definition })
    this.#world = new World(
      definition,
      scenario,
      {
        observe: (seen) => {
          if (seen.type === 'output' && seen.node === 'a') this.#outputs.push(textOf(seen.event))
          if (seen.type === 'down') this.#isUp = false
        },
        record: (record) => {
          if (record.type !== 'step' || record.node !== 'b' || record.input.type !== 'message') return
          this.#sent.push(textOf(record.input.body))
        },
      },
      false,
    )
  }

  #apply(event: PlainObject): void {
    this.#world.applyEvent({ atMs: 0, ...event } as unknown as Parameters<World['applyEvent']>[0])
  }

  act(effects: readonly Effect[] | 'throw'): void {
    try {
      this.#apply({ command: { node: 'a', ...commandOf(effects) } })
    } catch (error) {
      this.#failure = (error as Error).message
    }
  }

  receive(text: string): void {
    const effects = [send('a', messageOf(text))]
    this.#apply({ command: { node: 'b', ...commandOf(effects) } })
  }

  sent = (): readonly string[] => this.#sent
  outputs = (): readonly string[] => this.#outputs

  until(condition: () => boolean): Promise<void> {
    return waitUntil(condition, () => {
      this.#now += 1000
      this.#world.run(this.#now)
    })
  }

  crashAfter(effects: number): void {
    this.#apply({ crash: 'a', afterEffects: effects })
  }

  restart(): void {
    if (this.#isUp) this.#apply({ crash: 'a' })
    this.#apply({ recover: 'a' })
    this.#isUp = true
  }

  suspend(): void {
    this.#apply({ suspend: 'a', forMs: 50 })
  }

  setWritable(isWritable: boolean): void {
    this.#apply(isWritable ? { writable: 'a' } : { unwritable: 'a' })
  }

  failure = (): string | null => this.#failure

  async close(): Promise<void> {}
}

export const timed: ConformingWorld = {
  name: 'the timed world',
  lacks: {},
  open: async (protocol) => methodsOf(new TimedWorld(protocol)),
}

/** `a` has place 0, `b` has place 1. */
class WithoutTime implements OpenWorld {
  readonly #rules: UntimedRules
  #world: UntimedWorld
  readonly #outputs: string[] = []
  #crashAfter: number | null = null
  #failure: string | null = null

  constructor(protocol: Protocol) {
    this.#rules = new UntimedRules(definitionFor(protocol), ['a', 'b'], {}, 'fifo')
    this.#world = this.#rules.start(null).world
  }

  #perform(step: PlainObject): void {
    const crashAfter = this.#crashAfter
    const whole = crashAfter === null ? step : { ...step, crashAfter }
    this.#crashAfter = null
    const performed = this.#rules.perform(
      this.#world,
      whole as unknown as Parameters<UntimedRules['perform']>[1],
    )
    if (typeof performed === 'string') throw new Error(performed)
    this.#world = performed.world
    for (const seen of performed.seen) {
      if (seen.type === 'output' && seen.node === 'a') this.#outputs.push(textOf(seen.event))
    }
  }

  act(effects: readonly Effect[] | 'throw'): void {
    try {
      this.#perform({ do: 'command', node: 'a', command: commandOf(effects) })
    } catch (error) {
      this.#failure = (error as Error).message
    }
  }

  receive(text: string): void {
    this.#perform({ do: 'command', node: 'b', command: commandOf([send('a', messageOf(text))]) })
  }

  sent = (): readonly string[] => (this.#world.inboxes[1] ?? []).map(({ body }) => textOf(body))
  outputs = (): readonly string[] => this.#outputs

  /** Timers fire in the order of their names, but the suite's own last. */
  until(condition: () => boolean): Promise<void> {
    return waitUntil(condition, () => {
      const { timers, calls } = present(this.#world.slots[0], 'slot')
      const [read] = calls
      const [timer] = timers.toSorted((a, b) => Number(a.startsWith('end')) - Number(b.startsWith('end')))
      if (read?.op === 'read') this.#perform({ do: 'read', node: 'a', of: read.of })
      else if (this.#world.inboxes[0]?.length) this.#perform({ do: 'deliver', node: 'a', from: 'b' })
      else if (timer !== undefined) this.#perform({ do: 'timer', node: 'a', name: timer })
    })
  }

  crashAfter(effects: number): void {
    this.#crashAfter = effects
  }

  restart(): void {
    if (this.#world.slots[0]?.up === true) this.#perform({ do: 'crash', node: 'a' })
    this.#perform({ do: 'recover', node: 'a' })
  }

  suspend(): void {
    throw new Error('no clock can be suspended here')
  }

  setWritable(): void {
    throw new Error('storage never fails here')
  }

  failure = (): string | null => this.#failure

  async close(): Promise<void> {}
}

export const untimed: ConformingWorld = {
  name: 'the untimed world',
  lacks: {
    '3 rollback': 'its storage never fails',
    '7 deadline': 'it has no time: a timer may fire at any moment',
    '11 suspension': 'it has no clock that could stand still',
  },
  open: async (protocol) => methodsOf(new WithoutTime(protocol)),
}
