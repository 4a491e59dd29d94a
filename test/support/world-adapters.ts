/** The four worlds that the conformance suite runs against, each with the nodes `a` and `b`. */
import { setImmediate } from 'node:timers/promises'
import { z } from 'zod'
import {
  type Definition,
  define,
  type Effect,
  hashPlain,
  type Input,
  type Message,
  type Micros,
  type Output,
  type Plain,
  type PlainObject,
  type Protocol,
  present,
  send,
} from '../../src/core/index.ts'
import { type Bundle, bundle, type Group } from '../../src/links/index.ts'
import { registerCalls } from '../../src/service/registers/calls.ts'
import { openMemory } from '../../src/service/registers/memory.ts'
import { openRegisters } from '../../src/service/registers/registers.ts'
import { hostClock } from '../../src/service/runtime/clock.ts'
import { Loop } from '../../src/service/runtime/loop.ts'
import { memoryStorage } from '../../src/service/runtime/storage.ts'
import { parseScenario, World } from '../../src/workbench/sim/index.ts'
import { UntimedRules, type UntimedWorld } from '../../src/workbench/untimed/index.ts'
import { type ConformingWorld, type OpenWorld, puppet } from './world-conformance.ts'

/** Waits are counted in milliseconds of the world's clock, so that a broken world fails soon on any machine. */
const MAX_WAIT_MS = 500

async function waitUntil(condition: () => boolean, tick: () => void | Promise<void>): Promise<void> {
  for (let waited = 0; !condition(); waited++) {
    if (waited >= MAX_WAIT_MS) throw new Error(`not so after ${MAX_WAIT_MS} ms`)
    // oxlint-disable-next-line no-await-in-loop -- one millisecond after the other
    await tick()
  }
}

const commandOf = (effects: readonly Effect[] | 'throw') =>
  effects === 'throw' ? { do: 'throw' } : { do: 'act', effects: effects as unknown as Plain }

const textOf = (record: Message | Output): string => record['text'] as string

const messageOf = (text: string): Message => ({ kind: 'note', text })

// ---- The real loop ----

/** The loop with the real register calls over a store in memory. Its clock is the test's: the loop asks it what is due. */
class RealWorld implements OpenWorld {
  readonly #protocol: Protocol
  readonly #storage = memoryStorage()
  readonly #sent: string[] = []
  readonly #outputs: string[] = []
  readonly #registers = openRegisters(openMemory(new Map(), 'g'), {
    self: 'a',
    timeoutMs: 5000,
    knockMs: 5000,
  })
  #loop: Loop
  #now: Micros = 1_000_000
  #slept: Micros = 0
  readonly #clock = hostClock(
    () => this.#now + this.#slept,
    () => this.#now,
  )
  #isWritable = true
  #failure: string | null = null
  /** How many effects are carried out before the crash. */
  #left = Number.POSITIVE_INFINITY
  #isCrashed = false

  constructor(protocol: Protocol) {
    this.#protocol = protocol
    this.#loop = this.#boot()
  }

  async claimRegister(): Promise<void> {
    await this.#registers.claim()
  }

  #boot(): Loop {
    const call = registerCalls(this.#registers, {
      deliver: (input) => this.#loop.answer(input as Input & { type: 'register' }),
      fail: (error) => {
        this.#failure = error.message
      },
    })
    const loop: Loop = new Loop(
      this.#protocol,
      this.#clock,
      {
        ...this.#storage,
        save: (data) => {
          if (!this.#isWritable) throw new Error('no space left on device')
          if (this.#survives(loop)) this.#storage.save(data)
        },
      },
      {
        send: (_to, body) => this.#survives(loop) && this.#sent.push(textOf(body)),
        output: (event) => this.#survives(loop) && this.#outputs.push(textOf(event)),
        register: call,
        trouble: () => {},
        failed: (error) => {
          this.#failure = error.message
        },
      },
    )
    loop.start()
    return loop
  }

  /** One more effect, unless the process is dead or dies now. */
  #survives(loop: Loop): boolean {
    if (this.#isCrashed) return false
    if (this.#left > 0) {
      this.#left -= 1
      return true
    }
    this.#isCrashed = true
    loop.stop()
    return false
  }

  act(effects: readonly Effect[] | 'throw'): void {
    this.#loop.command(commandOf(effects))
  }

  receive(text: string): void {
    this.#loop.message('b', messageOf(text))
  }

  sent = (): readonly string[] => this.#sent
  outputs = (): readonly string[] => this.#outputs

  until(condition: () => boolean): Promise<void> {
    return waitUntil(condition, async () => {
      this.#now += 1000
      this.#loop.view()
      await setImmediate()
    })
  }

  crashAfter(effects: number): void {
    this.#left = effects
  }

  restart(): void {
    this.#loop.stop()
    this.#left = Number.POSITIVE_INFINITY
    this.#isCrashed = false
    this.#loop = this.#boot()
  }

  suspend(): void {
    this.#slept += 5_000_000
  }

  setWritable(isWritable: boolean): void {
    this.#isWritable = isWritable
  }

  failure = (): string | null => this.#failure

  async close(): Promise<void> {
    this.#loop.stop()
    await this.#registers.close()
  }
}

const realLoop: ConformingWorld = {
  name: 'the real loop',
  lacks: {},
  async open(protocol) {
    const world = new RealWorld(protocol)
    await world.claimRegister()
    return methodsOf(world)
  },
}

// ---- Worlds of the workbench ----

function definitionFor(protocol: Protocol): Definition {
  return define({
    name: 'puppet',
    title: 'does as it is told',
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

const timed: ConformingWorld = {
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

const untimed: ConformingWorld = {
  name: 'the untimed world',
  lacks: {
    '3 rollback': 'its storage never fails',
    '7 deadline': 'it has no time: a timer may fire at any moment',
    '11 suspension': 'it has no clock that could stand still',
  },
  open: async (protocol) => methodsOf(new WithoutTime(protocol)),
}

// ---- The bundle ----

/** A bundle is the world of its groups. Below it is the smallest world that carries its effects out. */
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
    this.#protocol = bundle({ self: 'a', open: () => group, room, groups: { g: {} } }) as unknown as Protocol
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
      for (const [name, at] of [...this.#timers]) {
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

const bundled: ConformingWorld = {
  name: 'the bundle',
  lacks: {
    '3 rollback': 'the world below rolls back the whole step of a bundle',
    '10 registers': 'groups in a bundle share no registers',
  },
  open: async (protocol) => methodsOf(new BundleWorld(protocol)),
}

/** The methods of an instance as plain functions, so that they can be spread. */
function methodsOf(world: OpenWorld): OpenWorld {
  return {
    act: (effects) => world.act(effects),
    receive: (text) => world.receive(text),
    sent: () => world.sent(),
    outputs: () => world.outputs(),
    until: (condition) => world.until(condition),
    crashAfter: (effects) => world.crashAfter(effects),
    restart: () => world.restart(),
    suspend: () => world.suspend(),
    setWritable: (isWritable) => world.setWritable(isWritable),
    failure: () => world.failure(),
    close: () => world.close(),
  }
}

export const WORLDS: readonly ConformingWorld[] = [realLoop, timed, untimed, bundled]
