/** The world's chance: everything random in a run comes from here, in one order, from one seed. */

import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus'
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator'

const TWO_32 = 0x1_0000_0000

export class Random {
  readonly #generator: RandomGenerator

  constructor(seed: number) {
    this.#generator = xoroshiro128plus(seed)
    // Neighbouring seeds start out alike; their first numbers are thrown away.
    for (let i = 0; i < 16; i++) this.#generator.next()
  }

  /** Uniform in [0, 1). */
  fraction(): number {
    return (this.#generator.next() >>> 0) / TWO_32
  }

  /** A whole number from `least` to `most`, both included. Draws nothing when there is no choice. */
  integer(least: number, most: number): number {
    if (least >= most) return least
    return least + Math.floor(this.fraction() * (most - least + 1))
  }

  /** Draws nothing when the answer is certain. */
  chance(probability: number): boolean {
    return probability > 0 && (probability >= 1 || this.fraction() < probability)
  }

  pick<T>(from: readonly [T, ...T[]]): T {
    return from[this.integer(0, from.length - 1)] as T
  }
}
