/** The real loop as the conformance suite drives it. */
import { setImmediate } from 'node:timers/promises'
import type { Effect, Input, Micros, Protocol } from '../../src/core/index.ts'
import { createRegisterCalls } from '../../src/service/registers/calls.ts'
import { openMemory } from '../../src/service/registers/memory.ts'
import { openRegisters } from '../../src/service/registers/registers.ts'
import { hostClock } from '../../src/service/runtime/clock.ts'
import { Loop } from '../../src/service/runtime/loop.ts'
import { memoryStorage } from '../../src/service/runtime/storage.ts'
import { commandOf, messageOf, methodsOf, textOf, waitUntil } from './world-adapter.ts'
import type { ConformingWorld, OpenWorld } from './world-puppet.ts'

/** The loop with the real register calls over a store in memory. Its clock is the test's: the loop asks it what is due. */
class RealWorld implements OpenWorld {
  readonly #protocol: Protocol
  readonly #storage = memoryStorage()
  readonly #sent: string[] = []
  readonly #outputs: string[] = []
  readonly #registers = openRegisters(openMemory(new Map(), 'g'), {
    self: 'a',
    timeoutMs: 5000,
    probeMs: 5000,
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
    const call = createRegisterCalls(this.#registers, {
      deliver: (input) => this.#loop.answer(input as Input & { type: 'register' }),
      onFailure: (error) => {
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
        storageFailed: () => {},
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

export const realLoop: ConformingWorld = {
  name: 'the real loop',
  lacks: {},
  async open(protocol) {
    const world = new RealWorld(protocol)
    await world.claimRegister()
    return methodsOf(world)
  },
}
