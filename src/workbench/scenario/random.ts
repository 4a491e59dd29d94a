/** The world's random source: all randomness of a run comes from one seed, in a fixed order. */

import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus'
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator'

const TWO_32 = 0x1_0000_0000

export class Random {
  readonly #generator: RandomGenerator

  constructor(seed: number) {
    this.#generator = xoroshiro128plus(seed)
    // Neighbouring seeds start out similar, so the first numbers are discarded.
    for (let i = 0; i < 16; i++) this.#generator.next()
  }

  /** Uniform in [0, 1). */
  fraction(): number {
    return (this.#generator.next() >>> 0) / TWO_32
  }

  /** An integer from `least` to `most`, inclusive. Consumes no randomness if there is no choice. */
  integer(least: number, most: number): number {
    if (least >= most) return least
    return least + Math.floor(this.fraction() * (most - least + 1))
  }

  /** Consumes no randomness if the outcome is certain. */
  chance(probability: number): boolean {
    return probability > 0 && (probability >= 1 || this.fraction() < probability)
  }

  pick<T>(from: readonly [T, ...T[]]): T {
    return from[this.integer(0, from.length - 1)] as T
  }
}
