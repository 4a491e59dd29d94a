/**
 * The shared registers of the timed world: a correct but slow store.
 *
 * An operation takes place at one instant between call and reply, so registers are atomic. It can be so late
 * that the caller has given up (`unknown`) or crashed; it then still takes place. A write is a
 * compare-and-swap against the version in the caller's last reply. That rejects a delayed write of a previous
 * incarnation once the restarted node has written.
 */
import type { Micros, NodeId, Plain, RegisterCall } from '../../core/index.ts'
import type { Random } from '../scenario/random.ts'
import type { StoreSettings } from '../scenario/scenario.ts'
import { type Delay, delayOf } from './network.ts'

type Register = { value: Plain; version: number }

/** When an operation takes place, and when its caller receives the result. */
export type CallTiming = { readonly at: Micros; readonly repliesAt: Micros; readonly inTime: boolean }

/** The result of an operation. */
export type CallResult = {
  readonly outcome: 'ok' | 'unknown'
  readonly value: Plain
  readonly version: number
}

/** For protocols without registers. */
const UNUSED: StoreSettings = { delayMs: 0, late: 0, lateMs: 0, timeoutMs: 1 }

export class Store {
  /** Probability that an operation is late. */
  late: number
  readonly #random: Random
  readonly #delay: Delay
  readonly #lateness: Delay
  readonly #timeout: Micros
  readonly #registers: Register[]
  /** By caller and register: the version in the caller's last reply; -1 for none. */
  readonly #known: Int32Array
  readonly #count: number
  readonly #buriesBlindly: boolean
  #hangsUntil: Micros = 0

  /** `buriesBlindly`: tombstones are written without comparison (a deliberate defect, for tests). */
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

  /** Whether all operations from now on are on time. */
  isPrompt(now: Micros): boolean {
    return this.late === 0 && this.#hangsUntil <= now
  }

  /** Delays all operations until this time. */
  hang(until: Micros): void {
    this.#hangsUntil = Math.max(this.#hangsUntil, until)
  }

  /** A restarted node knows no versions. */
  forget(caller: number): void {
    this.#known.fill(-1, caller * this.#count, (caller + 1) * this.#count)
  }

  /** Consumes randomness. */
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

  /** Carries the operation out now. */
  carryOut(call: RegisterCall, of: number, expected: number): CallResult {
    const register = this.#registers[of] as Register
    if (call.op === 'read') return { outcome: 'ok', value: register.value, version: register.version }
    const isBlind = call.op === 'bury' && this.#buriesBlindly
    if (register.version !== expected && !isBlind) return { outcome: 'unknown', value: null, version: -1 }
    register.value = call.value
    register.version += 1
    return { outcome: 'ok', value: null, version: register.version }
  }

  /** A reply has arrived at the caller. */
  noteVersion(caller: number, of: number, version: number): void {
    if (version >= 0) this.#known[caller * this.#count + of] = version
  }
}
