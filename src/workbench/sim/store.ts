/**
 * The shared registers of the timed world: a store that is right, and slow.
 *
 * An operation takes place at some instant between its call and its reply, so registers are atomic. It may be late, even
 * so late that the caller has given up (`unknown`) or crashed meanwhile; what was asked for then still takes place. A
 * write is compared: it counts only if the register is as its caller knows it from the last reply that has arrived. That
 * is what keeps a write of a former life out, once the node has come back and written.
 */
import type { Micros, NodeId, Plain, RegisterCall } from '../../core/index.ts'
import type { Random } from '../scenario/random.ts'
import type { StoreSettings } from '../scenario/scenario.ts'
import { type Delay, delayOf } from './network.ts'

type Register = { value: Plain; version: number }

/** When an operation takes place, and when its caller hears of it. */
export type CallTiming = { readonly at: Micros; readonly repliesAt: Micros; readonly inTime: boolean }

/** What came of an operation. */
export type CallResult = {
  readonly outcome: 'ok' | 'unknown'
  readonly value: Plain
  readonly version: number
}

/** Where nobody calls. */
const UNUSED: StoreSettings = { delayMs: 0, late: 0, lateMs: 0, timeoutMs: 1 }

export class Store {
  /** Probability that an operation is late. */
  late: number
  readonly #random: Random
  readonly #delay: Delay
  readonly #lateness: Delay
  readonly #timeout: Micros
  readonly #registers: Register[]
  /** By caller and register: the version of which the caller was told last; -1 for none. */
  readonly #known: Int32Array
  readonly #count: number
  readonly #buriesBlindly: boolean
  #hangsUntil: Micros = 0

  /** `buriesBlindly`: tombstones are not compared (a fault, for tests). */
  constructor(nodes: readonly NodeId[], given: StoreSettings | null, random: Random, buriesBlindly: boolean) {
    this.#buriesBlindly = buriesBlindly
    const settings = given ?? UNUSED
    this.#random = random
    this.late = settings.late
    this.#delay = delayOf(settings.delayMs)
    this.#lateness = delayOf(settings.lateMs)
    this.#timeout = delayOf(settings.timeoutMs).most
    this.#count = nodes.length
    this.#registers = nodes.map(() => ({ value: null, version: 0 }))
    this.#known = new Int32Array(nodes.length ** 2).fill(-1)
  }

  get values(): readonly Plain[] {
    return this.#registers.map(({ value }) => value)
  }

  /** Whether everything takes place in good time from now on. */
  isPrompt(now: Micros): boolean {
    return this.late === 0 && this.#hangsUntil <= now
  }

  /** Nothing takes place before this. */
  hang(until: Micros): void {
    this.#hangsUntil = Math.max(this.#hangsUntil, until)
  }

  /** A new process knows nothing of versions. */
  forget(caller: number): void {
    this.#known.fill(-1, caller * this.#count, (caller + 1) * this.#count)
  }

  /** Draws from the seed. */
  drawTiming(now: Micros): CallTiming {
    const { least, most } = this.#random.chance(this.late) ? this.#lateness : this.#delay
    const length = this.#random.integer(least, most)
    const begins = Math.max(now, this.#hangsUntil)
    const at = begins + this.#random.integer(0, length)
    const ends = begins + length
    const inTime = ends - now <= this.#timeout
    return { at, repliesAt: inTime ? ends : now + this.#timeout, inTime }
  }

  /** The version that a write will be compared with. */
  expected(caller: number, of: number): number {
    return this.#known[caller * this.#count + of] as number
  }

  /** Takes place, now. */
  carryOut(call: RegisterCall, of: number, expected: number): CallResult {
    const register = this.#registers[of] as Register
    if (call.op === 'read') return { outcome: 'ok', value: register.value, version: register.version }
    const isBlind = call.op === 'bury' && this.#buriesBlindly
    if (register.version !== expected && !isBlind) return { outcome: 'unknown', value: null, version: -1 }
    register.value = call.value
    register.version += 1
    return { outcome: 'ok', value: null, version: register.version }
  }

  /** The reply has arrived. */
  noteVersion(caller: number, of: number, version: number): void {
    if (version >= 0) this.#known[caller * this.#count + of] = version
  }
}
